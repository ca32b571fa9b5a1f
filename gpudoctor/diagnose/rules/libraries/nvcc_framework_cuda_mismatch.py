"""GD416: nvcc-framework-cuda-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import EffectiveCuda, Hardware
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.build_facts import with_cuda
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.diagnose.rules.libraries.building import _nvcc, _with_gpu
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Fact, Framework, Missing, Snapshot, Toolkit


@rule("GD416", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def nvcc_framework_cuda_mismatch(
    framework: Framework, effective: EffectiveCuda | Missing, snapshot: Snapshot, hardware: Hardware
) -> Iterator[Problem]:
    """The nvcc that a build would take is of another CUDA major release than PyTorch.

    ## Why it matters
    An extension of PyTorch is compiled with the toolkit that CUDA_HOME or PATH names and runs with the CUDA that PyTorch brings.
    PyTorch's build tool refuses two major releases ("The detected CUDA version ... mismatches the version that was used to compile
    PyTorch"). Training with what is installed needs no toolkit.

    ## What to do
    Before a build, let CUDA_HOME name a toolkit of PyTorch's own CUDA major release.

    ## References
    - https://docs.pytorch.org/docs/stable/cpp_extension.html
    """
    _with_gpu(hardware)
    if framework.name != "torch":
        not_applicable("only PyTorch's build tool compares them")
    cuda = with_cuda(effective)
    toolkit = _nvcc(need(snapshot.toolkits))
    release = need(toolkit.toolkit_cuda)
    version = versions.parse(release.value)
    if version is None or version.major == cuda.version.major:
        return
    fitting = next((one for one in need(snapshot.toolkits) if _major(one) == cuda.version.major and isinstance(one.nvcc, str)), None)
    yield Problem(
        message=f"A build for {framework.label} (CUDA {cuda.version.short}) would take nvcc {version.short} from {toolkit.path}.",
        evidence=(
            Evidence("CUDA of PyTorch", str(cuda.version), cuda.where),
            Evidence("CUDA of the toolkit", release.value, release.where),
            Evidence("what leads to it", ", ".join(toolkit.named_by) or toolkit.path, "environment and folders"),
        ),
        fixes=(
            Fix("Name the fitting toolkit before a build", f"export CUDA_HOME={shell_path(fitting.path)}")
            if fitting
            else Fix(f"Install the toolkit of CUDA {cuda.version.short} beside it before anything is built, and let CUDA_HOME name it."),
        ),
    )


def _major(toolkit: Toolkit) -> int | None:
    version = versions.parse(toolkit.toolkit_cuda.value) if isinstance(toolkit.toolkit_cuda, Fact) else None
    return version.major if version else None
