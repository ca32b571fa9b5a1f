"""The terms of a diagnosis: subjects, what a rule yields, what happened to each rule and what was concluded."""

from __future__ import annotations

import enum
from collections.abc import Iterator

import msgspec

from gpudoctor.findings.actions import DOWNLOAD, REBOOT, ROOT, Action, Domain
from gpudoctor.findings.scales import Confidence, Impact, Level, Rung, Severity
from gpudoctor.findings.summary import Summary


class SubjectKind(str, enum.Enum):
    """What a finding can be about."""

    MACHINE = "machine"
    GPU = "gpu"
    ENVIRONMENT = "environment"
    FRAMEWORK = "framework"


class Subject(msgspec.Struct, frozen=True):
    """What a fact, an outcome or a finding is about."""

    kind: SubjectKind
    key: str = ""
    """A GPU's normalised PCI address (its own key if it has none), a framework's name; empty for machine and environment."""


MACHINE = Subject(SubjectKind.MACHINE)
ENVIRONMENT = Subject(SubjectKind.ENVIRONMENT)


class Evidence(msgspec.Struct, frozen=True):
    """One observation that a finding rests on."""

    what: str
    value: str
    where: str


COMPAT_PACKAGE = "cuda-compat"
"""The name by which a fix removes the libraries of forward compatibility."""


class FixKind(str, enum.Enum):
    """What carrying out a fix does. A finding's fixes are in the order in which to try them."""

    CHECK = "check"  # only gathers information
    FIX = "fix"  # changes something; several are steps, in order
    ELSE = "else"  # the next thing to try if the steps did not help
    INSTEAD = "instead"  # another way that replaces the steps


class Fix(msgspec.Struct, frozen=True):
    """A command to paste for this environment, or an instruction if no command can do it."""

    title: str
    command: str = ""
    needs: tuple[str, ...] = ()
    """What it requires: root, reboot, download. A command with sudo in it requires root."""
    verify: str = ""
    """The command that verifies it."""
    kind: FixKind = FixKind.FIX
    action: Action | None = None
    """What it comes to; None where `needs` says so: what downloads reinstalls a package, the rest changes a setting."""
    installs: tuple[str, ...] = ()
    """The requirements that its command installs."""
    removes: tuple[str, ...] = ()
    """The distributions that its command removes, or takes in the release that suits what it installs."""
    python: str = ""
    """The Python version ("3.12") of the environment that it creates; "" for the examined environment."""
    driver: str = ""
    """The driver that is enough, "525.60.13", or the branch to go back to; "" if it changes none, or any will do."""
    kernel_module: str = ""
    """The flavour of the driver's kernel modules that it installs, open or proprietary; "" if both will do."""
    os: str = ""
    """The system to move to: "wsl"."""
    libc: str = ""
    """The C library of the system to move to, or newer: "glibc-2.28"."""
    system_cuda: str = ""
    """The CUDA toolkit ("11.8") that it installs outside Python's packages."""
    system_cudnn: str = ""

    def __post_init__(self) -> None:
        """Add root to what it requires if its command asks for it."""
        if "sudo " in self.command and ROOT not in self.needs:
            msgspec.structs.force_setattr(self, "needs", (ROOT, *self.needs))


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule yields: the values seen, where each was read, what to do. The engine adds code, name, title and subject."""

    message: str
    evidence: tuple[Evidence, ...] = ()
    fixes: tuple[Fix, ...] = ()
    """What to do; if empty, what its rule advises."""
    confidence: Confidence = Confidence.CERTAIN
    severity: Severity | None = None
    """Set if this occurrence is milder or worse than the rule's severity."""
    impact: Impact | None = None
    """Set if this warning costs something else than the other warnings of the rule."""
    only_for: str = ""
    """The only framework that this affects. Such an error is a warning if another framework can train."""
    title: str = ""
    """Set if the rule's title says too little about this occurrence: a phrase without full stop."""
    subject: Subject | None = None
    """Set if a rule about the machine found it for one GPU, or one about the environment for one framework."""
    domain: Domain | None = None
    """Set if this occurrence is not in the rule's domain."""


Problems = Iterator[Problem]
"""What the body of a rule returns."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A problem, stamped by the engine."""

    id: str
    """Unique within a diagnosis: the code and the subject."""
    code: str
    name: str
    subject: Subject
    severity: Severity
    confidence: Confidence
    title: str
    message: str
    breaks: Rung
    impact: Impact
    evidence: tuple[Evidence, ...] = ()
    fixes: tuple[Fix, ...] = ()
    because_of: tuple[str, ...] = ()
    """Ids of the findings that explain this one; empty for a root cause."""
    action: Action
    """What its first fix comes to."""
    domain: Domain
    """Where the fault lies."""


class OutcomeKind(str, enum.Enum):
    """What happened to one rule for one subject."""

    FOUND = "found"
    PASSED = "passed"
    NOT_APPLICABLE = "not-applicable"
    COULD_NOT_TELL = "could-not-tell"
    NOT_ASKED = "not-asked"
    CRASHED = "crashed"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to one rule for one subject, and why if that is not obvious."""

    code: str
    name: str
    subject: Subject
    kind: OutcomeKind
    reason: str = ""
    cause: str = ""
    """Of what was not checked: a word of Cause, why the fact is missing."""
    because_of: tuple[str, ...] = ()
    """Ids of findings that explain why this was not checked."""


class Unchecked(msgspec.Struct, frozen=True):
    """Something that affects the answer and that nothing could check. A machine with one is never ready."""

    subject: Subject
    what: str
    """Its name and version as the user would write them: "tensroflow 2.16.1", "libraries of torch 2.9.0"."""
    reason: str
    """A clause: "no table lists this package"."""
    plural: bool = False
    """Whether `what` are several things."""
    package: str = ""
    """The distribution that it is about; empty for none or several."""


class Verdict(str, enum.Enum):
    """The answer to "can this environment train on this GPU?"."""

    READY = "ready"
    DEGRADED = "degraded"
    UNKNOWN = "unknown"
    BROKEN = "broken"


class RungState(str, enum.Enum):
    """What was seen of one rung on one GPU."""

    PROVEN = "proven"
    FAILED = "failed"  # it was tried and did not work
    NOT_SHOWN = "not shown"  # no evidence either way
    NOT_ASKED = "not asked"
    MASKED = "masked"  # the environment hides this GPU from CUDA programs
    NOT_APPLICABLE = "not applicable"


class Step(msgspec.Struct, frozen=True):
    """One rung of one GPU's ladder."""

    rung: Rung
    state: RungState
    detail: str = ""


class LadderRow(msgspec.Struct, frozen=True):
    """The rungs of one GPU, lowest first."""

    subject: Subject
    index: int | None
    """NVML's index, which nvidia-smi shows; None if NVML does not list the GPU."""
    model: str
    """The product's name; empty if unknown."""
    steps: tuple[Step, ...]


class ProvedTo(msgspec.Struct, frozen=True):
    """The scope of the answer: the highest rung reached, and by how many GPUs."""

    rung: Rung | None
    gpus: int
    of: int
    text: str


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked of a diagnosis."""

    level: Level | None = Level.TRAIN
    """None: no rung must be reached (diagnose, compat)."""
    node: bool = False
    """Check only the machine: driver, NVML and CUDA, without a Python environment and its frameworks."""
    allow_cpu: bool = False
    """A machine without NVIDIA hardware may train on its CPU."""
    only: tuple[str, ...] = ()
    """Codes or names of the rules to run; empty: all."""
    skip: tuple[str, ...] = ()
    """Codes or names of rules to leave out."""
    reasons: dict[str, str] = {}
    """The user's reason for each entry of `skip`, if given."""
    require: tuple[str, ...] = ()
    """Additional requirements: "driver>=550", "gpus==8", "torch>=2.4"."""
    frameworks: tuple[str, ...] = ()
    """The frameworks to train with; empty: all installed."""
    fail_on: Severity = Severity.ERROR
    """WARNING makes a degraded verdict exit with 1."""


class Skipped(msgspec.Struct, frozen=True):
    """A rule that the user left out, and the reason if given."""

    code: str
    name: str
    reason: str


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Everything concluded from one snapshot."""

    verdict: Verdict
    exit_code: int
    proved_to: ProvedTo
    findings: tuple[Finding, ...]
    """Root causes first, by severity, confidence, lowest rung and code."""
    outcomes: tuple[Outcome, ...]
    """One for each rule and subject."""
    ladder: tuple[LadderRow, ...]
    unproven: tuple[str, ...] = ()
    """For the verdict unknown: which required rungs were not shown, and why, each a clause."""
    skipped: tuple[Skipped, ...] = ()
    """The rules that --skip left out."""
    unchecked: tuple[Unchecked, ...] = ()
    """What affects the answer and was not checked; the verdict is then at best unknown."""
    summary: Summary = Summary()

    @property
    def root_causes(self) -> tuple[Finding, ...]:
        """The findings that no other finding explains."""
        return tuple(finding for finding in self.findings if not finding.because_of)

    @property
    def because(self) -> str:
        """For the verdict unknown: what was not shown, and why, as one sentence."""
        return "; ".join(self.unproven)
