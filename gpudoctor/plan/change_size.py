"""How much a way to fix a finding changes, to prescribe the smallest change first."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.derive.nearness import nearness_order
from gpudoctor.derive.specifiers import Requirement, only_version, parse_requirements, satisfies
from gpudoctor.findings import Fix
from gpudoctor.plan.model import Combination

_AS_STATED, _SAME_SERIES, _OTHER_SERIES = range(3)


def size_of_change(fixes: Iterable[Fix], before: Combination, after: Combination) -> tuple[int, ...]:
    """Return a sort key, smallest first: a Python that the files exclude, packages left out, another Python, releases of another series, other changed releases."""
    stated, wanted = _requirements_by_name(before), _requirements_by_name(after)
    distances = [_release_distance(one, wanted[name]) for name, one in stated.items() if name in wanted]
    pythons = {fix.python for fix in fixes if fix.python}
    excluded = before.pythons is not None and not pythons <= set(before.pythons.versions)
    return (
        excluded,
        len(stated.keys() - wanted.keys()),
        bool(pythons),
        distances.count(_OTHER_SERIES),
        len(distances) - distances.count(_AS_STATED),
    )


def _release_distance(stated: Requirement, wanted: Requirement) -> int:
    release, pin = only_version(wanted.specifier), only_version(stated.specifier)
    if release is None or satisfies(release, stated.specifier) is not False:
        return _AS_STATED
    return _SAME_SERIES if pin is not None and nearness_order(release, pin)[0] == 0 else _OTHER_SERIES


def _requirements_by_name(combination: Combination) -> dict[str, Requirement]:
    return {wanted.name: wanted for wanted in parse_requirements(combination.requirements)}
