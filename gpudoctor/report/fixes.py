"""How fixes are headed and described in every format."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.findings import FixKind
from gpudoctor.findings.wording import joined_words
from gpudoctor.report.groups import GroupedFinding
from gpudoctor.report.model import Fix

LEAD_BY_KIND = {
    FixKind.CHECK.value: "Check",
    FixKind.FIX.value: "Fix",
    FixKind.ELSE.value: "If that fails",
    FixKind.INSTEAD.value: "Or instead",
}
_NEED_WORDS = {"root": "root", "reboot": "a reboot", "download": "a download"}


class FixStep(msgspec.Struct, frozen=True, kw_only=True):
    """A fix as it is shown."""

    lead: str
    title: str
    commands: tuple[str, ...]
    """One for each GPU if they differ."""
    verify: str
    """Empty if the command was shown with a step before."""
    kind: str

    @property
    def line(self) -> str:
        """What to do, with its commands, on one line."""
        return " ".join((f"{self.lead}: {self.title}", *self.commands))


def fix_steps(group: GroupedFinding) -> Iterator[FixStep]:
    """Yield the fixes of findings that say the same."""
    verified, fixed = {""}, False
    for place, fix in enumerate(group.first.fixes):
        again = fixed and fix.kind == FixKind.FIX
        yield FixStep(
            lead="Then" if again else LEAD_BY_KIND.get(fix.kind, "Fix"),
            title=_fix_title(fix).removeprefix("Check "),
            commands=tuple(filter(None, group.commands(place))),
            verify="" if fix.verify in verified else fix.verify,
            kind=fix.kind,
        )
        verified.add(fix.verify)
        fixed |= fix.kind == FixKind.FIX


def _fix_title(fix: Fix) -> str:
    """Return what to do and what it takes, as a sentence that ends with a colon if a command follows."""
    needs = f" (needs {joined_words(_NEED_WORDS.get(need, need) for need in fix.needs)})" if fix.needs else ""
    return f"{fix.title.rstrip('.')}{needs}{':' if fix.command else '.'}"
