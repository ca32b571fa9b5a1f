"""What a release leaves open and an installer may therefore choose today, although the release does not run with it."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.derive.packages import Stack
from gpudoctor.derive.specifiers import clauses, satisfies


def can_be_chosen(stack: Stack, name: str, specifier: str) -> bool:
    """Return whether an installer may choose such a version of a package that is required and not stated; False without a stated Python."""
    asked = stack.supposed and stack.python and name not in stack.distributions and name not in stack.bounds
    if not asked or all(demand.requirement.name != name for demand in stack.demands) or stack.excludes(name, specifier):
        return False
    spans = stack.matrix.pythons(name)
    here = spans.get(stack.python.removesuffix("t"))
    newest = here is not None and (here.last is None or satisfies(str(here.last), specifier) is True)
    return newest or not spans


def upper_bound(requires: Iterable[str], name: str) -> str:
    """Return the upper bounds among requirements on a package, as a specifier; empty if there are none."""
    own = (
        text.partition(";")[0].removeprefix(name)
        for text in requires
        if text.partition(";")[0].startswith((f"{name}<", f"{name}>", f"{name}!", f"{name}~"))
    )
    return ",".join(f"{operator}{version}" for text in own for operator, version in clauses(text) or () if operator in {"<", "<="})
