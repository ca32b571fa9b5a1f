"""GD101: no-gpu."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Site
from gpudoctor.derive.gpus import is_gpu
from gpudoctor.diagnose.rule import CouldNotTell, Explains, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.hardware.hardware import _holder
from gpudoctor.diagnose.rules.hardware.vendors import amd_gpus, built_for_amd, called
from gpudoctor.findings import Evidence, Fix, FixKind, Policy, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, Missing, Nvml, Pci, Snapshot, Status

_LIB_RM_VERSION_MISMATCH = 18


@rule(
    "GD101",
    severity=Severity.ERROR,
    breaks=Rung.SLOT,
    since="0.1",
    explains=(
        Explains(
            (
                "no-driver",
                "cuda-init-fails",
                "cuda-visible-devices-masked",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def no_gpu(pci: Pci, site: Site, policy: Policy, nvml: Nvml | Missing, snapshot: Snapshot) -> Iterator[Problem]:
    """No NVIDIA GPU is on the PCI bus.

    ## Why it matters
    The kernel enumerates every device on the PCI bus before any driver is loaded. A GPU that is not there cannot be reached by any
    driver, library or framework: no software change on this machine can help.

    ## What to do
    - In a cloud: choose an instance type with a GPU, or attach one.
    - In a virtual machine: pass the GPU through from the host.
    - On a workstation: power off, reseat the card, connect its power cables, and look for it in the firmware's setup.
    - If the CPU is to do: `gpudoctor check --allow-cpu`.

    GPUs and accelerators of other vendors are named, and not examined: gpudoctor tests what runs on CUDA.

    ## References
    - https://docs.kernel.org/PCI/sysfs-pci.html
    """
    if not site.has_pci:
        not_applicable("GPUs of this platform do not show on a PCI bus")
    if any(is_gpu(device) for device in pci.devices):
        return
    if isinstance(nvml, Nvml) and isinstance(nvml.init, Status) and nvml.init.code == _LIB_RM_VERSION_MISMATCH:
        reason = "the PCI bus shows no NVIDIA device, yet an NVIDIA kernel driver answered, which loads only where there is one"
        raise CouldNotTell(Missing(Cause.FAILED, reason), Rung.NVML)
    rocm = built_for_amd(snapshot) if amd_gpus(pci) else ""
    if rocm:
        raise CouldNotTell(
            Missing(Cause.UNSUPPORTED, f"the GPU here is AMD's and {rocm} a build for ROCm, which gpudoctor does not examine"), None
        )
    others = [called(device) for device in pci.devices]
    yield Problem(
        message="No device on the PCI bus is an NVIDIA GPU"
        + (f"; the display devices and accelerators there are {', '.join(others)}." if others else "."),
        severity=Severity.NOTE if policy.allow_cpu else None,
        evidence=(
            Evidence("NVIDIA GPUs on the PCI bus", "0", "/sys/bus/pci/devices (vendor 10de, class 03)"),
            *(Evidence(called(device), _holder(device), f"/sys/bus/pci/devices/{device.address}") for device in pci.devices),
        ),
        fixes=(
            Fix("Use an instance type with a GPU; in a virtual machine pass one through; else reseat the card and its power cables."),
            Fix("Accept the CPU, and train on it", "gpudoctor check --allow-cpu", kind=FixKind.INSTEAD),
        ),
    )
