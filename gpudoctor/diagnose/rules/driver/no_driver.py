"""GD201: no-driver."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.kernel_facts import kept_out, undriven
from gpudoctor.diagnose.rule import Explains, rule
from gpudoctor.diagnose.rules.driver.driver import _nvml_said
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import KernelDriver, KernelModules, Missing, Nvml, Pci, PciDevice


@rule(
    "GD201",
    severity=Severity.ERROR,
    breaks=Rung.KERNEL_DRIVER,
    since="0.1",
    explains=(
        Explains(
            (
                "driver-library-mismatch",
                "device-permission-denied",
                "cuda-init-fails",
                "gpu-count-mismatch",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def no_driver(
    pci: Pci, kernel_driver: KernelDriver | Missing, nvml: Nvml | Missing, modules: KernelModules | Missing, machine: MachineView
) -> Iterator[Problem]:
    """An NVIDIA GPU is on the PCI bus and no NVIDIA kernel driver is loaded.

    ## Why it matters
    Everything above the PCI bus goes through the kernel driver: device nodes, NVML, CUDA, every framework. Without it NVML says
    "Driver Not Loaded", CUDA says "no CUDA-capable device is detected", and frameworks fall back to the CPU, mostly in silence.

    ## What to do
    Where the driver's libraries are installed, load the module; if that fails it was not built for the running kernel, is blocked
    by Secure Boot, or another driver holds the GPU, and the kernel's log says which. Where nothing is installed, install the
    driver. In a container, do this on the host.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
    """
    mine = undriven(pci, kernel_driver, machine.site)
    if not mine:
        return
    installed = isinstance(nvml, Nvml)
    state = "its libraries are installed, but the kernel module is not loaded" if installed else "none is loaded"
    blocked = kept_out(modules, "nvidia")
    load = Fix("Load the module; if that fails, the message says why", "sudo modprobe nvidia", (ROOT,))
    again = msgspec.structs.replace(update_driver(machine), kind=FixKind.ELSE)
    yield Problem(
        message=f"{len(mine)} NVIDIA {'GPU' if len(mine) == 1 else 'GPUs'} on the PCI bus and no NVIDIA driver at work: {state}.",
        evidence=(
            Evidence("NVIDIA kernel driver", "not loaded", "/proc/driver/nvidia/version, /sys/module/nvidia"),
            *(_binding(device) for device in mine[:1]),
            *_nvml_said(nvml),
            *blocked,
        ),
        fixes=(*_allow(blocked), load, again) if installed and not machine.site.container else (update_driver(machine),),
    )


def _allow(blocked: tuple[Evidence, ...]) -> tuple[Fix, ...]:
    """How to take out the lines that keep the module from being loaded; each is commented out."""
    files = dict.fromkeys(one.value for one in blocked)
    return tuple(
        Fix(
            f"Let the nvidia module load: comment out the line in {file}",
            f"sudo sed -i -E 's/^[[:space:]]*(blacklist|install|alias)[[:space:]]+nvidia([[:space:]]|$)/# &/' {shell_path(file)}",
            (ROOT,),
        )
        for file in files
    )


def _binding(device: PciDevice) -> Evidence:
    bound = device.driver if isinstance(device.driver, str) else device.driver.reason
    return Evidence("driver bound to the GPU", bound, f"/sys/bus/pci/devices/{device.address}/driver")
