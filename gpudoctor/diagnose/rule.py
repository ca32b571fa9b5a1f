"""A rule: a documented generator of problems, whose parameters say what it needs to know."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import NoReturn, TypeVar

import msgspec

from gpudoctor.findings import Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Missing

T = TypeVar("T")
Body = Callable[..., Iterator[Problem]]


class CouldNotTell(Exception):  # noqa: N818 -- an outcome, not an error
    """Ends a rule for a subject: something that it needs is not known."""

    def __init__(self, missing: Missing, rung: Rung | None) -> None:
        super().__init__(missing.reason)
        self.missing = missing
        self.rung = rung


class NotApplicable(Exception):  # noqa: N818 -- an outcome, not an error
    """Ends a rule for a subject: it has nothing to say there."""


def need(value: T | Missing, rung: Rung | None = None) -> T:
    """`value`, or the end of the rule where it is missing.

    `rung` is the layer that would have told: a finding that breaks it, or one below, explains the ignorance.
    """
    if isinstance(value, Missing):
        raise CouldNotTell(value, rung)
    return value


def not_applicable(reason: str) -> NoReturn:
    """End the rule for this subject: it has nothing to say here."""
    raise NotApplicable(reason)


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
    predicts: bool
    """It infers that `breaks` will fail; where that was proven to work, the finding is only worth knowing."""
    on_cpu_too: bool = False
    """What it predicts would fail on the CPU as well, so training on the CPU disproves it."""

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
    about: SubjectKind = SubjectKind.MACHINE,
    predicts: bool = True,
    on_cpu_too: bool = False,
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
            about=about,
            body=body,
            predicts=predicts,
            on_cpu_too=on_cpu_too,
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
