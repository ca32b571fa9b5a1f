"""GD5: what Triton needs to build kernels for torch.compile: an assembler that knows the GPU, a C compiler, Python's headers."""

from __future__ import annotations

from gpudoctor.derive import Hardware, Stack
from gpudoctor.diagnose.rule import not_applicable
from gpudoctor.findings import Fix, FixKind
from gpudoctor.snapshot import Framework

_OFF = Fix("Run without torch.compile", "export TORCHDYNAMO_DISABLE=1", kind=FixKind.INSTEAD)


def _compiles(framework: Framework, stack: Stack, hardware: Hardware) -> None:
    """Ends the rule where torch.compile does not use Triton."""
    if framework.name != "torch" or framework.cuda_build is False or framework.rocm_build is True:
        not_applicable("only PyTorch's CUDA builds compile with Triton")
    if stack.supposed or "triton" not in stack.distributions:
        not_applicable("Triton is not installed")
    if not hardware:
        not_applicable("there is no NVIDIA GPU to compile for")
