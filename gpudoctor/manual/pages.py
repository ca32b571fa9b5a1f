"""The document gpudoctor.rules/1 of an answer or of rules, for programs."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.diagnose.rule import Rule
from gpudoctor.manual import families
from gpudoctor.manual.answer import ManualAnswer
from gpudoctor.report.build import TOOL, rule_url
from gpudoctor.report.document import ExitCodePage, RulePage, RulesDocument
from gpudoctor.rule_pages import read_rule_page


def document_of_answer(answer: ManualAnswer) -> RulesDocument:
    """Return what was found, the best match first."""
    codes = tuple(ExitCodePage(codes=code.codes, meaning=code.meaning, action=code.action) for code in answer.codes)
    rules = tuple(map(_rule_page, answer.rules + answer.also))
    return RulesDocument(tool=TOOL, rules=rules, meaning=answer.meaning, exit_codes=codes, guide=answer.guide)


def document_of_rules(rules: Iterable[Rule]) -> RulesDocument:
    """Return the pages of rules."""
    return RulesDocument(tool=TOOL, rules=tuple(map(_rule_page, rules)))


def _rule_page(rule: Rule) -> RulePage:
    return RulePage(
        code=rule.code,
        name=rule.name,
        severity=rule.severity.value,
        breaks=rule.breaks.value,
        since=rule.since,
        family=families.family_name(rule),
        domain=rule.lies_in.value,
        title=rule.title,
        doc=read_rule_page(rule).partition("\n\n")[2],
        url=rule_url(rule.name),
    )
