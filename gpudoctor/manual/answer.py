"""What a search in the manual finds."""

from __future__ import annotations

import msgspec

from gpudoctor.diagnose.rule import Rule
from gpudoctor.exit_meanings import ExitCode


class ManualAnswer(msgspec.Struct, frozen=True):
    """Pages, and in sentences what the text itself means; empty if nothing was found."""

    meaning: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    codes: tuple[ExitCode, ...] = ()
    also: tuple[Rule, ...] = ()
    """Rules whose pages quote the text, other than those that it is a sign of."""
    guide: str = ""
    """A page about the use of gpudoctor, in Markdown."""

    def __bool__(self) -> bool:
        return bool(self.meaning or self.rules or self.codes or self.guide)

    def __add__(self, other: ManualAnswer) -> ManualAnswer:
        """Return both answers as one, each page once."""
        rules, also = tuple(dict.fromkeys(self.rules + other.rules)), self.also + other.also
        return ManualAnswer(
            self.meaning + other.meaning, rules, self.codes + other.codes, tuple(rule for rule in also if rule not in rules)
        )
