"""Findings about a build without kernels for a GPU."""

from gpudoctor.derive import FrameworkView
from gpudoctor.derive.gpu_code import PTX_FAULTS, Fit
from gpudoctor.diagnose.advice.gpu_code import code_evidence, models
from gpudoctor.diagnose.advice.installing import other_builds
from gpudoctor.diagnose.rule import TRAINING_FAILS, Explains, Join
from gpudoctor.findings import Confidence, Evidence, Problem, Problems, Severity
from gpudoctor.matrix.cite import cited

WITHOUT_KERNELS = (
    Explains(("extension-missing-arch",), "An extension for this release is built for the same GPUs as the framework.", Join.FRAMEWORK),
    Explains(TRAINING_FAILS, "The framework fails or uses the CPU if its build has no kernels for the GPU.", Join.FRAMEWORK),
)
"""What follows from such a build."""
_FAILS = {
    "ptx-refused": ("fails to load there (CUDA_ERROR_INVALID_PTX)", "refused", Confidence.CERTAIN),
    "ptx-computes-wrong": ("returns NaN, hangs or fails in cuBLAS there", "computes wrong", Confidence.LIKELY),
}
"""By fault: how PTX fails, for the message and for the evidence, and how sure it is that it does."""


def no_kernels(framework: FrameworkView, fit: Fit) -> Problems:
    """Report GPUs that are too old, or too new, for all code in the build."""
    lost = framework.gpus_with(fit)
    if not lost:
        return
    code = framework.code
    refused = [fault for fault in framework.faults if fit is Fit.TOO_NEW and code.ptx and fault.fault in PTX_FAULTS]
    kernels = f", and its PTX {_FAILS[refused[0].fault][0]}" if refused else f"; it has {code.text}"
    sources = (
        Evidence("its PTX", f"{_FAILS[fault.fault][1]} from compute capability {fault.oldest_capability} on", cited(fault.source))
        for fault in refused
    )
    yield Problem(
        message=f"{framework.label} has no kernels for {models(lost)}{kernels}.",
        confidence=_FAILS[refused[0].fault][2] if refused else Confidence.CERTAIN,
        severity=Severity.WARNING if framework.meetings.leave_one(lost) else None,
        only_for=framework.name,
        evidence=(*code_evidence(code, lost), *sources),
        fixes=other_builds(framework.machine, framework.name, fit),
    )
