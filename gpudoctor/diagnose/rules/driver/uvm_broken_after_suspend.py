from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.driver import RELOAD_UVM
from gpudoctor.diagnose.rule import CUDA_FAILS, advises, explains, rule
from gpudoctor.findings import REBOOT, Confidence, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import count_with_noun
from gpudoctor.status_codes import CudaError

_PRESERVE_MEMORY = Fix(
    "Prevent it: save the GPU's memory across sleep, from the next boot on",
    "echo options nvidia NVreg_PreserveVideoMemoryAllocations=1 | sudo tee /etc/modprobe.d/nvidia-suspend.conf"
    " && sudo systemctl enable nvidia-suspend nvidia-hibernate nvidia-resume",
    (REBOOT,),
)


@rule("GD215", severity=Severity.ERROR, breaks=Rung.LIBCUDA)
@advises(RELOAD_UVM, _PRESERVE_MEMORY)
@explains(CUDA_FAILS, "A broken nvidia_uvm makes cuInit return 999 until it is reloaded.")
def uvm_broken_after_suspend(machine: MachineView) -> Problems:
    """nvidia_uvm is broken after suspend."""
    kernel = machine.kernel
    if kernel.cuda_error_despite_nvml != CudaError.UNKNOWN:
        return
    times = kernel.suspends
    if not times or "nvidia_uvm" not in kernel.modules:
        return
    yield Problem(
        message=f"nvidia_uvm broke during suspend: cuInit returns 999 while NVML works ({count_with_noun(times, 'suspend')} since boot).",
        confidence=Confidence.LIKELY,
        evidence=(
            Evidence("cuInit", "999", "libcuda"),
            Evidence("suspends since boot", str(times), "/sys/power/suspend_stats/success"),
        ),
    )
