"""Which rules run: all, or those that --only and --skip leave."""

from __future__ import annotations

from gpudoctor.diagnose.rule import Rule
from gpudoctor.errors import UsageError


def choose(rules: tuple[Rule, ...], only: tuple[str, ...], skip: tuple[str, ...]) -> tuple[Rule, ...]:
    """The rules named by `only` (all where it is empty) without those named by `skip`, in the order of `rules`.

    A rule is named by its code, its name, or the beginning of its code ("GD2" is a family). Raises UsageError for a name that fits
    no rule, and where nothing is left.
    """
    wanted = _named(rules, only) if only else set(rules)
    chosen = tuple(rule for rule in rules if rule in wanted - _named(rules, skip))
    if not chosen:
        raise UsageError("--only and --skip leave no rule to run; `gpudoctor rules` lists them.")
    return chosen


def _named(rules: tuple[Rule, ...], names: tuple[str, ...]) -> set[Rule]:
    named: set[Rule] = set()
    for name in names:
        fitting = {rule for rule in rules if rule.name == name.lower() or _is_code_of(name.upper(), rule.code)}
        if not fitting:
            raise UsageError(f"No rule is called {name!r}; `gpudoctor rules` lists them.")
        named |= fitting
    return named


def _is_code_of(name: str, code: str) -> bool:
    return len(name) > len("GD") and code.startswith(name)
