"""The form of a published report, gpudoctor.report/1: its own structs, so that inner changes never change it unseen.

Fields are only ever added. Words (verdicts, severities, states) are open: a reader must accept one that it does not know.
The snapshot inside has a version of its own and is outside this promise.
"""

from __future__ import annotations

import enum
from typing import Annotated, Literal

import msgspec

from gpudoctor.examination import Timing
from gpudoctor.findings import Confidence, FixKind, Level, Rung, RungState, Severity, SubjectKind, Verdict
from gpudoctor.findings.actions import Action, Domain
from gpudoctor.findings.summary import Summary
from gpudoctor.snapshot import Snapshot

SCHEMA: Literal["gpudoctor.report/1"] = "gpudoctor.report/1"


def _words(kind: type[enum.Enum], meaning: str) -> msgspec.Meta:
    return msgspec.Meta(description=f"{meaning} Open: a newer gpudoctor may use further words.", examples=[word.value for word in kind])


def _text(meaning: str) -> msgspec.Meta:
    return msgspec.Meta(description=meaning)


RungWord = Annotated[str, _words(Rung, "A step by which a GPU reaches a training.")]
SeverityWord = Annotated[str, _words(Severity, "What it does to the user: error: cannot train; warning: can, but; note: worth knowing.")]
Ids = Annotated[tuple[str, ...], _text("Ids of findings; empty for a root cause.")]


class Tool(msgspec.Struct, frozen=True):
    """The program that wrote the document."""

    name: str
    version: str


class Examined(msgspec.Struct, frozen=True):
    """The environment that was examined, and as whom."""

    python: Annotated[str | None, _text("The interpreter; null where none was examined.")]
    why: Annotated[str, _text("Why this one.")]
    user: Annotated[str | None, _text('"root" or "uid 1000"; a name only with --identify; null where that is not known.')]


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked of the diagnosis."""

    level: Annotated[str | None, _words(Level, "How far the check goes; null: no rung must be proven.")]
    allow_cpu: bool
    only: tuple[str, ...]
    skip: tuple[str, ...]
    fail_on: SeverityWord
    reasons: Annotated[dict[str, str], _text("Why a rule named in skip is left out, where the user said.")] = {}
    require: Annotated[tuple[str, ...], msgspec.Meta(description="What must be so besides.", examples=[["driver>=550", "gpus==8"]])] = ()
    frameworks: Annotated[tuple[str, ...], _text("Those to train with; empty: all that are installed.")] = ()
    node: Annotated[bool, msgspec.Meta(description="Only the machine was asked about, without a Python environment.")] = False


class ProvedTo(msgspec.Struct, frozen=True):
    """The scope of the answer: the highest rung proven, and on how many of how many GPUs."""

    rung: RungWord | None
    gpus: int
    of: int
    text: str


class Subject(msgspec.Struct, frozen=True):
    """What something is about."""

    kind: Annotated[str, _words(SubjectKind, "What kind of thing.")]
    key: Annotated[str, _text("A GPU's PCI address, a framework's name; empty for the machine and the environment.")]


class Evidence(msgspec.Struct, frozen=True):
    """One observation that a finding rests on."""

    what: str
    value: str
    where: str


class Fix(msgspec.Struct, frozen=True):
    """One way out."""

    kind: Annotated[
        str,
        _words(FixKind, "check: gathers information; fix: a step, in order; else: try it if the steps did not help; instead: another way."),
    ]
    title: str
    command: Annotated[str, _text("To paste; empty where only a person can do it.")]
    needs: Annotated[tuple[str, ...], msgspec.Meta(examples=[["root", "reboot", "download"]])]
    verify: Annotated[str, _text("The command that shows whether it helped; may be empty.")]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A defect that was found. Root causes come first."""

    id: str
    code: str
    name: str
    subject: Subject
    severity: SeverityWord
    confidence: Annotated[str, _words(Confidence, "How sure it is.")]
    title: str
    message: str
    breaks: RungWord
    evidence: tuple[Evidence, ...]
    fixes: tuple[Fix, ...]
    because_of: Ids
    url: str
    action: Annotated[str, _words(Action, "What the first fix comes to, for automation; empty in a report of an older gpudoctor.")] = ""
    domain: Annotated[str, _words(Domain, "Where the fault lies; empty in a report of an older gpudoctor.")] = ""


class CouldNotTell(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that could not be answered for one subject."""

    code: str
    name: str
    subject: Subject
    kind: Annotated[str, msgspec.Meta(description="Open; crashed is a defect of gpudoctor.", examples=["could-not-tell", "crashed"])]
    reason: str
    because_of: Ids


class Passed(msgspec.Struct, frozen=True):
    """A rule that looked and found nothing wrong with one subject."""

    code: str
    name: str
    subject: Subject


class Skipped(msgspec.Struct, frozen=True):
    """A rule that --skip left out."""

    code: str
    name: str
    reason: Annotated[str, _text("The user's; empty where none was given.")]


class NotJudged(msgspec.Struct, frozen=True):
    """Something that bears on the answer and was not judged."""

    subject: Subject
    what: Annotated[str, _text("Its name and version.")]
    reason: str


class Step(msgspec.Struct, frozen=True):
    """One rung of one GPU."""

    rung: RungWord
    state: Annotated[str, _words(RungState, "What was seen of it.")]
    detail: str


class LadderRow(msgspec.Struct, frozen=True):
    """The rungs of one GPU, lowest first."""

    subject: Subject
    index: Annotated[int | None, msgspec.Meta(description="NVML's index, which nvidia-smi shows; null where NVML does not list it.")]
    model: Annotated[str, _text("The product's name; empty where it is not known.")]
    steps: tuple[Step, ...]


class Tables(msgspec.Struct, frozen=True):
    """The compatibility matrix that was used."""

    date: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that gpudoctor says about one machine and one Python environment."""

    schema: Literal["gpudoctor.report/1"]
    id: Annotated[str, _text("A digest of the snapshot and the policy: the same observations, judged alike, have the same id.")]
    tool: Tool
    command: Annotated[str, _text("The command that made it: check, smoke or compat.")]
    created: Annotated[str, _text("When the snapshot was taken: UTC, ISO 8601.")]
    examined: Examined
    policy: Policy
    verdict: Annotated[str, _words(Verdict, "Can this environment train on this GPU?")]
    because: Annotated[str, _text("For the verdict unknown: what was not shown, and why.")]
    proved_to: ProvedTo
    exit_code: Annotated[int, _text("With which the process ended; 128 and the signal where it was stopped.")]
    findings: tuple[Finding, ...]
    could_not_tell: tuple[CouldNotTell, ...]
    passed: tuple[Passed, ...]
    ladder: tuple[LadderRow, ...]
    matrix: Tables
    timings: tuple[Timing, ...]
    snapshot: Snapshot
    skipped: tuple[Skipped, ...] = ()
    summary: Summary = Summary()
    not_judged: Annotated[tuple[NotJudged, ...], _text("With anything here the verdict is never ready.")] = ()
    argv: Annotated[
        tuple[str, ...],
        msgspec.Meta(
            description="The command line, redacted like everything else; empty if the report was not made by a command.",
            examples=[["gpudoctor", "check", "--python", "~/venv"]],
        ),
    ] = ()

    @property
    def causes(self) -> tuple[Finding, ...]:
        """The root causes that count: a note never changes the verdict."""
        return tuple(finding for finding in self.findings if not finding.because_of and finding.severity != Severity.NOTE)
