"""scripts/new_rule, in a copy of the clone: its skeleton is clean, is a rule at once, and its test asks for a machine."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.diagnose.rules import RULES
from tests.scripts.programs import ROOT

RULE, TEST = "gpudoctor/diagnose/rules/hardware/", "tests/diagnose/rules/hardware/test_"
SUBJECTS = ("machine", "gpu", "environment", "framework")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of what new_rule reads and writes, and of what a rule's tests import."""
    for folder in ("gpudoctor", "compat", "scripts"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests").mkdir()
    for folder in ("diagnose", "machines", "seams"):
        shutil.copytree(ROOT / "tests" / folder, tmp_path / "tests" / folder, ignore=shutil.ignore_patterns("__pycache__", "*.json"))
    for file in ("pyproject.toml", "tests/__init__.py", "tests/builders.py", "tests/shipped.py"):
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def run(copy: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], cwd=copy, capture_output=True, text=True, timeout=120, check=False)


def new_rule(copy: Path, name: str = "gpu-on-fire", code: str = "GD1xx", subject: str = "gpu") -> subprocess.CompletedProcess[str]:
    return run(copy, "scripts/new_rule", name, "--code", code, "--severity", "warning", "--subject", subject)


def run_pytest(copy: Path, *paths: str) -> subprocess.CompletedProcess[str]:
    return run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *paths)


def test_the_skeletons_of_all_subjects_are_clean(copy: Path) -> None:
    for subject in SUBJECTS:
        done = new_rule(copy, f"{subject}-on-fire", subject=subject)
        assert done.returncode == 0, done.stderr
    files = [f"{folder}{subject}_on_fire.py" for subject in SUBJECTS for folder in (RULE, TEST)]
    assert run(copy, "-m", "ruff", "check", *files, "gpudoctor/diagnose/rules/__init__.py").stdout.strip() == "All checks passed!"
    assert run(copy, "-m", "ruff", "format", "--check", *files, "gpudoctor/diagnose/rules/__init__.py").returncode == 0
    typed = run(copy, "-m", "mypy", "--cache-dir", str(ROOT / ".mypy_cache"), *files)
    assert typed.returncode == 0, typed.stdout


def test_a_skeleton_finds_nothing_and_its_test_asks_for_a_machine(copy: Path) -> None:
    told = new_rule(copy).stdout
    code = next(line.split()[0] for line in told.splitlines() if "gpu-on-fire" in line)
    assert code == f"GD{1 + max(int(rule.code[2:]) for rule in RULES if rule.code.startswith('GD1'))}"
    assert f"{TEST}gpu_on_fire.py" in told
    done = run_pytest(copy, f"{TEST}gpu_on_fire.py")
    assert "describe a machine with it in tests/machines/recipes/" in done.stdout
    assert "1 failed, 2 passed" in done.stdout
    pages = run_pytest(copy, "tests/diagnose/test_pages.py", "-k", "test_a_page").stdout
    assert set(re.findall(r"^SUBFAILED\[(.*?)\]", pages, re.MULTILINE)) == {"gpu-on-fire"}
    assert len(re.findall(r"^SUBFAILED", pages, re.MULTILINE)) == 2, pages


def test_a_filled_in_rule_with_a_machine_passes_its_test(copy: Path) -> None:
    new_rule(copy, "docker-socket-open", "GD3xx", "machine")
    rule = copy / "gpudoctor/diagnose/rules/platform/docker_socket_open.py"
    rule.write_text(rule.read_text().replace("machine is None", '"DOCKER" in machine.variables.values').replace("FILL IN: ", ""))
    with (copy / "tests/machines/findings.txt").open("a") as findings:
        findings.write("\n== socket-open\nGD399 docker-socket-open (warning, certain, none) of machine\n")
    done = run_pytest(copy, "tests/diagnose/rules/platform/test_docker_socket_open.py")
    assert "3 passed" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("driver-too-old", "GD2xx", "there is a rule driver-too-old already"),
        ("DriverTooOld", "GD2xx", "DriverTooOld is not a rule name"),
        ("gpu-on-fire", "GD203", "GD203 is the code of driver-too-old; codes are never reused"),
        ("gpu-on-fire", "GD2", "GD2 is not a code"),
        ("gpu-on-fire", "GD0xx", "GD0xx is not a code"),
    ],
)
def test_a_refusal_changes_nothing(copy: Path, name: str, code: str, said: str) -> None:
    registry = copy / "gpudoctor/diagnose/rules/__init__.py"
    before = registry.read_text()
    done = new_rule(copy, name, code)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert registry.read_text() == before


def test_a_rule_is_registered_in_the_order_of_codes(copy: Path) -> None:
    codes = {rule.code for rule in RULES}
    free = next(code for number in range(201, 299) if (code := f"GD{number}") not in codes)
    assert new_rule(copy, code=free, subject="machine").returncode == 0
    listed = run(copy, "-c", "from gpudoctor.diagnose.rules import RULES; print(*(rule.code for rule in RULES))").stdout.split()
    assert listed == sorted({*codes, free})
