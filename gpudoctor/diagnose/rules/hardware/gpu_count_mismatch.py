from gpudoctor.derive import CouldNotTell, GpuView, not_applicable
from gpudoctor.derive.views.kernel import has_open_source_driver
from gpudoctor.diagnose.advice.hardware import read_gpu_log, recover_gpu
from gpudoctor.diagnose.advice.system import reboot
from gpudoctor.diagnose.rule import CUDA_FAILS, explains, rule
from gpudoctor.diagnose.rules.hardware.vendors import driver_name
from gpudoctor.findings import Action, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import count_with_noun
from gpudoctor.snapshot import Cause, Missing, NvmlGpu, PciDevice, ProcGpu

_UNKNOWN_ADDRESS = {Cause.TIMED_OUT, Cause.NOT_STATED}
"""Why NVML may not know the address of a GPU that it opens."""


@rule("GD102", severity=Severity.ERROR, breaks=Rung.NVML, impact=Impact.PARTLY, predicts=False)
@explains(CUDA_FAILS, "CUDA cannot use a GPU that the driver cannot open; cuInit can fail on the others.")
def gpu_count_mismatch(gpu: GpuView) -> Problems:
    """GPU is missing from NVML and nvidia-smi."""
    listed = gpu.machine.nvml_gpus
    pci, proc = gpu.observed.pci, gpu.observed.proc
    if gpu.observed.is_passed_through:
        not_applicable("bound to vfio-pci for VM passthrough")
    if isinstance(pci, PciDevice) and has_open_source_driver(pci):
        not_applicable(f"{pci.driver} is bound to it")
    if isinstance(proc, ProcGpu) and proc.excluded is True:
        not_applicable("the driver is configured to ignore it (NVreg_ExcludedGpus)")
    if gpu.is_opened:
        return
    seen = _nvml_answer(gpu)
    opened = sum(isinstance(other.address, str) for other in listed)
    usable = gpu.proven(Rung.LIBCUDA)
    yield Problem(
        message=f"{seen[0].upper()}{seen[1:]}; it opens {count_with_noun(opened, 'other GPU')}."
        + (" CUDA lists this GPU." if usable else ""),
        severity=Severity.WARNING if usable else None,
        evidence=(
            Evidence("NVML", seen, "libnvidia-ml.so.1"),
            Evidence("bound kernel driver", _bound_driver_text(pci), f"/sys/bus/pci/devices/{gpu.key}/driver"),
        ),
        fixes=_fixes(gpu, usable=usable),
    )


def _nvml_answer(gpu: GpuView) -> str:
    """Return what NVML says about a GPU that it did not open; ends the rule if only the address is unknown."""
    seen = gpu.observed.nvml
    if not isinstance(seen, NvmlGpu) or not isinstance(seen.address, Missing):
        return f"NVML does not list {gpu.label}"
    if seen.address.cause in _UNKNOWN_ADDRESS:
        raise CouldNotTell(seen.address, Rung.NVML)
    return f"NVML cannot open {gpu.label}: {seen.address.reason}"


def _bound_driver_text(device: PciDevice | Missing) -> str:
    return driver_name(device) if isinstance(device, PciDevice) else f"unknown ({device.reason})"


def _fixes(gpu: GpuView, *, usable: bool) -> tuple[Fix, ...]:
    if gpu.machine.site.container:
        return (Fix("Restart the container. If the GPU is still missing, run gpudoctor on the host.", action=Action.RESTART_JOB),)
    if usable:
        return read_gpu_log(gpu), _COMPARE_VERSIONS, reboot()
    return recover_gpu(gpu)


_COMPARE_VERSIONS = Fix(
    "Compare the versions of libcuda and libnvidia-ml",
    "ldconfig -p | grep -E 'libcuda.so|libnvidia-ml.so'",
    kind=FixKind.CHECK,
)
