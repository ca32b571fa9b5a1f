"""The names that some causes have on a particular platform: a missing libcuda has another reason and fix in WSL."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gpudoctor.derive import MachineView
from gpudoctor.expressions import expression
from gpudoctor.findings import Evidence
from gpudoctor.signatures.phrases import ABOUT_WSL, AMD_GPU, DESKTOP_HYPERVISOR, ROCM_BUILD
from gpudoctor.snapshot import Host, Missing, Nvml, Platform, TextLog

_WSL = expression(ABOUT_WSL)
_WSL1 = expression(r"(?i)\bWSL ?1\b")
_JETSON = expression(r"(?i)\bjetson\b|\bjetpack\b|-tegra\b")
_AMD = expression(AMD_GPU)
_ROCM_BUILD = expression(ROCM_BUILD)
_CUDA_BUILD_ERROR = expression(r"\bFound no NVIDIA driver on your system\b|\bTorch not compiled with CUDA enabled\b")
"""What no build for ROCm says."""
_DESKTOP_VM = expression(DESKTOP_HYPERVISOR)

CAUSES_BY_PLATFORM: dict[str, dict[str, str]] = {
    "WSL": {
        "libcuda-not-on-loader-path": "wsl-libcuda-not-on-path",
        "no-driver": "wsl-driver-stack-broken",
        "driver-hung": "wsl-driver-stack-broken",
        "exclusive-compute-mode": "wsl-driver-stack-broken",
        "nccl-p2p-acs-iommu": "wsl-multi-gpu-limit",
        "all-reduce-failed": "wsl-multi-gpu-limit",
    },
    "WSL 1": {"no-driver": "wsl1", "cpu-only-build": "wsl1", "libcuda-not-on-loader-path": "wsl1", "wsl-driver-stack-broken": "wsl1"},
    "macOS": {"cpu-only-build": "no-cuda-wheel-for-platform", "extension-built-for-other-cuda": "no-cuda-wheel-for-platform"},
    "Jetson": {
        "package-not-installable": "jetson-needs-vendor-wheel",
        "cpu-only-build": "jetson-needs-vendor-wheel",
        "gpu-too-old-for-build": "jetson-needs-vendor-wheel",
    },
    "AMD GPU": {
        "cpu-only-build": "amd-gpu-unsupported",
        "no-driver": "amd-gpu-unsupported",
        "driver-too-old": "amd-gpu-unsupported",
        "cuda-init-fails": "amd-gpu-unsupported",
        "nvcc-toolkit-missing": "amd-gpu-unsupported",
    },
    "GPU of another vendor": {"cpu-only-build": "no-gpu", "no-driver": "no-gpu", "driver-too-old": "no-gpu", "cuda-init-fails": "no-gpu"},
    "desktop virtual machine": {"no-driver": "no-gpu", "cuda-init-fails": "no-gpu"},
}
"""By platform, what a cause is called there."""


def causes_on_platform(causes: Sequence[str], machine: MachineView, log: TextLog) -> dict[str, Evidence]:
    """Return the names of the causes on the platform that the text is about, with what says so."""
    text = [line.value for line in log.lines]
    found: dict[str, Evidence] = {}
    for platform, ask in _EVIDENCE_BY_PLATFORM.items():
        evidence = ask(machine, text)
        if evidence:
            names = (CAUSES_BY_PLATFORM[platform].get(cause) for cause in causes)
            found |= {name: Evidence("platform", platform, evidence) for name in names if name}
    return found


_UNMISTAKABLE_PLATFORMS = frozenset({Platform.WSL1, Platform.WSL2, Platform.JETSON, Platform.MACOS})
"""Platforms that nothing is mistaken for; a text from WSL or a Jetson may call itself Linux or Windows."""


def _platform_evidence(*wanted: Platform, words: re.Pattern[str] | None = None) -> Callable[[MachineView, Sequence[str]], str]:
    """Return what says where the text states the platform; empty if nothing does."""

    def ask(machine: MachineView, text: Sequence[str]) -> str:
        host = machine.observed.host
        known = host.platform if isinstance(host, Host) and isinstance(host.platform, Platform) else None
        if known in wanted:
            return "the text"
        if known in _UNMISTAKABLE_PLATFORMS:
            return ""
        return next((line.strip()[:80] for line in text if words and words.search(line)), "")

    return ask


def amd_gpu_line(machine: MachineView, text: Sequence[str]) -> str:
    """Return the line that names an AMD GPU, or a build for one where another runs, if the text names no NVIDIA GPU."""
    if any(isinstance(gpu.name, str) for gpu in machine.observed.listed_gpus):
        return ""
    patterns = (_AMD, _ROCM_BUILD) if any(map(_CUDA_BUILD_ERROR.search, text)) else (_AMD,)
    return next((line.strip()[:80] for pattern in patterns for line in text if pattern.search(line)), "")


def desktop_vm_line(_: MachineView, text: Sequence[str]) -> str:
    """Return the line that names the desktop hypervisor whose guest the text is about."""
    return next((line.strip()[:80] for line in text if _DESKTOP_VM.search(line)), "")


def _other_gpu_evidence(machine: MachineView, text: Sequence[str]) -> str:
    """Return what says so, if the text names a GPU that is neither NVIDIA's nor AMD's, or states that there is none."""
    nvml = machine.observed.nvml
    is_other = isinstance(nvml, Nvml) and nvml.gpus == () and isinstance(nvml.init, Missing) and machine.site.platform != Platform.MACOS
    return "the text" if is_other and not amd_gpu_line(machine, text) else ""


wsl_evidence = _platform_evidence(Platform.WSL2, words=_WSL)
"""What says that the text is about WSL; empty if nothing does."""
_EVIDENCE_BY_PLATFORM: dict[str, Callable[[MachineView, Sequence[str]], str]] = {
    "WSL 1": _platform_evidence(Platform.WSL1, words=_WSL1),
    "WSL": wsl_evidence,
    "macOS": _platform_evidence(Platform.MACOS),
    "Jetson": _platform_evidence(Platform.JETSON, words=_JETSON),
    "AMD GPU": amd_gpu_line,
    "GPU of another vendor": _other_gpu_evidence,
    "desktop virtual machine": desktop_vm_line,
}
