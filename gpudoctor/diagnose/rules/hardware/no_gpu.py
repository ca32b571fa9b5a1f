from gpudoctor.derive import CouldNotTell, MachineView
from gpudoctor.diagnose.advice.notebooks import COLAB
from gpudoctor.diagnose.rule import TRAINING_FAILS, advises, explains, rule
from gpudoctor.diagnose.rules.hardware.vendors import amd_gpus, device_label, driver_name, rocm_frameworks
from gpudoctor.findings import Action, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Cause, Missing
from gpudoctor.status_codes import NvmlError

_ADD_A_GPU = Fix(
    "Choose an instance type with a GPU; in a VM, pass one through; on your own machine, reseat the card and check its power cables.",
    action=Action.REPLACE_HARDWARE,
)
_CHOOSE_IN_COLAB = Fix("In Colab, choose a GPU under Runtime > Change runtime type.", action=Action.CHANGE_SETTING)
_ALLOW_CPU = Fix("Allow training on the CPU", "gpudoctor check --allow-cpu", kind=FixKind.INSTEAD)


def _fixes(machine: MachineView) -> tuple[Fix, ...]:
    """Return the fixes; --node, which trains nothing, refuses --allow-cpu."""
    add = _CHOOSE_IN_COLAB if COLAB.search(machine.log.text) else _ADD_A_GPU
    return (add,) if machine.policy.node or machine.policy.allow_cpu else (add, _ALLOW_CPU)


@rule("GD101", severity=Severity.ERROR, breaks=Rung.SLOT)
@advises(_fixes)
@explains(("no-driver",), "The NVIDIA driver loads only if there is an NVIDIA GPU.")
@explains(("cuda-init-fails", "cuda-visible-devices-masked"), "Without a GPU, CUDA has no device.")
@explains(("required-gpus-missing", *TRAINING_FAILS), "Without a GPU, no framework can train on one.")
def no_gpu(machine: MachineView) -> Problems:
    """No NVIDIA GPU on the PCI bus."""
    devices = machine.pci_devices
    if any(device.is_nvidia_gpu for device in devices):
        return
    if machine.nvml_init_code == NvmlError.LIB_RM_VERSION_MISMATCH:  # so a kernel module is loaded
        reason = "no NVIDIA device on the PCI bus, but an NVIDIA kernel module is loaded, and it loads only if there is one"
        raise CouldNotTell(Missing(Cause.FAILED, reason), Rung.NVML)
    for_rocm = rocm_frameworks(machine) if amd_gpus(machine) else ""
    if for_rocm:
        reason = f"the GPU is from AMD and {for_rocm} is built for ROCm, which gpudoctor does not examine"
        raise CouldNotTell(Missing(Cause.UNSUPPORTED, reason), None)
    others = ", ".join(device_label(device) for device in devices)
    instead = f"; found {others}" if others else ""
    yield Problem(
        message=f"No NVIDIA GPU on the PCI bus{instead}.",
        severity=Severity.NOTE if machine.policy.allow_cpu else None,
        evidence=(
            Evidence("NVIDIA GPUs on the PCI bus", "0", "/sys/bus/pci/devices (vendor 10de, class 03)"),
            *(Evidence(device_label(device), driver_name(device), f"/sys/bus/pci/devices/{device.address}") for device in devices),
        ),
    )
