from gpudoctor.derive import MachineView, known_absence, not_applicable, require_known
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.advice.driver_libraries import LIBCUDA, install_driver_library
from gpudoctor.diagnose.rule import TRAINING_FAILS, advises, explains, rule
from gpudoctor.diagnose.rules.driver.loaded_libcuda import kernel_module_evidence
from gpudoctor.findings import Evidence, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Nvml


@rule("GD230", severity=Severity.ERROR, breaks=Rung.LIBCUDA)
@advises(lambda machine: install_driver_library(machine, LIBCUDA))
@explains(("required-gpus-missing", *TRAINING_FAILS), "Without libcuda.so.1 no CUDA program can start.")
def libcuda_not_installed(machine: MachineView) -> Problems:
    """Driver's CUDA library (libcuda.so.1) is not installed."""
    release = require_known(machine.kernel.driver.version).value
    if machine.site.container:
        not_applicable("a container gets libcuda from its host")
    unfound = known_absence(machine.observed.libcuda, Rung.LIBCUDA)
    if unfound is None:
        return
    files = library.libcuda_of_driver(machine.cuda_files)
    if files:
        not_applicable(f"{files[0].path} is installed")
    works = "NVML works" if isinstance(machine.observed.nvml, Nvml) else "the NVIDIA kernel driver is loaded"
    yield Problem(
        message=f"libcuda.so.1 is not installed, although {works} (driver {release}).",
        evidence=(
            Evidence("the loader", unfound.reason, "dlopen"),
            Evidence("libcuda on disk", "none", "the driver's usual folders"),
            kernel_module_evidence(machine),
        ),
    )
