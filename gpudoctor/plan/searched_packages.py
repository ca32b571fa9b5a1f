"""Which packages a plan searches a release of, and which it leaves to the others."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.derive.specifiers import Requirement, only_version
from gpudoctor.frameworks import framework_of, spec_of
from gpudoctor.matrix import Matrix
from gpudoctor.matrix.tables import TABLE_OF
from gpudoctor.plan.choices import Wishes
from gpudoctor.plan.extras import indirect_frameworks


def searched_packages(wishes: Wishes, matrix: Matrix, *, of_mac: bool = False) -> dict[str, Requirement]:
    """Return the packages whose release is searched for: what needs a framework first, then frameworks.

    What has no GPU code follows from the others, if there are others. `of_mac` adds the plugins for the GPU of a Mac.
    """
    listed = {name: requirement for name, requirement in wishes.requirements.items() if _has_choices(requirement, matrix)}
    stated = {name: requirement for name, requirement in listed.items() if not matrix.without_gpu_code(name)}
    implied = {}
    for name in listed:
        for wanted in _frameworks_of_package(name, matrix):
            if wanted not in stated and not any(framework_of(other) == wanted for other in stated):
                implied[wanted] = Requirement(wanted, wanted, (), "", "")
    if of_mac:
        plugins = dict.fromkeys(spec_of(framework_of(name) or "").metal_plugin for name in (*stated, *implied))
        implied |= {name: Requirement(name, name, (), "", "") for name in plugins if name and name not in stated}
    both = {name: _bounded_requirement(requirement, wishes) for name, requirement in ({**stated, **implied} or listed).items()}
    return dict(sorted(both.items(), key=lambda item: framework_of(item[0]) is not None))


def _has_choices(requirement: Requirement, matrix: Matrix) -> bool:
    """Return whether the tables have releases to choose from. A pin that is older than all of them leaves nothing to choose."""
    rows, pin = matrix.releases(requirement.name), only_version(requirement.specifier)
    if pin is None or framework_of(requirement.name) or not rows:
        return bool(rows)
    pinned = versions.parse_version(pin)
    return pinned is None or pinned >= rows[0].release


def other_requirements(wishes: Wishes, searched: dict[str, Requirement]) -> tuple[str, ...]:
    """Return the other requirements that a rule can check: they have a specifier, or a table of their own."""
    return tuple(
        requirement.text
        for name, requirement in wishes.requirements.items()
        if name not in searched and (requirement.specifier or name in TABLE_OF)
    )


def unlisted_packages(wishes: Wishes, matrix: Matrix) -> tuple[str, ...]:
    """Return the stated packages that no table knows."""
    return tuple(name for name in wishes.requirements if not (matrix.lists(name) or name.startswith("nvidia-") or framework_of(name)))


def _bounded_requirement(requirement: Requirement, wishes: Wishes) -> Requirement:
    specifier = ",".join(filter(None, (requirement.specifier, wishes.bounds.get(requirement.name, ""))))
    return msgspec.structs.replace(requirement, specifier=specifier) if specifier != requirement.specifier else requirement


def _frameworks_of_package(name: str, matrix: Matrix) -> Iterator[str]:
    """Yield the frameworks that the newest release of a package requires, or that a package which it requires does."""
    yield from () if framework_of(name) else indirect_frameworks(name, matrix)
