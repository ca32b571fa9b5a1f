"""The text that scripts/generate writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from gpudoctor.diagnose import RULES
from tests.scripts.programs import ROOT, SCRIPTS, script


def generate(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, SCRIPTS / "generate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_generated_text_that_is_out_of_date_is_told_and_written_anew(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    text = (ROOT / "README.md").read_text()
    assert text.count("`driver-too-old`") > 0
    readme.write_text(text.replace("`driver-too-old`", "`driver-is-old`"))
    assert generate("--check", readme).returncode == 1
    assert generate(readme).returncode == 0
    assert readme.read_text() == text
    assert generate("--check", readme).returncode == 0


def test_a_lost_marker_is_told(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text((ROOT / "README.md").read_text().replace("scripts/generate: rules -->", "scripts/generate: rule -->"))
    done = generate(readme)
    assert (done.returncode, "the markers name" in done.stderr) == (2, True)


def test_every_rule_has_the_anchor_that_its_findings_link_to() -> None:
    table = script("generate").rules()
    for rule in RULES:
        assert f'<a id="{rule.code.lower()}"></a>{rule.code} | `{rule.name}`' in table
