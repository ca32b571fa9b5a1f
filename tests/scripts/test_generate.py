"""The text that scripts/generate writes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.diagnose import RULES
from gpudoctor.report.build import url
from scripts.generated import rule_pages
from tests.scripts.programs import ROOT, SCRIPTS


def generate(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, SCRIPTS / "generate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_generated_text_that_is_out_of_date_is_told_and_written_anew(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    text = (ROOT / "README.md").read_text()
    assert text.count("| `--node` |") > 0
    readme.write_text(text.replace("| `--node` |", "| `--nodes` |"))
    assert generate("--check", readme).returncode == 1
    assert generate(readme).returncode == 0
    assert readme.read_text() == text
    assert generate("--check", readme).returncode == 0


def test_a_lost_marker_is_told(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text((ROOT / "README.md").read_text().replace("scripts/generate: check-options -->", "scripts/generate: check-option -->"))
    done = generate(readme)
    assert (done.returncode, "the markers name" in done.stderr) == (2, True)


RULE = next(rule for rule in RULES if rule.name == "driver-too-old")
PAGE = "# GD000 another-name\n\nAn old title.\n\n## Why\n\nBecause.\n\n## Fix\n\n<!-- common: reboot -->\nstale\n<!-- end -->\n"


def test_a_page_gets_its_head_its_logged_lines_and_what_pages_share() -> None:
    page = rule_pages.filled(RULE, PAGE, {"reboot": "Reboot.\n"})
    assert page.startswith(f"# GD203 driver-too-old\n\n{RULE.title}.\n")
    assert "## Symptoms\n" in page
    assert "- `CUDA driver version is insufficient for CUDA runtime version`\n" in page
    assert "## Why\n\nBecause." in page
    assert "<!-- common: reboot -->\nReboot.\n<!-- end -->" in page
    assert rule_pages.filled(RULE, page, {"reboot": "Reboot.\n"}) == page


def test_logged_lines_that_a_rule_no_longer_has_go() -> None:
    page = rule_pages.filled(RULE, PAGE, {"reboot": "Reboot.\n"})
    other = next(rule for rule in RULES if not rule_pages.logged(rule))
    assert "insufficient" not in rule_pages.filled(other, page, {"reboot": "Reboot.\n"})


def test_a_page_that_asks_for_a_shared_part_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"common has no reboot\.md"):
        rule_pages.filled(RULE, PAGE, {})


def test_every_link_of_the_table_leads_to_a_page_and_every_finding_to_one() -> None:
    folder = ROOT / rule_pages.RULES_FOLDER
    links = re.findall(r"\]\((\S+\.md)\)", (folder / "README.md").read_text())
    assert [folder / link for link in links if not (folder / link).is_file()] == []
    assert [url(rule).partition("/rules/")[2] for rule in RULES] == links
