"""The form of a published report, gpudoctor.report/1: its own structs, which inner changes never alter unnoticed.

Fields are only ever added. Words (verdicts, severities, states) are open: a reader must accept one that it does not know.
The snapshot inside has a version of its own and is outside this promise.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from gpudoctor.examination import Timing
from gpudoctor.findings import Action, Confidence, Domain, FixKind, Impact, Level, Rung, RungState, Severity, SubjectKind, Verdict
from gpudoctor.findings.actions import ACTION_MEANINGS, DOMAIN_MEANINGS
from gpudoctor.findings.summary import Summary
from gpudoctor.schema_fields import FORM, means
from gpudoctor.snapshot import Cause, Snapshot

SCHEMA: Literal["gpudoctor.report/1"] = "gpudoctor.report/1"
ASSUMED_ORIGIN = "supposed"
"""The origin of a snapshot without observations: nothing can be verified and there is no ladder."""


def _enum_meta(kind: type[enum.Enum], meaning: str) -> msgspec.Meta:
    return msgspec.Meta(description=f"{meaning} Open: newer versions may add words.", examples=[word.value for word in kind])


def _meanings(words: Mapping[Action, str] | Mapping[Domain, str]) -> str:
    return "; ".join(f"{word.value}: {meaning}" for word, meaning in words.items())


RungWord = Annotated[str, _enum_meta(Rung, "A stage that a GPU must reach before it can train; they are listed in order.")]
SeverityWord = Annotated[str, _enum_meta(Severity, "error: prevents training; warning: training works, but worse; note: worth knowing.")]
ConfidenceWord = Annotated[str, _enum_meta(Confidence, "How sure the diagnosis is.")]
ActionWord = Annotated[
    str, _enum_meta(Action, f"What the first fix comes to. {_meanings(ACTION_MEANINGS)}. Empty in reports of older versions.")
]
DomainWord = Annotated[str, _enum_meta(Domain, f"Where the fault lies. {_meanings(DOMAIN_MEANINGS)}. Empty in reports of older versions.")]
ImpactWord = Annotated[str, _enum_meta(Impact, "What the finding costs the user. Empty in reports of older versions.")]
CauseWord = Annotated[str, _enum_meta(Cause, "Why the fact behind it is missing; empty for a crash.")]
Code = Annotated[str, means("The rule's code. It never changes and is never reused.", "GD203")]
Name = Annotated[str, means("The rule's name.", "driver-too-old")]
Ids = Annotated[tuple[str, ...], means("Ids of the findings that explain this one; empty for a root cause.")]


class Tool(msgspec.Struct, frozen=True):
    """The program that wrote the document."""

    name: Annotated[str, means("The program.", "gpudoctor")]
    version: Annotated[str, means("Its version.", "0.1.0")]


class Examined(msgspec.Struct, frozen=True):
    """The environment that was examined, and the user who examined it."""

    python: Annotated[str | None, means("The interpreter; null if none was examined.")]
    why: Annotated[str, means("Why this interpreter was chosen.", "the active virtual environment")]
    user: Annotated[str | None, means('"root" or "uid 1000"; a name only with --identify; null if not known.')]


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for."""

    level: Annotated[str | None, _enum_meta(Level, "How deep the check goes; null if no stage must be reached.")]
    allow_cpu: Annotated[bool, means("Whether a machine without an NVIDIA GPU may train on its CPU.")]
    only: Annotated[tuple[str, ...], means("Codes or names of the only rules to apply; empty: all.")]
    skip: Annotated[tuple[str, ...], means("Codes or names of rules to skip.")]
    fail_on: Annotated[SeverityWord, means("The severity from which findings make the exit code 1.")]
    reasons: Annotated[dict[str, str], means("The user's reason for each rule in skip, where one was given.")] = {}
    require: Annotated[tuple[str, ...], means("What else must be true.", ["driver>=550", "gpus==8"])] = ()
    frameworks: Annotated[tuple[str, ...], means("The frameworks to train with; empty: all that are installed.")] = ()
    node: Annotated[bool, means("Whether only the machine was checked, without a Python environment.")] = False


class ProvedTo(msgspec.Struct, frozen=True):
    """How much was proven: the highest stage, and on how many GPUs."""

    rung: Annotated[RungWord | None, means("The highest stage that any GPU reached; null if none.")]
    gpus: Annotated[int, means("How many GPUs reached it.")]
    of: Annotated[int, means("How many GPUs the machine has.")]
    text: Annotated[str, means("The same as a phrase.", "trained on 8 of 8 GPUs")]


class Subject(msgspec.Struct, frozen=True):
    """What something is about."""

    kind: Annotated[str, _enum_meta(SubjectKind, "What kind of thing it is.")]
    key: Annotated[str, means("A GPU's PCI address or a framework's name; empty for the machine and the environment.", "0000:1f:00.0")]


class Evidence(msgspec.Struct, frozen=True):
    """One observation behind a finding."""

    what: Annotated[str, means("What was observed.", "driver")]
    value: Annotated[str, means("Its value.", "470.57.02")]
    where: Annotated[str, means("Where it was read.", "/proc/driver/nvidia/version")]


class Fix(msgspec.Struct, frozen=True):
    """A way to fix a finding. Fixes are listed in the order in which to try them."""

    kind: Annotated[
        str,
        _enum_meta(
            FixKind, "check: gathers information; fix: a step, in order; else: if the steps did not help; instead: replaces the steps."
        ),
    ]
    title: Annotated[str, means("What to do.", "Reboot")]
    command: Annotated[str, means("The command to run; empty if no command can do it.", "sudo reboot")]
    needs: Annotated[tuple[str, ...], means("What it requires.", ["root", "reboot", "download"])]
    verify: Annotated[str, means("The command that verifies it; may be empty.", "nvidia-smi")]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A problem that was found. Root causes come first, most severe first."""

    id: Annotated[str, means("The code and the subject; unique in a report and the same in the next one.", "GD103:0000:1f:00.0")]
    code: Code
    name: Name
    subject: Subject
    severity: SeverityWord
    confidence: ConfidenceWord
    title: Annotated[str, means("What is wrong, in general.", "GPU fell off the bus")]
    message: Annotated[str, means("What is wrong here, with the values that were seen.")]
    breaks: Annotated[RungWord, means("The stage that cannot be reached while this is true.")]
    evidence: Annotated[tuple[Evidence, ...], means("The observations behind it.")]
    fixes: Annotated[tuple[Fix, ...], means("What to do, in order.")]
    because_of: Ids
    url: Annotated[str, means("The rule's page.")]
    action: ActionWord = ""
    domain: DomainWord = ""
    impact: ImpactWord = ""

    @property
    def doubt(self) -> str:
        """Its confidence; empty if it is certain."""
        return "" if self.confidence == Confidence.CERTAIN else self.confidence


class CouldNotTell(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that could not be checked for one subject."""

    code: Code
    name: Name
    subject: Subject
    kind: Annotated[str, means("Open: newer versions may add words. crashed is a defect of gpudoctor.", "could-not-tell", "crashed")]
    reason: Annotated[str, means("Why it could not be checked.")]
    because_of: Annotated[tuple[str, ...], means("Ids of findings that explain why it could not be checked.")]
    cause: CauseWord = ""


class Passed(msgspec.Struct, frozen=True):
    """A rule that found nothing wrong with one subject."""

    code: Code
    name: Name
    subject: Subject


class Skipped(msgspec.Struct, frozen=True):
    """A rule that --skip left out."""

    code: Code
    name: Name
    reason: Annotated[str, means("The user's reason; empty if none was given.")]


class NotJudged(msgspec.Struct, frozen=True):
    """Something that affects the answer and that no rule could check."""

    subject: Subject
    what: Annotated[str, means("Its name and version.", "libraries of torch 2.9.0")]
    reason: Annotated[str, means("Why it could not be checked.")]


class Step(msgspec.Struct, frozen=True):
    """One stage of one GPU."""

    rung: RungWord
    state: Annotated[str, _enum_meta(RungState, "What was seen of the stage.")]
    detail: Annotated[str, means("Why, or how it is known; may be empty.")]


class LadderRow(msgspec.Struct, frozen=True):
    """The stages of one GPU."""

    subject: Subject
    index: Annotated[int | None, means("NVML's index, as nvidia-smi shows it; null if NVML does not list the GPU.")]
    model: Annotated[str, means("The product's name; empty if not known.", "NVIDIA A100-SXM4-80GB")]
    steps: Annotated[tuple[Step, ...], means("Its stages in order, the first one first.")]


class Tables(msgspec.Struct, frozen=True):
    """The compatibility tables that were used."""

    date: Annotated[str, means("When they were last updated: ISO 8601 date.", "2026-11-20")]


class Recognition(msgspec.Struct, frozen=True):
    """What was recognised of one format in a pasted text."""

    reader: Annotated[str, means("The format, as its program is called.", "nvidia-smi", "torch.utils.collect_env")]
    facts: Annotated[int, means("How many facts it states.")]
    first: Annotated[int, means("Number of the first line that was used.")]
    last: Annotated[int, means("Number of the last one.")]
    file: Annotated[str, means("The file with these lines; empty if only one was read.", "dmesg.txt")] = ""


class Recognised(msgspec.Struct, frozen=True):
    """What was recognised in a pasted text."""

    lines: Annotated[int, means("Lines that are not empty.")]
    used: Annotated[int, means("Lines of these that were recognised.")]
    formats: Annotated[tuple[Recognition, ...], means("By format, in the order of the text.")]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that gpudoctor found out about one machine and one Python environment."""

    schema: Annotated[Literal["gpudoctor.report/1"], FORM]
    id: Annotated[str, means("A digest of the snapshot and the policy: the same observations under the same policy have the same id.")]
    tool: Tool
    command: Annotated[str, means("The command that wrote the report.", "check", "smoke", "compat", "diagnose")]
    created: Annotated[str, means("When the machine was observed: UTC, ISO 8601.", "2026-11-21T04:00:00Z")]
    examined: Examined
    policy: Policy
    verdict: Annotated[str, _enum_meta(Verdict, "Whether this environment can train on this machine's GPU.")]
    because: Annotated[str, means("For the verdict unknown: what was not shown, and why; else empty.")]
    proved_to: ProvedTo
    exit_code: Annotated[
        int, means("The exit code of the process: see `gpudoctor explain exit-codes`; 128 plus the signal that stopped it.")
    ]
    findings: Annotated[tuple[Finding, ...], means("Root causes first, by severity, confidence and stage; then what they explain.")]
    could_not_tell: Annotated[tuple[CouldNotTell, ...], means("Rules that could not be checked.")]
    passed: Annotated[tuple[Passed, ...], means("Rules that found nothing wrong.")]
    ladder: Annotated[tuple[LadderRow, ...], means("The stages of each GPU; empty for a combination that is only assumed.")]
    matrix: Tables
    timings: Annotated[tuple[Timing, ...], means("How long each part of the work took.")]
    snapshot: Snapshot
    skipped: Annotated[tuple[Skipped, ...], means("Rules that --skip left out.")] = ()
    summary: Summary = Summary()
    not_judged: Annotated[tuple[NotJudged, ...], means("What no rule could check. With anything here the verdict is never ready.")] = ()
    argv: Annotated[
        tuple[str, ...],
        means(
            "The command line, redacted like everything else; empty if no command wrote the report.", ["gpudoctor", "check", "--no-smoke"]
        ),
    ] = ()
    recognised: Annotated[
        Recognised | None, means("What was recognised in a pasted text; null if a machine or its report was examined.")
    ] = None

    @property
    def is_assumed(self) -> bool:
        """Whether the machine was only described."""
        return self.snapshot.origin == ASSUMED_ORIGIN

    @property
    def causes(self) -> tuple[Finding, ...]:
        """The root causes that count: a note never changes the verdict."""
        return tuple(finding for finding in self.findings if not finding.because_of and finding.severity != Severity.NOTE)
