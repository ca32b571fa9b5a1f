"""What the rules' pages say to type to check for a cause by hand, as data."""

from __future__ import annotations

import json
import re
from pathlib import Path

from gpudoctor import rule_pages
from gpudoctor.diagnose.rules import RULES

_FILE = "gpudoctor/diagnose/advice/by_hand.json"
_CONSOLE = re.compile(r"^ *```console\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_TYPED = re.compile(r"^ *\$ (.*?)(?: {2,}#.*)?$", re.MULTILINE)
_EXAMPLE = re.compile(r"/opt/|/home/|\b[0-9a-f]{2}:00\.\d|0000:|-i \d\b|\bnvidia/cusolver/|libcublas")
"""Values of the machine that a page shows."""


def generated(root: Path) -> dict[Path, str]:
    """Return the file that holds each page's first command that fits any machine."""
    found = {rule.name: _check(rule_pages.read(rule)) for rule in RULES}
    commands = {name: command for name, command in found.items() if command}
    return {root / _FILE: f"{json.dumps(commands, indent=0, ensure_ascii=False)}\n"}


def _check(page: str) -> str:
    section = page.split("\n## Check by hand\n", 1)[1].split("\n## ", 1)[0]
    typed = (command for block in _CONSOLE.findall(section) for command in _TYPED.findall(block))
    return next((command for command in typed if not _EXAMPLE.search(command)), "")
