"""GD1 and GD5: what a GPU's generation cannot do, and the framework's compiler not with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpudoctor import versions
from gpudoctor.derive import MachineView, Meetings
from gpudoctor.derive.code import Fit, Meeting, capability
from gpudoctor.diagnose.build_facts import called, listed, met, tell_generation
from gpudoctor.diagnose.gpu_facts import hidden
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.requirements import FEATURES, parse
from gpudoctor.signatures import recognise
from gpudoctor.snapshot import Fact, Framework, Missing, Smoke, StageState
from gpudoctor.versions import Version

BF16 = Version(*FEATURES["bf16"])
TRITON, FIRST_COMPILER = Version(7, 0), Version(2, 0)
"""The compute capability that torch.compile asks for on a GPU, and the release of PyTorch that brought it. Of the published wheels 2.0.0, 2.1.2,
2.3.0, 2.5.1, 2.6.0, 2.7.0, 2.9.0, 2.12.0 and 2.15.0 each compares the major number with 7 (torch/_inductor/scheduler.py); Triton's own wheels state
no least one up to 3.9.0."""


@rule("GD113", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1", predicts=False)
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
            message=f"{listed(model)}: BF16 arithmetic begins with compute capability {BF16.short}, so that programs refuse it or emulate it slowly.",
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
        tell_generation(one)


def _models(meetings: Iterable[Meeting]) -> list[list[Meeting]]:
    """The GPUs of one product together."""
    found: dict[str, list[Meeting]] = {}
    for one in meetings:
        found.setdefault(_named([one]), []).append(one)
    return list(found.values())


def _named(model: list[Meeting]) -> str:
    gpu = model[0].gpu
    return gpu.name if isinstance(gpu.name, str) else gpu.label


def _has_tensor_cores(model: list[Meeting]) -> bool:
    """By generation: the GTX of Turing have none, and compute FP16 at twice the rate of FP32 all the same."""
    return model[0].capability is not None and model[0].capability >= Version(7, 0)


def _capability(model: list[Meeting]) -> Evidence:
    others = f" and {len(model) - 1} more" if len(model) > 1 else ""
    return Evidence("compute capability", str(model[0].capability), f"{model[0].gpu.label}{others}")


def _smokes(machine: MachineView) -> tuple[Smoke, ...]:
    return () if isinstance(machine.observed.smoke, Missing) else machine.observed.smoke


def _measured(model: list[Meeting], machine: MachineView) -> Iterator[Evidence]:
    """In which precisions a framework multiplied matrices there, where that was measured."""
    keys = {one.gpu.key for one in model}
    for smoke in _smokes(machine):
        rates = {one.precision: one.flops for one in smoke.products if one.address in keys and isinstance(one.flops, int | float)}
        if rates:
            told = ", ".join(f"{precision.upper()} {flops / 1e12:.1f} TFLOPS" for precision, flops in rates.items())
            yield Evidence("products measured", told + ("" if "bf16" in rates else ", none in BF16"), smoke.framework)


@rule("GD517", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK, predicts=False)
def gpu_too_old_for_triton(framework: Framework, meetings: Meetings | Missing, machine: MachineView) -> Iterator[Problem]:
    """torch.compile makes its kernels with Triton, which is for newer GPUs than this one.

    ## Why it matters
    On a GPU torch.compile writes kernels for Triton, and asks for compute capability 7.0 (Volta) before it does. On an older one it ends
    with "too old to be supported by the triton GPU compiler", whatever the model. All else of PyTorch works there. A warning where a
    compiled step was seen to fail so.

    ## What to do
    Leave torch.compile out, or switch it off from outside: with TORCHDYNAMO_DISABLE=1 the same program runs uncompiled.

    ## References
    - https://github.com/triton-lang/triton/issues/161
    - https://github.com/karpathy/nanoGPT/issues/157
    """
    release = versions.parse(framework.version.value) if isinstance(framework.version, Fact) else None
    if framework.name != "torch" or release is None or release < FIRST_COMPILER:
        not_applicable("it has no torch.compile")
    used = [one for one in met(meetings) if one.fit is not Fit.TOO_OLD]  # of those without code gpu-too-old-for-build says all
    old = [one for one in used if one.capability is not None and one.capability < TRITON]
    if old:
        refused = _refused(framework, machine)
        names = " and ".join(dict.fromkeys(_named([one]) for one in old))
        yield Problem(
            message=f"{called(framework)}: torch.compile asks for compute capability {TRITON.short}; here is {listed(old)}.",
            title=f"torch.compile does not work on {names}: Triton is for newer GPUs",
            severity=Severity.WARNING if refused else None,
            evidence=(*(_capability(model) for model in _models(old)), *refused),
            fixes=(Fix("Leave torch.compile out, or switch it off for a program that has it", "export TORCHDYNAMO_DISABLE=1"),),
        )
    for one in used:
        tell_generation(one)


def _refused(framework: Framework, machine: MachineView) -> tuple[Evidence, ...]:
    """The compiled steps that ended with this, unless another stage ended otherwise, which this is no cause of."""
    ended = [
        (stage.name, found[0])
        for smoke in _smokes(machine)
        if smoke.framework == framework.name
        for stage in smoke.stages
        if stage.state is not StageState.DONE
        for found in [recognise(stage.error if isinstance(stage.error, str) else "") or (None,)]
    ]
    if not all(sign and sign.signature.causes == ("gpu-too-old-for-triton",) for _, sign in ended):
        return ()
    return tuple(Evidence(name, sign.line, f"{framework.name}'s words") for name, sign in ended if sign)


RULES = (gpu_lacks_bf16, gpu_too_old_for_triton)
