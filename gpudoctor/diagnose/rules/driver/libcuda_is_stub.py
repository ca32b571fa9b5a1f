from gpudoctor.derive import MachineView, require_known
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.advice.driver_libraries import LIBCUDA, install_driver_library
from gpudoctor.diagnose.rule import CUDA_FAILS, explains, rule
from gpudoctor.diagnose.rules.driver.loaded_libcuda import libcuda_evidence, libcuda_files, remove_from_path
from gpudoctor.findings import Domain, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Missing
from gpudoctor.status_codes import CudaError


@rule("GD219", severity=Severity.ERROR, breaks=Rung.LIBCUDA, domain=Domain.ENVIRONMENT, predicts=False)
@explains(CUDA_FAILS, "The stub's cuInit always fails.")
def libcuda_is_stub(machine: MachineView) -> Problems:
    """CUDA toolkit's stub is loaded instead of the driver's libcuda."""
    libcuda = require_known(machine.libcuda_for_gpus, Rung.LIBCUDA)
    path, code = library.loaded_path(libcuda), library.init_code(libcuda)
    fails = code or isinstance(libcuda.init, Missing)
    if code != CudaError.STUB_LIBRARY and not (library.is_stub(path) and fails):
        return
    files = machine.observed.cuda_files
    own = [] if isinstance(files, Missing) else library.libcuda_of_driver(files)
    consequence = f"the loader finds it before the driver's {own[0].path}" if own else "the driver's libcuda is not installed"
    yield Problem(
        message=f"{path or 'The loaded libcuda'} is a stub without code, and {consequence}.",
        evidence=(*libcuda_evidence(machine), *libcuda_files(own)),
        fixes=(remove_from_path(path, machine), *(() if own else install_driver_library(machine, LIBCUDA))),
    )
