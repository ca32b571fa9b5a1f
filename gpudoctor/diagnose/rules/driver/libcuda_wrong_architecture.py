from gpudoctor.derive import MachineView, not_applicable, require_known
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.advice.driver_libraries import LIBCUDA, install_driver_library
from gpudoctor.diagnose.rule import CUDA_FAILS, explains, rule
from gpudoctor.diagnose.rules.driver.loaded_libcuda import libcuda_files
from gpudoctor.findings import DOWNLOAD, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Cause, Missing, Python

_USE_64_BIT = Fix("Use a 64-bit Python: no framework supports CUDA on 32 bits.", needs=(DOWNLOAD,))


@rule("GD220", severity=Severity.ERROR, breaks=Rung.LIBCUDA, predicts=False)
@explains((*CUDA_FAILS, "container-no-gpu-access"), "Without a libcuda for this architecture no CUDA program can start.")
def libcuda_wrong_architecture(machine: MachineView) -> Problems:
    """Driver's libcuda is damaged or for another architecture."""
    libcuda, python = machine.libcuda_for_gpus, machine.observed.python
    if not isinstance(libcuda, Missing):
        return
    refused = libcuda.cause is Cause.UNLOADABLE
    if not refused and libcuda.cause is not Cause.ABSENT:
        require_known(libcuda, Rung.LIBCUDA)
    files = machine.observed.cuda_files
    own = [] if isinstance(files, Missing) else library.libcuda_of_driver(files)
    foreign = [file for file in own if library.is_loadable(file, python) is False]
    if not refused and (not foreign or len(foreign) < len(own)):
        not_applicable("there is no libcuda, for this architecture or another")
    reason = libcuda.reason if refused else f"{foreign[0].path} is for another architecture"
    bits = python.bits if isinstance(python, Python) and isinstance(python.bits, int) else None
    interpreter = f"{bits}-bit, {python.machine}" if isinstance(python, Python) and bits else "unknown architecture"
    yield Problem(
        message=f"No libcuda works with this Python ({interpreter}): {reason}.",
        evidence=(Evidence("the loader", libcuda.reason, "dlopen"), Evidence("interpreter", interpreter, "sys"), *libcuda_files(foreign)),
        fixes=(_USE_64_BIT,) if bits == 32 else install_driver_library(machine, LIBCUDA),
    )
