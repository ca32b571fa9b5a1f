from gpudoctor.derive import MachineView, Site
from gpudoctor.diagnose.advice.driver import RELOAD_UVM
from gpudoctor.diagnose.advice.kernel_log import kernel_log_evidence
from gpudoctor.diagnose.rule import CUDA_FAILS, advises, explains, rule
from gpudoctor.findings import REBOOT, ROOT, Confidence, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Missing
from gpudoctor.status_codes import CudaError

_NO_FREE_REGION = r"request_free_mem_region\(\) err"
"""The line that nvidia-uvm logs, in uvm_pmm_gpu.c."""
_DISABLE_HMM = "echo 'options nvidia_uvm uvm_disable_hmm=1' | sudo tee /etc/modprobe.d/nvidia-uvm-hmm.conf"


@rule("GD241", severity=Severity.ERROR, breaks=Rung.LIBCUDA, predicts=False)
@advises(lambda machine: _fixes(machine.site))
@explains(CUDA_FAILS, "cuInit returns 3 if nvidia_uvm cannot reserve addresses for HMM.")
def uvm_hmm_init_failure(machine: MachineView) -> Problems:
    """nvidia_uvm fails to set up HMM, so CUDA fails to initialise."""
    kernel = machine.kernel
    if kernel.cuda_error_despite_nvml != CudaError.NOT_INITIALIZED:
        return
    disabled = kernel.parameter("nvidia_uvm.uvm_disable_hmm")
    if "nvidia_uvm" not in kernel.modules or disabled == "Y":
        return
    line = kernel_log_evidence(machine, _NO_FREE_REGION)
    if not line and kernel.flavour != "open":
        return
    fault = "cannot reserve addresses for HMM" if line else "(open kernel modules) cannot set up HMM"
    yield Problem(
        message=f"nvidia_uvm {fault}: cuInit returns 3 while NVML works.",
        confidence=Confidence.CERTAIN if line else Confidence.LIKELY,
        evidence=(
            *line,
            Evidence("cuInit", "3 CUDA_ERROR_NOT_INITIALIZED", "libcuda"),
            Evidence("uvm_disable_hmm", disabled or "not known", "/sys/module/nvidia_uvm/parameters"),
            Evidence("KASLR", _kaslr_state(machine), "/proc/cmdline"),
        ),
    )


def _kaslr_state(machine: MachineView) -> str:
    details = machine.observed.details
    parameters = details if isinstance(details, Missing) else details.kernel_parameters
    if isinstance(parameters, Missing):
        return f"not known ({parameters.reason})"
    return "off (nokaslr)" if any(parameter.name == "nokaslr" for parameter in parameters) else "on"


def _fixes(site: Site) -> tuple[Fix, ...]:
    if site.container:
        return (Fix(f"Turn HMM off on the host, then restart the container: `{_DISABLE_HMM}`, `{RELOAD_UVM.command}`", needs=(ROOT,)),)
    return (
        Fix("Turn HMM off in nvidia_uvm", _DISABLE_HMM),
        RELOAD_UVM,
        Fix("Boot the kernel with nokaslr: add it to GRUB_CMDLINE_LINUX in /etc/default/grub.", needs=(ROOT, REBOOT), kind=FixKind.INSTEAD),
    )
