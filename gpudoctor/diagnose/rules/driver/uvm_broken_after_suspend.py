"""GD215: uvm-broken-after-suspend."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Site
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.kernel_facts import answered, cuda_answered
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.driver.devices import _CUDA_UNKNOWN
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Confidence, Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import (
    Cause,
    KernelDriver,
    KernelModules,
    Missing,
    Snapshot,
)


@rule(
    "GD215",
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
def uvm_broken_after_suspend(kernel_driver: KernelDriver, modules: KernelModules, snapshot: Snapshot, site: Site) -> Iterator[Problem]:
    """NVML works, cuInit answers 999, and the machine has slept since it was booted.

    ## Why it matters
    After waking from sleep nvidia_uvm can be unusable until it is loaded anew: every CUDA program then says "unknown error" (999),
    while nvidia-smi shows nothing wrong.

    ## What to do
    End every program that uses the GPU and load the module anew; it tells at once whether this was it. To keep it from happening, have
    the driver save the GPU's memory when the machine sleeps.

    ## References
    - https://download.nvidia.com/XFree86/Linux-x86_64/550.163.01/README/powermanagement.html
    """
    if not site.has_pci or isinstance(kernel_driver.version, Missing):
        not_applicable("no NVIDIA kernel driver is loaded here")
    if cuda_answered(snapshot) != _CUDA_UNKNOWN or answered(snapshot.nvml) != 0:
        return
    if isinstance(modules.suspends, Missing) and modules.suspends.cause is Cause.ABSENT:
        return  # this kernel cannot sleep
    times = need(modules.suspends)
    if not times or "nvidia_uvm" not in need(kernel_driver.modules, Rung.KERNEL_DRIVER):
        return
    reload = Fix("Reload the module, with no program on the GPU", "sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm", (ROOT,))
    keep = "echo options nvidia NVreg_PreserveVideoMemoryAllocations=1 | sudo tee /etc/modprobe.d/nvidia-suspend.conf"
    services = "sudo systemctl enable nvidia-suspend nvidia-hibernate nvidia-resume"
    yield Problem(
        message=f"cuInit answers {_CUDA_UNKNOWN} while NVML works, and the machine slept {times} {'time' if times == 1 else 'times'} since its boot.",
        confidence=Confidence.LIKELY,
        evidence=(
            Evidence("cuInit", str(_CUDA_UNKNOWN), "libcuda"),
            Evidence("times the machine slept and woke", str(times), "/sys/power/suspend_stats/success"),
        ),
        fixes=(reload, Fix("Keep it from happening again, from the next boot on", f"{keep} && {services}", (ROOT, "reboot"))),
    )
