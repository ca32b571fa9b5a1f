"""Which rules run: all, or those that --only and --skip leave; and which were skipped, for which reason."""

from __future__ import annotations

from gpudoctor.diagnose.rule import Rule
from gpudoctor.errors import UsageError
from gpudoctor.findings import Policy, Rung, Severity, Skipped
from gpudoctor.preflight import parse

ANY = "any"


def of_training(rules: tuple[Rule, ...]) -> tuple[str, ...]:
    """The codes of the rules that tell why a training cannot be, or why its numbers are what they are; notes and other warnings are not."""
    return tuple(
        rule.code
        for rule in rules
        if rule.severity is Severity.ERROR or (rule.severity is Severity.WARNING and rule.breaks < Rung.TRAINED) or rule.of_training
    )


def choose(rules: tuple[Rule, ...], policy: Policy) -> tuple[Rule, ...]:
    """The rules named by `only` (all where it is empty) without those named by `skip`, in the order of `rules`.

    A rule is named by its code, its name, or the beginning of its code ("GD2" is a family). Raises UsageError for a name that fits
    no rule, where nothing is left, and where something is required and a rule that judges it is left out.
    """
    wanted = _rules_named(rules, policy.only) if policy.only else set(rules)
    chosen = tuple(rule for rule in rules if rule in wanted - _rules_named(rules, policy.skip))
    if not chosen:
        raise UsageError("--only and --skip leave no rule to run; `gpudoctor rules` lists them.")
    if policy.require:
        _keep_judges(rules, chosen, policy.require)
    return chosen


def _keep_judges(rules: tuple[Rule, ...], chosen: tuple[Rule, ...], require: tuple[str, ...]) -> None:
    subjects = {ANY, *(parse(text).subject for text in require)}
    gone = [rule for rule in rules if rule.checks_required in subjects and rule not in chosen]
    if gone:
        names = ", ".join(f"{rule.code} {rule.name}" for rule in gone)
        raise UsageError(f"--only or --skip leaves out {names}, which --require needs; give both or neither.")


def skipped(rules: tuple[Rule, ...], policy: Policy) -> tuple[Skipped, ...]:
    """The rules that would run without `skip`, with the reason that was given for each. `choose` has seen to the names."""
    wanted = _rules_named(rules, policy.only) if policy.only else set(rules)
    reasons: dict[Rule, str] = {}
    for name in policy.skip:
        for rule in _rules_named(rules, (name,)) & wanted:
            reasons[rule] = policy.reasons.get(name, "") or reasons.get(rule, "")
    return tuple(Skipped(rule.code, rule.name, reasons[rule]) for rule in rules if rule in reasons)


def _rules_named(rules: tuple[Rule, ...], names: tuple[str, ...]) -> set[Rule]:
    named: set[Rule] = set()
    for name in names:
        fitting = {rule for rule in rules if rule.name == name.lower() or _is_code_of(name.upper(), rule.code)}
        if not fitting:
            raise UsageError(f"No rule is called {name!r}; `gpudoctor rules` lists them.")
        named |= fitting
    return named


def _is_code_of(name: str, code: str) -> bool:
    return len(name) > len("GD") and code.startswith(name)
