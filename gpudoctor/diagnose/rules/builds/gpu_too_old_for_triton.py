"""GD517: gpu-too-old-for-triton."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import MachineView, Meetings
from gpudoctor.derive.code import Fit
from gpudoctor.derive.stages import stage_name
from gpudoctor.diagnose.advice.gpu_code import models
from gpudoctor.diagnose.build_facts import met
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.builds.gpu_models import _capability, _models, _named, _smokes
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.signatures import recognise
from gpudoctor.snapshot import Fact, Framework, Missing, StageState
from gpudoctor.versions import Version

TRITON, FIRST_COMPILER = Version(7, 0), Version(2, 0)
"""The compute capability that torch.compile asks for on a GPU, and the release of PyTorch that brought it. Of the published wheels 2.0.0, 2.1.2,
2.3.0, 2.5.1, 2.6.0, 2.7.0, 2.9.0, 2.12.0 and 2.15.0 each compares the major number with 7 (torch/_inductor/scheduler.py); Triton's own wheels state
no least one up to 3.9.0."""


@rule(
    "GD517",
    severity=Severity.NOTE,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    predicts=False,
    explains=(
        Explains(
            (
                "smoke-crashed",
                "triton-ptxas-too-old",
                "c-compiler-missing",
                "python-headers-missing",
            ),
            "",
            Join.FRAMEWORK,
        ),
    ),
)
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
            message=f"{framework.label}: torch.compile asks for compute capability {TRITON.short}; here is {models(old)}.",
            title=f"torch.compile does not work on {names}: Triton is for newer GPUs",
            severity=Severity.WARNING if refused else None,
            evidence=(*(_capability(model) for model in _models(old)), *refused),
            fixes=(Fix("Leave torch.compile out, or switch it off for a program that has it", "export TORCHDYNAMO_DISABLE=1"),),
        )
    for one in used:
        need(one.capability_or_missing, Rung.NVML)


def _refused(framework: Framework, machine: MachineView) -> tuple[Evidence, ...]:
    """The compiled steps that ended with this, unless another stage ended otherwise, which this is no cause of."""
    ended = [
        (stage_name(stage), found[0])
        for smoke in _smokes(machine)
        if smoke.framework == framework.name
        for stage in smoke.stages
        if stage.state is not StageState.DONE
        for found in [recognise(stage.error if isinstance(stage.error, str) else "") or (None,)]
    ]
    if not all(sign and sign.signature.causes == ("gpu-too-old-for-triton",) for _, sign in ended):
        return ()
    return tuple(Evidence(name, sign.line, f"{framework.name}'s words") for name, sign in ended if sign)
