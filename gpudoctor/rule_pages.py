"""Reads the page of a rule: the Markdown file beside its module."""

from __future__ import annotations

import re
from importlib.resources import files

from gpudoctor.diagnose.rule import Rule

_MARKERS = re.compile(r"^<!-- .*? -->\n", re.MULTILINE)
"""What scripts/generate finds its blocks by; no reader needs them."""


def read_rule_page(rule: Rule) -> str:
    """Return the page of `rule` in Markdown: its code, title, symptoms, why, how to check by hand, fix and references."""
    package, _, module = rule.body.__module__.rpartition(".")
    return _MARKERS.sub("", files(package).joinpath(f"{module}.md").read_text(encoding="utf-8"))
