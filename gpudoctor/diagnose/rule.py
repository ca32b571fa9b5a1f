"""A rule: a documented generator of problems, whose parameters say what it needs to know."""

from __future__ import annotations

import enum
import functools
import inspect
from collections.abc import Callable, Iterator

import msgspec

from gpudoctor.derive import EnvironmentView, FrameworkView, GpuView, MachineView
from gpudoctor.derive.unknown import CouldNotTell, NotApplicable, known, not_applicable
from gpudoctor.findings import Level, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Missing

__all__ = ["CouldNotTell", "NotApplicable", "need", "not_applicable"]
Body = Callable[..., Iterator[Problem]]
View = MachineView | GpuView | EnvironmentView | FrameworkView
_SUBJECT_OF = {
    "MachineView": SubjectKind.MACHINE,
    "GpuView": SubjectKind.GPU,
    "EnvironmentView": SubjectKind.ENVIRONMENT,
    "FrameworkView": SubjectKind.FRAMEWORK,
}


def view_kind(body: Body) -> SubjectKind | None:
    """The subject of a rule, by the one view that it takes."""
    view, *more = (hint for name, hint in body.__annotations__.items() if name != "return")
    return None if more else _SUBJECT_OF.get(view)


need = known


class Join(str, enum.Enum):
    """What cause and consequence must share."""

    GPU = "same GPU"
    FRAMEWORK = "same framework"
    MACHINE = "machine"


class Explains(msgspec.Struct, frozen=True):
    """What follows from a rule's finding: the rules named in `effects`, and why they do."""

    effects: tuple[str, ...]
    because: str
    join: Join = Join.MACHINE


class Parameter(msgspec.Struct, frozen=True):
    """One thing that a rule asks for, by type."""

    name: str
    type: type
    optional: bool
    """Typed `X | Missing` or `X | None`: the rule handles the absence itself."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule and its documentation."""

    code: str
    name: str
    severity: Severity
    breaks: Rung
    """The rung that cannot be reached while this is true."""
    since: str
    about: SubjectKind
    body: Body
    by_view: bool
    predicts: bool
    """It infers that `breaks` will fail; where that was proven to work, the finding is only worth knowing."""
    on_cpu_too: bool = False
    """What it predicts would fail on the CPU as well, so training on the CPU disproves it."""
    explains: tuple[Explains, ...] = ()
    """What follows from it."""
    seen_at: Level = Level.LOOK
    """The first level at which the fault shows: the one that its verify command asks for."""
    of_training: bool = False
    """It says why a training run fails, or why its numbers are what they are."""
    sees_more_at: Level = Level.LOOK
    """The level at which more evidence of it shows, where a check went that far."""
    checks_required: str = ""
    """Which subject of `--require` it checks: "any", one by name, or none."""

    @property
    def doc(self) -> str:
        """The rule's page, in Markdown."""
        return inspect.cleandoc(self.body.__doc__ or "")

    @property
    def title(self) -> str:
        """The page's first line, without the full stop."""
        return self.doc.partition("\n")[0].rstrip(".")


def rule(
    code: str,
    *,
    severity: Severity,
    breaks: Rung,
    since: str,
    about: SubjectKind | None = None,
    predicts: bool = True,
    on_cpu_too: bool = False,
    explains: tuple[Explains, ...] = (),
    seen_at: Level = Level.LOOK,
    of_training: bool = False,
    sees_more_at: Level = Level.LOOK,
    checks_required: str = "",
) -> Callable[[Body], Rule]:
    """Make a rule of a generator function; its name in kebab case is the rule's name, its docstring the rule's page."""

    def made(body: Body) -> Rule:
        name = body.__name__.replace("_", "-")
        return Rule(
            code=code,
            name=name,
            severity=severity,
            breaks=breaks,
            since=since,
            about=about or view_kind(body) or SubjectKind.MACHINE,
            by_view=about is None and view_kind(body) is not None,
            body=body,
            predicts=predicts,
            on_cpu_too=on_cpu_too,
            explains=explains,
            seen_at=seen_at,
            of_training=of_training,
            sees_more_at=sees_more_at,
            checks_required=checks_required,
        )

    return made


@functools.cache
def parameters(body: Body) -> tuple[Parameter, ...]:
    """What a rule's body asks for, from its annotations."""
    return tuple(_parameter(name, _kinds(body, hint)) for name, hint in body.__annotations__.items() if name != "return")


def _kinds(body: Body, hint: str) -> list[type]:
    """The types in an annotation such as "Nvml | Missing"; typing.get_type_hints would compile each of them, a quarter of a millisecond a rule."""
    names = body.__globals__
    return [type(None) if part.strip() == "None" else names[part.strip()] for part in hint.split("|")]


def _parameter(name: str, kinds: list[type]) -> Parameter:
    wanted = [kind for kind in kinds if kind not in {Missing, type(None)}]
    return Parameter(name, wanted[0], optional=len(wanted) < len(kinds))
