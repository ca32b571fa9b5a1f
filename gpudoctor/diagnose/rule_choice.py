"""Chooses the rules that run, by --only and --skip, and lists those that were skipped and why."""

from __future__ import annotations

from gpudoctor.conditions import parse_condition
from gpudoctor.diagnose.rule import Rule
from gpudoctor.errors import UsageError
from gpudoctor.findings import Policy, Rung, Severity, Skipped
from gpudoctor.suggestions import suggestion

ANY_SUBJECT = "any"


def training_rule_codes(rules: tuple[Rule, ...]) -> tuple[str, ...]:
    """Return the codes of the rules that explain why training fails or why its numbers are low: no notes and no other warnings."""
    return tuple(
        rule.code
        for rule in rules
        if rule.severity is Severity.ERROR or (rule.severity is Severity.WARNING and rule.breaks < Rung.TRAINED) or rule.of_training
    )


def choose_rules(rules: tuple[Rule, ...], policy: Policy) -> tuple[Rule, ...]:
    """Return the rules named by `only` (all if it is empty) without those named by `skip`, in the order of `rules`.

    A rule is named by its code, its name, or the start of its code ("GD2" is a family). Raises UsageError if a name fits no rule, if
    no rule is left, and if something is required and a rule that checks it is left out.
    """
    wanted = (_rules_named(rules, policy.only) if policy.only else set(rules)) - _rules_named(rules, policy.skip)
    chosen = tuple(rule for rule in rules if rule in wanted)
    if not chosen:
        raise UsageError("--only and --skip leave no rule to run; `gpudoctor rules` lists them.")
    if policy.require:
        _refuse_dropped_rules(rules, chosen, policy.require)
    return chosen


def _refuse_dropped_rules(rules: tuple[Rule, ...], chosen: tuple[Rule, ...], require: tuple[str, ...]) -> None:
    subjects = {ANY_SUBJECT, *(parse_condition(text).subject for text in require)}
    gone = [rule for rule in rules if rule.checks_required in subjects and rule not in chosen]
    if gone:
        names = ", ".join(f"{rule.code} {rule.name}" for rule in gone)
        raise UsageError(f"--only or --skip leaves out {names}, which --require needs; drop --require, or keep the rule.")


def skipped_rules(rules: tuple[Rule, ...], policy: Policy) -> tuple[Skipped, ...]:
    """The rules that would run without `skip`, with the reason that was given for each. `choose_rules` has seen to the names."""
    wanted = _rules_named(rules, policy.only) if policy.only else set(rules)
    reasons: dict[Rule, str] = {}
    for name in policy.skip:
        for rule in _rules_named(rules, (name,)) & wanted:
            reasons[rule] = policy.reasons.get(name, "") or reasons.get(rule, "")
    return tuple(Skipped(rule.code, rule.name, reasons[rule]) for rule in rules if rule in reasons)


def _rules_named(rules: tuple[Rule, ...], names: tuple[str, ...]) -> set[Rule]:
    named: set[Rule] = set()
    for name in names:
        fitting = {rule for rule in rules if rule.name == name.lower() or _is_code_prefix(name.upper(), rule.code)}
        if not fitting:
            known = [word for rule in rules for word in (rule.name, rule.code)]
            raise UsageError(f"No rule is called {name!r}; {suggestion(name, known, '`gpudoctor rules` lists them.')}")
        named |= fitting
    return named


def _is_code_prefix(name: str, code: str) -> bool:
    return len(name) > len("GD") and code.startswith(name)
