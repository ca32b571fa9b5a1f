from gpudoctor.codes import CudaError
from gpudoctor.derive import MachineView, known
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.advice.driver_libraries import LIBCUDA, install_library
from gpudoctor.diagnose.rule import CUDA_FAILS, explains, rule
from gpudoctor.diagnose.rules.driver.loaded_libcuda import files_on_disk, loaded_libcuda, take_off_path
from gpudoctor.findings import Domain, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Missing


@rule("GD219", severity=Severity.ERROR, breaks=Rung.LIBCUDA, domain=Domain.ENVIRONMENT, predicts=False)
@explains(CUDA_FAILS, "The stub's cuInit always fails.")
def libcuda_is_stub(machine: MachineView) -> Problems:
    """CUDA toolkit's stub is loaded instead of the driver's libcuda."""
    libcuda = known(machine.libcuda_for_gpus, Rung.LIBCUDA)
    path, code = library.path(libcuda), library.code(libcuda)
    fails = code or isinstance(libcuda.init, Missing)
    if code != CudaError.STUB_LIBRARY and not (library.is_stub(path) and fails):
        return
    files = machine.observed.cuda_files
    own = [] if isinstance(files, Missing) else library.drivers_own(files)
    consequence = f"the loader finds it before the driver's {own[0].path}" if own else "the driver's libcuda is not installed"
    yield Problem(
        message=f"{path or 'The loaded libcuda'} is a stub without code, and {consequence}.",
        evidence=(*loaded_libcuda(machine), *files_on_disk(own)),
        fixes=(take_off_path(path, machine), *(() if own else install_library(machine, LIBCUDA))),
    )
