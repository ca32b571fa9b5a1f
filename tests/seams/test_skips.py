"""An unforeseen skip is a failure in CI, and a skip elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.seams import SeamUnavailable
from tests.seams.debian import sources_for

ROOT = Path(__file__).parents[2]
CASES = """
import pytest

def test_known(): pytest.skip("needs a GPU of some kind")
def test_unknown(): pytest.skip("needs the moon")
@pytest.mark.skip(reason="needs the sun")
def test_marked(): pass
@pytest.mark.xfail(strict=True)
def test_expected(): assert False
"""


@pytest.mark.parametrize(
    ("ci", "outcome"), [("true", "1 failed, 1 skipped, 1 xfailed, 1 error"), ("", "3 skipped, 1 xfailed"), ("0", "3 skipped, 1 xfailed")]
)
def test_a_skip_in_ci(tmp_path: Path, ci: str, outcome: str) -> None:
    (tmp_path / "test_cases.py").write_text(CASES)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.seams.skips", "-p", "no:cacheprovider", "."]
    environment = os.environ | {"CI": ci, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert outcome in done.stdout, done.stdout + done.stderr
    assert done.returncode == (1 if ci == "true" else 0)
    assert ("CI knows no such skip: Skipped: needs the moon" in done.stdout) is (ci == "true")


def test_a_whole_file_skipped_in_ci(tmp_path: Path) -> None:
    (tmp_path / "test_cases.py").write_text("import pytest\npytest.skip('needs the moon', allow_module_level=True)\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.seams.skips", "-p", "no:cacheprovider", "test_cases.py"]
    environment = os.environ | {"CI": "true", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert "needs the moon" in done.stdout
    assert "1 error" in done.stdout, done.stdout
    assert done.returncode == 2


ONE_LINE = (
    "deb [arch=amd64 signed-by=/k.gpg] http://mirror.invalid/debian {own} main  # ours\ndeb-src http://mirror.invalid/debian {own} main\n"
)
STANZAS = """# ours
Types: deb
URIs: http://mirror.invalid/debian
Suites: {own} {own}-updates
Components: main
Signed-By: /k.gpg

Types: deb
URIs: http://elsewhere.invalid/
Suites: nodistro
Components: main
"""


@pytest.mark.debian
def test_sources_follow_the_machine(tmp_path: Path) -> None:
    try:
        sources_for("trixie")
    except SeamUnavailable as reason:
        pytest.skip(str(reason))
    own = next(line.partition("=")[2] for line in Path("/etc/os-release").read_text().splitlines() if line.startswith("VERSION_CODENAME="))
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text(ONE_LINE.format(own=own))
    one = "Types: deb\nURIs: http://mirror.invalid/debian\nSuites: trixie\nComponents: non-free\nSigned-By: /k.gpg\n"
    assert sources_for("trixie", tmp_path) == one
    (tmp_path / "sources.list").unlink()
    (tmp_path / "sources.list.d" / "debian.sources").write_text(STANZAS.format(own=own))
    assert sources_for("trixie", tmp_path) == f"{one}\n{one.replace('Suites: trixie', 'Suites: trixie-updates')}"
    (tmp_path / "sources.list.d" / "debian.sources").write_text("")
    with pytest.raises(SeamUnavailable, match="no source for"):
        sources_for("trixie", tmp_path)
