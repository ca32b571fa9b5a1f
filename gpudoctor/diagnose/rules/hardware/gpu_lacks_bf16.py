"""GD113: gpu-lacks-bf16."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive.code import Fit, Meeting, capability
from gpudoctor.diagnose.advice.gpu_code import models
from gpudoctor.diagnose.gpu_facts import hidden
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.diagnose.rules.hardware.generation import _capability, _models, _named, _smokes
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.preflight import FEATURES, parse
from gpudoctor.versions import Version

BF16 = Version(*FEATURES["bf16"])


@rule("GD113", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1", predicts=False, checks_required="bf16")
def gpu_lacks_bf16(machine: MachineView) -> Iterator[Problem]:
    """The GPU has no BF16 arithmetic.

    ## Why it matters
    Many recipes for large models train and serve in BF16. GPUs have it in hardware from compute capability 8.0 (Ampere) on. Older ones
    store such numbers and compute in FP32: `torch.cuda.is_bf16_supported()` counts that as support, and it is slow; other programs
    refuse. It is an error where `--require bf16` asks for it.

    ## What to do
    Train in FP16 with loss scaling from compute capability 7.0 (Volta) on, in FP32 on an older one, whose FP16 is mostly slow.

    ## References
    - https://docs.nvidia.com/cuda/cuda-math-api/
    - https://docs.nvidia.com/cuda/parallel-thread-execution/#half-precision-floating-point-instructions-fma
    - https://github.com/vllm-project/vllm/issues/1284
    """
    required = any(parse(text).subject == "bf16" for text in machine.policy.require)
    if not required and not need(machine.observed.frameworks):
        not_applicable("nothing is installed that would compute in it")
    used = [Meeting(gpu, capability(gpu, machine.matrix), Fit.UNKNOWN) for gpu in machine.hardware if not (gpu.set_aside or hidden(gpu))]
    if not used:
        not_applicable("there is no GPU that programs may use")
    for model in _models(one for one in used if one.capability is not None and one.capability < BF16):
        yield Problem(
            message=f"{models(model)}: BF16 arithmetic begins with compute capability {BF16.short}, so that programs refuse it or emulate it slowly.",
            title=f"{'bf16 is required; ' if required else ''}{_named(model)} has no BF16 arithmetic",
            severity=Severity.ERROR if required else None,
            evidence=(_capability(model), *_measured(model, machine)),
            fixes=(
                *((Fix(f"Run on GPUs of compute capability {BF16.short} or newer, or do not require bf16."),) if required else ()),
                Fix(
                    f"Train in {'FP16 with loss scaling' if _has_tensor_cores(model) else 'FP32'}.",
                    kind=FixKind.INSTEAD if required else FixKind.FIX,
                ),
            ),
        )
    for one in used:
        need(one.capability_or_missing, Rung.NVML)


def _has_tensor_cores(model: list[Meeting]) -> bool:
    """By generation: the GTX of Turing have none, and compute FP16 at twice the rate of FP32 all the same."""
    return model[0].capability is not None and model[0].capability >= Version(7, 0)


def _measured(model: list[Meeting], machine: MachineView) -> Iterator[Evidence]:
    """In which precisions a framework multiplied matrices there, where that was measured."""
    keys = {one.gpu.key for one in model}
    for smoke in _smokes(machine):
        rates = {one.precision: one.flops for one in smoke.products if one.address in keys and isinstance(one.flops, int | float)}
        if rates:
            told = ", ".join(f"{precision.upper()} {flops / 1e12:.1f} TFLOPS" for precision, flops in rates.items())
            yield Evidence("products measured", told + ("" if "bf16" in rates else ", none in BF16"), smoke.framework)
