"""Findings about a build without kernels for a GPU."""

from gpudoctor.derive import FrameworkView
from gpudoctor.derive.gpu_code import PTX_FAULTS, Fit
from gpudoctor.diagnose.advice.gpu_code import code_evidence, models_text
from gpudoctor.diagnose.advice.installing import install_other_build
from gpudoctor.diagnose.rule import TRAINING_FAILS, Explains, Join
from gpudoctor.findings import Confidence, Evidence, Problem, Problems, Severity
from gpudoctor.matrix.citations import citation

NO_KERNELS_EXPLAINS = (
    Explains(("extension-missing-arch",), "An extension for this release is built for the same GPUs as the framework.", Join.FRAMEWORK),
    Explains(TRAINING_FAILS, "The framework fails or uses the CPU if its build has no kernels for the GPU.", Join.FRAMEWORK),
)
"""What follows from such a build."""
_PTX_FAILURES = {
    "ptx-refused": ("fails to load there (CUDA_ERROR_INVALID_PTX)", "refused", Confidence.CERTAIN),
    "ptx-computes-wrong": ("returns NaN, hangs or fails in cuBLAS there", "computes wrong", Confidence.LIKELY),
}
"""By fault: how PTX fails, for the message and for the evidence, and how sure it is that it does."""


def no_kernel_problems(framework: FrameworkView, fit: Fit) -> Problems:
    """Report GPUs that are too old, or too new, for all code in the build."""
    lost = framework.gpus_with(fit)
    if not lost:
        return
    code = framework.code
    refused = [fault for fault in framework.faults if fit is Fit.TOO_NEW and code.ptx and fault.fault in PTX_FAULTS]
    kernels = f", and its PTX {_PTX_FAILURES[refused[0].fault][0]}" if refused else f"; it has {code.text}"
    sources = (
        Evidence("its PTX", f"{_PTX_FAILURES[fault.fault][1]} from compute capability {fault.oldest_capability} on", citation(fault.source))
        for fault in refused
    )
    yield Problem(
        message=f"{framework.label} has no kernels for {models_text(lost)}{kernels}.",
        confidence=_PTX_FAILURES[refused[0].fault][2] if refused else Confidence.CERTAIN,
        severity=Severity.WARNING if framework.gpu_fits.leaves_usable_gpu(lost) else None,
        only_for=framework.name,
        evidence=(*code_evidence(code, lost), *sources),
        fixes=install_other_build(framework.machine, framework.name, fit),
    )
