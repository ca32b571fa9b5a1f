"""What the rules' pages say to type to check for a cause by hand, as data."""

from __future__ import annotations

import json
import re
from pathlib import Path

from gpudoctor import rule_pages
from gpudoctor.diagnose.advice.by_hand import framework_key, only_framework_named
from gpudoctor.diagnose.rules import RULES

_FILE = "gpudoctor/diagnose/advice/by_hand.json"
_CONSOLE = re.compile(r"^ *```console\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_TYPED = re.compile(r"^ *\$ (.*?)(?: {2,}#.*)?$", re.MULTILINE)
_EXAMPLE = re.compile(r"/opt/|/home/|\b[0-9a-f]{2}:00\.\d|0000:|-i \d\b|\bnvidia/cusolver/|libcublas")
"""Values of the machine that a page shows."""


def generated(root: Path) -> dict[Path, str]:
    """Return the file that holds each page's first command that fits any machine, and those for other frameworks than the first is about."""
    found = {name: command for rule in RULES for name, command in _checks(rule.name, rule_pages.read_rule_page(rule)).items()}
    return {root / _FILE: f"{json.dumps(found, indent=0, ensure_ascii=False)}\n"}


def _checks(cause: str, page: str) -> dict[str, str]:
    section = page.split("\n## Check by hand\n", 1)[1].split("\n## ", 1)[0]
    typed = [command for block in _CONSOLE.findall(section) for command in _TYPED.findall(block)]
    commands = [command for command in typed if not _EXAMPLE.search(command)]
    if not commands or not (first := only_framework_named(commands[0])):
        return {cause: commands[0]} if commands else {}
    others = {
        framework_key(cause, named): command
        for command in reversed(commands)
        if (named := only_framework_named(command)) and named != first
    }
    return {cause: commands[0], **others}
