from collections.abc import Iterator

import msgspec

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.message_fixes import fixes_from_message
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.rule import CUDA_FAILS, advises, explains, rule
from gpudoctor.diagnose.rules.driver.bound_driver import blocking_lines, bound_driver_evidence
from gpudoctor.diagnose.rules.driver.nvml_start import nvml_start_evidence
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import count_with_noun
from gpudoctor.snapshot import Nvml


@rule("GD201", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER)
@advises(lambda machine: next(fixes_from_message(machine, "no-driver"), (update_driver(machine),)))
@explains(CUDA_FAILS, "Every CUDA call goes through the kernel driver.")
@explains(("driver-library-mismatch", "gpu-count-mismatch"), "NVML cannot start or list GPUs without the kernel driver.")
@explains(("device-permission-denied",), "Permissions of device files matter only once the driver is loaded.")
def no_driver(machine: MachineView) -> Problems:
    """No NVIDIA kernel driver is loaded."""
    gpus = machine.kernel.undriven_gpus
    if not gpus:
        return
    installed = isinstance(machine.observed.nvml, Nvml)
    count = count_with_noun(len(gpus), "GPU")
    state = "NVIDIA driver libraries are installed, but the kernel module" if installed else "The NVIDIA kernel driver"
    blocked = blocking_lines(machine, "nvidia")
    yield Problem(
        message=f"{state} is not loaded ({count} on the PCI bus).",
        evidence=(
            Evidence("NVIDIA kernel driver", "not loaded", "/proc/driver/nvidia/version, /sys/module/nvidia"),
            bound_driver_evidence(gpus[0]),
            *nvml_start_evidence(machine),
            *blocked,
        ),
        fixes=tuple(_load_module(machine, blocked)) if installed and not machine.site.container else (update_driver(machine),),
    )


def _load_module(machine: MachineView, blocked: tuple[Evidence, ...]) -> Iterator[Fix]:
    """Yield the fixes that comment out the lines which block the module, and load it."""
    for file in dict.fromkeys(line.value for line in blocked):
        yield Fix(
            f"Allow the nvidia module to load: comment out its line in {file}",
            f"sudo sed -i -E 's/^[[:space:]]*(blacklist|install|alias)[[:space:]]+nvidia([[:space:]]|$)/# &/' {shell_path(file)}",
        )
    yield Fix("Load the module; if that fails, modprobe says why", "sudo modprobe nvidia")
    yield msgspec.structs.replace(update_driver(machine), kind=FixKind.ELSE)
