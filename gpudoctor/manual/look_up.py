"""Finds what `gpudoctor explain` shows for a name, a number or a pasted log line: rule pages, exit codes, meanings of NVIDIA's numbers."""

from __future__ import annotations

import re

from gpudoctor.diagnose.rules import RULES
from gpudoctor.errors import UsageError
from gpudoctor.manual.answer import ManualAnswer
from gpudoctor.manual.error_numbers import explain_cuda_error, explain_number, explain_xids
from gpudoctor.manual.exit_code_pages import explain_exit_code
from gpudoctor.manual.guides import explain_guide
from gpudoctor.manual.log_lines import explain_log
from gpudoctor.manual.page_search import rules_matching, rules_quoting
from gpudoctor.matrix import Matrix
from gpudoctor.suggestions import suggestion

_RULE_NAME = re.compile(r"[a-z0-9]{1,40}([-_][a-z0-9]{1,40}){1,12}")
"""A text that was meant as a rule's name."""


def look_up(text: str, matrix: Matrix) -> ManualAnswer:
    """Return what explains `text`: the rule of this code or name, an exit code, else what NVIDIA's numbers, known log lines or words find.

    Raises UsageError, with what to try instead, if nothing does.
    """
    answer = (
        _answer_for_rule(text)
        or explain_guide(text)
        or explain_exit_code(text)
        or explain_number(text, matrix)
        or explain_cuda_error(text)
        or _answer_for_line(text, matrix)
    )
    return answer or _answer_by_words(text)


def _answer_for_line(text: str, matrix: Matrix) -> ManualAnswer:
    """Return what a pasted line means: by its Xids, by the known log lines, by the symptoms on the pages."""
    signs, quoted = explain_xids(text, matrix) + explain_log(text), rules_quoting(text, RULES)
    if signs.rules:
        return signs + ManualAnswer(also=quoted)
    return (
        signs if text.isidentifier() else ManualAnswer(signs.meaning, quoted)
    )  # a variable's name is on many pages; the words of titles rank them


def _answer_for_rule(text: str) -> ManualAnswer:
    name = "-".join(text.casefold().replace("_", " ").split())
    return ManualAnswer(rules=tuple(rule for rule in RULES if name in {rule.name, rule.code.casefold()}))


def _answer_by_words(text: str) -> ManualAnswer:
    near = suggestion(text, [rule.name for rule in RULES], "")
    if near and _RULE_NAME.fullmatch(text):
        raise UsageError(f"No rule is called {text!r}; {near}")
    found = rules_matching(text, RULES)
    if found:
        return ManualAnswer(rules=found)
    hint = near or "`gpudoctor rules` lists the rules, and `gpudoctor check` finds what is wrong on this machine."
    raise UsageError(f"No page explains {text!r}; {hint}")
