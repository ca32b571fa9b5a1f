"""What the findings of each rule cost the user."""

from __future__ import annotations

from gpudoctor.diagnose.rule import Rule
from gpudoctor.findings import Impact, Severity

SLOWER = frozenset(
    {
        "application-clocks-lowered",
        "env-slows-gpu",
        "gpu-behind-its-siblings",
        "gpu-not-faster-than-cpu",
        "gpu-slower-than-expected",
        "hw-slowdown",
        "mixed-gpu-models",
        "nvlink-inactive",
        "nvlink-slow",
        "pcie-link-degraded",
        "power-throttled",
        "slow-ptx-jit",
        "thermal-throttled",
    }
)
"""Rules whose warnings are about speed alone."""
AT_RISK = frozenset(
    {
        "conda-cuda-override-wrong",
        "container-shm-too-small",
        "cuda-mixed-versions",
        "cuda-version-mismatch",
        "ecc-hardware-error",
        "fabric-unhealthy",
        "gpu-errors-logged",
        "gpu-requires-reset",
        "inforom-corrupt",
        "ld-library-path-shadowing",
        "mixed-conda-pip",
        "nvidia-wheel-version-conflict",
        "nvlink-errors",
        "nvswitch-fatal-error",
        "package-requirement-conflict",
        "pages-retirement-pending",
        "row-remap-failed",
        "row-remap-pending",
        "spare-rows-exhausted",
        "two-copies-of-framework",
        "vgpu-licence-expiring",
    }
)
"""Rules whose warnings are about training runs that may fail, or go wrong, later."""


PARTLY = frozenset(
    {
        "all-reduce-failed",
        "c-compiler-missing",
        "cpu-only-build",
        "cuda-visible-devices-masked",
        "cuda-visible-devices-set-too-late",
        "cupy-wheel-cuda-mismatch",
        "driver-too-old",
        "env-hides-gpu",
        "extension-abi-mismatch",
        "extension-built-for-other-cuda",
        "extension-missing-arch",
        "framework-missing",
        "gpu-below-framework-minimum",
        "gpu-count-mismatch",
        "gpu-lacks-bf16",
        "gpu-memory-preallocation",
        "gpu-too-old-for-build",
        "gpu-too-old-for-triton",
        "mig-one-instance-per-process",
        "nccl-p2p-acs-iommu",
        "nvml-fails",
        "nouveau-loaded",
        "nova-loaded",
        "ptxas-too-old",
        "python-headers-missing",
        "smoke-crashed",
        "torch-torchaudio-mismatch",
        "torch-torchvision-mismatch",
        "triton-ptxas-too-old",
        "vgpu-unlicensed",
        "wrong-python-environment",
    }
)
"""Rules whose warnings are about a part that fails: a GPU, a framework, an add-on, a feature."""


def impact(rule: Rule, severity: Severity, told: Impact | None) -> Impact:
    """Return what a finding of `rule` costs; of a warning, what was `told` of it goes first."""
    if severity is Severity.NOTE:
        return Impact.NONE
    if severity is Severity.ERROR:
        return Impact.REQUIREMENT if rule.checks_required else Impact.CANNOT_TRAIN
    return told or next((cost for cost, names in _BY_IMPACT.items() if rule.name in names), Impact.PARTLY)


_BY_IMPACT = {Impact.SLOWER: SLOWER, Impact.AT_RISK: AT_RISK, Impact.PARTLY: PARTLY}
"""What a warning costs; that of a rule whose findings are usually errors is about a part that fails."""
