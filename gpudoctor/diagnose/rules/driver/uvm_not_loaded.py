"""GD214: uvm-not-loaded."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Site
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.kernel_facts import CUDA_UNUSABLE, answered, cuda_answered
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.driver.devices import _RESTART
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Confidence, Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import (
    KernelDriver,
    Missing,
    Snapshot,
)


@rule(
    "GD214",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def uvm_not_loaded(kernel_driver: KernelDriver, snapshot: Snapshot, site: Site) -> Iterator[Problem]:
    """NVML works, CUDA does not, and the module nvidia_uvm is not loaded.

    ## Why it matters
    CUDA's memory is managed by a kernel module of its own, nvidia_uvm. nvidia-smi does without, so that it shows every GPU in order
    while cuInit answers "unknown error" (999) or "no device" (100). The module is loaded at first use, by nvidia-modprobe; where that
    is not installed, or may not do it, CUDA fails.

    ## What to do
    Load the module, and have it loaded at each boot.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
    """
    if not site.has_pci or isinstance(kernel_driver.version, Missing):
        not_applicable("no NVIDIA kernel driver is loaded here")
    code = cuda_answered(snapshot)
    if code not in CUDA_UNUSABLE or answered(snapshot.nvml) != 0:
        return
    loaded = need(kernel_driver.modules, Rung.KERNEL_DRIVER)
    if "nvidia_uvm" in loaded:
        return
    load = Fix("Load it", "sudo nvidia-modprobe -c 0 -u || sudo modprobe nvidia_uvm", (ROOT,))
    always = Fix("Load it at each boot", "echo nvidia_uvm | sudo tee /etc/modules-load.d/nvidia-uvm.conf", (ROOT,))
    yield Problem(
        message=f"cuInit answers {code} while NVML works, and nvidia_uvm is not loaded.",
        confidence=Confidence.LIKELY,
        evidence=(Evidence("loaded modules", ", ".join(loaded), "/sys/module"), Evidence("cuInit", str(code), "libcuda")),
        fixes=(_RESTART,) if site.container else (load, always),
    )
