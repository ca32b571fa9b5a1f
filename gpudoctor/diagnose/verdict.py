"""From findings and rungs to the answer: ready, degraded, unknown or broken, and its exit code."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from gpudoctor.derive import Gpu, MachineView
from gpudoctor.derive.stages import stage_name
from gpudoctor.diagnose.engine import RuleRun
from gpudoctor.diagnose.required_conditions import Fulfilment, checked_conditions
from gpudoctor.exit_codes import BROKEN, CRASHED, READY, UNKNOWN
from gpudoctor.findings import Finding, LadderRow, Level, Outcome, OutcomeKind, Policy, Rung, RungState, Severity, Step, Unchecked, Verdict
from gpudoctor.findings.wording import few_names, gpu_name_list
from gpudoctor.snapshot import SUPPOSED, TEXT, Cause, Missing, Snapshot, StageState
from gpudoctor.snapshot.gaps import missing_values

_FINE_STATES = {RungState.PROVEN, RungState.MASKED, RungState.NOT_APPLICABLE}
_EXIT_CODES = {Verdict.READY: READY, Verdict.DEGRADED: READY, Verdict.BROKEN: BROKEN, Verdict.UNKNOWN: UNKNOWN}


def required_stage(policy: Policy) -> Rung | None:
    """Return the stage that every GPU must reach; None if the policy has no level."""
    return policy.level.required_rung if policy.level else None


_STAGE_NAMES = {Rung.NVML: "NVML", Rung.LIBCUDA: "CUDA", Rung.KERNEL_RAN: "a kernel run", Rung.TRAINED: "training"}
"""What was not verified where a required rung was not proven."""


_UNREADABLE_CAUSES = frozenset({Cause.FAILED, Cause.LOST, Cause.TIMED_OUT, Cause.CRASHED})
"""Why a fact is missing although a machine in order would have given it."""


def unproven_clauses(
    machine: MachineView, unchecked: tuple[Unchecked, ...], runs: Sequence[RuleRun], named: Collection[str] = ()
) -> tuple[str, ...]:
    """Return which required stages or things were not verified, and why, each as a clause. `named` are the causes that lines of a text point to."""
    unseen = (
        condition for condition in checked_conditions(machine, required_stage(machine.policy)) if condition.answer is Fulfilment.UNKNOWN
    )
    requirements = _unchecked_sentences((condition.requirement.text, condition.seen) for condition in unseen)
    packages = _unchecked_sentences(((one.what, one.reason) for one in unchecked), {one.what for one in unchecked if one.plural})
    told = {thing.reason for thing in unchecked}
    unproven_stages = _missing_framework(machine) or _unproven_stages(machine, runs, named)
    lacking = tuple(f"{what}: {why}" if why and why not in told else what for what, why in unproven_stages)
    unread = (
        _unchecked_sentences(_other_reasons(_undecided_errors(runs), told)) if machine.policy.level is Level.LOOK and not lacking else ()
    )
    chosen = _unchecked_sentences(_other_reasons(_undecided_named_rules(machine.policy, runs), told))
    crashed = dict.fromkeys(f"gpudoctor crashed in {run.outcome.name}" for run in runs if run.outcome.kind is OutcomeKind.CRASHED)
    return tuple(dict.fromkeys((*packages, *lacking, *requirements, *unread, *chosen, *crashed)))


def _other_reasons(unknown: Iterable[tuple[str, str]], told: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield what has a reason of its own; the rest follows from what was not checked."""
    return (pair for pair in unknown if pair[1] not in told)


def _undecided_named_rules(policy: Policy, runs: Sequence[RuleRun]) -> Iterator[tuple[str, str]]:
    """Yield which rule the user named that could not tell, and why; of a family, some rules never can."""
    for run in runs:
        silent = run.outcome.kind in {OutcomeKind.COULD_NOT_TELL, OutcomeKind.NOT_ASKED}
        if silent and {run.rule.code, run.rule.name} & set(policy.only):
            yield run.outcome.name, run.outcome.reason


def _undecided_errors(runs: Sequence[RuleRun]) -> Iterator[tuple[str, str]]:
    """Yield which error could not be excluded, and which fact the driver failed to give. A kernel that ran would have shown most of them."""
    for run in runs:
        outcome, rule = run.outcome, run.rule
        failed = outcome.kind is OutcomeKind.COULD_NOT_TELL and outcome.cause in _UNREADABLE_CAUSES
        if failed and rule.severity is Severity.ERROR and not rule.checks_required:
            yield outcome.name, outcome.reason


def _missing_framework(machine: MachineView) -> tuple[tuple[str, str], ...]:
    """Return that there is nothing to train with, and no reason; nothing if nobody asks about frameworks."""
    found = machine.observed.frameworks
    if found or isinstance(found, Missing) or machine.policy.node:  # a missing list is among what was not checked
        return ()
    supposed = machine.observed.origin == SUPPOSED
    return (("no framework is among the stated packages" if supposed else "no framework is installed in this environment", ""),)


def _unproven_stages(machine: MachineView, runs: Sequence[RuleRun], named: Collection[str]) -> Iterable[tuple[str, str]]:
    """Return what was not proven and why, "" without a reason."""
    rung = required_stage(machine.policy)
    if machine.observed.origin == TEXT:
        return ((f"{_text_subject(runs, named)} does not show that training works", ""),)
    if rung is None:
        return ()
    if machine.hardware:
        return _unproven_gpus(machine, rung, runs)
    if machine.policy.allow_cpu:
        return () if machine.cpu_framework or rung < Rung.TRAINED else _untrained_frameworks(machine.observed)
    return (("no NVIDIA GPU was found", ""),)


def _text_subject(runs: Sequence[RuleRun], named: Collection[str]) -> str:
    """Return the text as the subject of a clause, after what was not found in it. It may tell of an error whose causes are all excluded."""
    if any(finding.severity > Severity.NOTE for run in runs for finding in run.findings):
        return "the text"
    return f"no {'cause of an error' if named else 'error'} was found in the text, which"


def _unproven_gpus(machine: MachineView, rung: Rung, runs: Sequence[RuleRun]) -> Iterator[tuple[str, str]]:
    """Yield on which GPUs which rung was not proven, and why; those with the same reason together.

    A GPU that another kernel driver holds is no unknown: it is the warning of a rule that the NVIDIA driver has the others.
    """
    groups: dict[tuple[Rung, str], list[LadderRow]] = {}
    warned = {finding.breaks for run in runs for finding in run.findings if finding.severity is Severity.WARNING}
    bound_elsewhere = RungState.FAILED if Rung.KERNEL_DRIVER in warned else None
    for gpu, row in zip(machine.hardware, machine.ladder.rows, strict=True):
        lacking = _unproven_step(gpu, row, rung)
        if lacking and machine.ladder.state(gpu.key, Rung.KERNEL_DRIVER) is not bound_elsewhere:
            groups.setdefault((lacking.rung, lacking.detail or lacking.state.value), []).append(row)
    if not groups and not machine.ladder.is_proven_anywhere(rung):
        yield f"{_STAGE_NAMES[rung]} was not verified on any GPU", ""
    for (lacked, reason), rows in groups.items():
        yield f"{_STAGE_NAMES[lacked]} was not verified on {gpu_name_list((row.index, row.subject.key) for row in rows)}", reason


def _unproven_step(gpu: Gpu, row: LadderRow, rung: Rung) -> Step | None:
    """Return which rung up to the required one was not proven for one GPU; None if none is lacking or asked of this GPU.

    A GPU that computed has working rungs below, whatever NVML says; short of that, NVML must have opened it too.
    """
    steps = {step.rung: step for step in row.steps}
    if gpu.is_passed_through or steps[Rung.LIBCUDA].state is RungState.MASKED:
        return None
    asked = (rung,) if rung > Rung.LIBCUDA else (Rung.LIBCUDA, Rung.NVML)
    return next((steps[one] for one in asked if steps[one].state not in _FINE_STATES), None)


def _untrained_frameworks(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield that no framework trained on the CPU, and what stopped those that were stopped."""
    smokes = () if isinstance(snapshot.smoke, Missing) else snapshot.smoke
    yield "training was not verified on the CPU", ""
    for smoke in smokes:
        for stage in smoke.stages:
            if stage.state is StageState.STOPPED:
                yield smoke.framework, f"{stage_name(stage)} {stage.error}"


def verdict(findings: tuple[Finding, ...], unproven: tuple[object, ...]) -> Verdict:
    """Return the verdict from the findings and what was not verified.

    Every GPU that a program in the examined environment can use must work: all except those bound to VMs and those that
    CUDA_VISIBLE_DEVICES hides. One that accepts no work, for whatever reason (lost, not listed by NVML or CUDA, no device file, compute
    prohibited, in exclusive use, MIG without an instance, no free memory), is an error, whether it is one of eight or all eight. Hide a
    GPU to exclude it from the verdict. A GPU that accepts work but is slow or at risk is a warning, and so is one that another kernel
    driver holds beside others of NVIDIA's: it may be there for the display.
    """
    worst = max((finding.severity for finding in findings), default=Severity.NOTE)
    if worst is Severity.ERROR:
        return Verdict.BROKEN
    if unproven:
        return Verdict.UNKNOWN
    return Verdict.DEGRADED if worst is Severity.WARNING else Verdict.READY


def exit_code(answer: Verdict, policy: Policy, outcomes: tuple[Outcome, ...], snapshot: Snapshot) -> int:
    """Return the exit code of the process."""
    if answer is Verdict.BROKEN:
        return _EXIT_CODES[answer]
    if any(outcome.kind is OutcomeKind.CRASHED for outcome in outcomes) or _has_probe_crashed(snapshot):
        return CRASHED
    if answer is Verdict.DEGRADED and policy.fail_on <= Severity.WARNING:
        return _EXIT_CODES[Verdict.BROKEN]
    return _EXIT_CODES[answer]


def _has_probe_crashed(snapshot: Snapshot) -> bool:
    return any(gap.cause is Cause.CRASHED for gap in missing_values(snapshot))


def _unchecked_sentences(unknown: Iterable[tuple[str, str]], plural: Collection[str] = ()) -> Iterator[str]:
    """Yield what was not checked, in one sentence for each reason."""
    reasons: dict[str, list[str]] = {}
    for what, reason in dict.fromkeys(unknown):
        reasons.setdefault(reason, []).append(what)
    for reason, names in reasons.items():
        several = len(names) > 1 or names[0] in plural
        yield f"{few_names(names)} {'were' if several else 'was'} not checked: {reason}"
