from gpudoctor.codes import CudaError
from gpudoctor.derive import MachineView, known
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.rule import CUDA_FAILS, explains, rule
from gpudoctor.diagnose.rules.driver.loaded_libcuda import do_without_compat, kernel_driver, kernel_module, loaded_libcuda
from gpudoctor.findings import Domain, Problem, Problems, Rung, Severity


@rule("GD217", severity=Severity.ERROR, breaks=Rung.LIBCUDA, domain=Domain.ENVIRONMENT, predicts=False)
@explains(CUDA_FAILS, "A cuda-compat libcuda does not start on a kernel driver that it does not support.")
def cuda_compat_lib_conflict(machine: MachineView) -> Problems:
    """cuda-compat libcuda shadows the driver's and does not match it."""
    if machine.cuda_init.code != CudaError.SYSTEM_DRIVER_MISMATCH:
        return
    path = known(machine.libcuda.library, Rung.LIBCUDA)
    if not library.is_compat(path):
        return
    release = library.release(path)
    version = f" {release}" if release else ""
    yield Problem(
        message=f"{path} (cuda-compat{version}) does not run on {kernel_driver(machine)}: cuInit returns 803.",
        evidence=(*loaded_libcuda(machine), kernel_module(machine)),
        fixes=do_without_compat(path, machine),
    )
