from __future__ import annotations

import re

from gpudoctor import rule_pages
from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rules import RULES
from gpudoctor.report.drawing import drawn_markdown
from tests.seams.every import every

COLOUR = re.compile(r"\x1b\[[\d;]*m")


@every("rule", RULES)
def test_a_narrow_terminal_shows_each_command_of_a_page_whole(rule: Rule) -> None:
    page = rule_pages.read_rule_page(rule)
    shown = [line.strip() for line in COLOUR.sub("", drawn_markdown(page, 80)).splitlines()]
    commands = [line for block in re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL) for line in block.splitlines()]
    assert not [command for command in commands if command.strip() not in shown]
