from gpudoctor.derive import MachineView, require_known
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.rule import CUDA_FAILS, explains, rule
from gpudoctor.diagnose.rules.driver.loaded_libcuda import kernel_driver_text, kernel_module_evidence, libcuda_evidence, remove_compat
from gpudoctor.findings import Domain, Problem, Problems, Rung, Severity
from gpudoctor.status_codes import CudaError


@rule("GD217", severity=Severity.ERROR, breaks=Rung.LIBCUDA, domain=Domain.ENVIRONMENT, predicts=False)
@explains(CUDA_FAILS, "A cuda-compat libcuda does not start on a kernel driver that it does not support.")
def cuda_compat_lib_conflict(machine: MachineView) -> Problems:
    """cuda-compat libcuda shadows the driver's and does not match it."""
    if machine.cuda_init.code != CudaError.SYSTEM_DRIVER_MISMATCH:
        return
    path = require_known(machine.libcuda.library, Rung.LIBCUDA)
    if not library.is_compat(path):
        return
    release = library.release_in_name(path)
    version = f" {release}" if release else ""
    yield Problem(
        message=f"{path} (cuda-compat{version}) does not run on {kernel_driver_text(machine)}: cuInit returns 803.",
        evidence=(*libcuda_evidence(machine), kernel_module_evidence(machine)),
        fixes=remove_compat(path, machine),
    )
