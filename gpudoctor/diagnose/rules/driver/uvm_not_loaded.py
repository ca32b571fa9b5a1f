from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.system import RESTART_CONTAINER
from gpudoctor.diagnose.rule import CUDA_FAILS, advises, explains, rule
from gpudoctor.findings import Confidence, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.status_codes import DRIVER_UNUSABLE_ERRORS

_LOAD_UVM = Fix("Load nvidia_uvm", "sudo nvidia-modprobe -u -c 0 || sudo modprobe nvidia_uvm")
_LOAD_UVM_AT_BOOT = Fix("Load it at every boot", "echo nvidia_uvm | sudo tee /etc/modules-load.d/nvidia-uvm.conf")


@rule("GD214", severity=Severity.ERROR, breaks=Rung.LIBCUDA)
@advises(_LOAD_UVM, _LOAD_UVM_AT_BOOT)
@explains(CUDA_FAILS, "CUDA manages its memory through nvidia_uvm.")
def uvm_not_loaded(machine: MachineView) -> Problems:
    """Kernel module nvidia_uvm is not loaded."""
    kernel, code = machine.kernel, machine.kernel.cuda_error_despite_nvml
    if code not in DRIVER_UNUSABLE_ERRORS or "nvidia_uvm" in kernel.modules:
        return
    yield Problem(
        message=f"Kernel module nvidia_uvm is not loaded: cuInit returns {code} while NVML works.",
        confidence=Confidence.LIKELY,
        evidence=(Evidence("loaded modules", ", ".join(kernel.modules), "/sys/module"), Evidence("cuInit", str(code), "libcuda")),
        fixes=(RESTART_CONTAINER,) if machine.site.container else (_LOAD_UVM, _LOAD_UVM_AT_BOOT),
    )
