"""The combination that is left when fixes have been applied to an assumed one."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gpudoctor.derive.specifiers import parse_requirements
from gpudoctor.findings import COMPAT_PACKAGE, Fix, FixKind
from gpudoctor.plan.model import Combination

_STATED_FIELDS = ("driver", "python", "os", "libc", "system_cuda", "system_cudnn")
"""What a fix and a combination state under the same name."""


def ways_to_fix(fixes: Iterable[Fix]) -> list[tuple[Fix, ...]]:
    """Return the ways to fix a finding, best first: the steps together, then each alternative."""
    steps = tuple(fix for fix in fixes if fix.kind is FixKind.FIX)
    found: list[tuple[Fix, ...]] = [(fix,) for fix in fixes if fix.kind in {FixKind.INSTEAD, FixKind.ELSE}]
    return [steps, *found] if steps else found


def is_change(fix: Fix) -> bool:
    """Return whether a fix is more than a sentence."""
    return bool(fix.installs or fix.removes or fix.kernel_module or any(getattr(fix, name) for name in _STATED_FIELDS))


def combination_after(combination: Combination, fixes: Iterable[Fix]) -> Combination:
    """Return the combination after these fixes; the same one if they are only sentences."""
    for fix in fixes:
        stated = {wanted.name: wanted.text for wanted in parse_requirements(combination.requirements) if wanted.name not in fix.removes}
        new = {wanted.name: wanted.text for wanted in parse_requirements(fix.installs) if (wanted.specifier or wanted.name not in stated)}
        combination = msgspec.structs.replace(
            combination,
            requirements=tuple((stated | new).values()),
            builds={name: build for name, build in combination.builds.items() if name not in new},
            pythons=None if fix.python else combination.pythons,
            kernel_module=(fix.kernel_module or combination.kernel_module) if combination.kernel_module else None,
            cuda_compat=None if COMPAT_PACKAGE in fix.removes else combination.cuda_compat,
            **{name: getattr(fix, name) or getattr(combination, name) for name in _STATED_FIELDS},
        )
    return combination
