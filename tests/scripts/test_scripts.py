"""The scripts that people start first: the environments that they make, and what they pass on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.seams import PciCard, Tree, seen_by_child

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("sh", "dirname", "readlink", "cksum", "cat", "rm", "mv", "flock", "sleep")
UV = """#!/bin/sh
# as uv: makes an environment whose python tells its arguments, and notes what it was asked for
echo "$*" >>"$UV_LOG"
case "$*" in
*"${UV_FAILS:-nothing}"*) echo 'no matching distribution' >&2; exit 1 ;;
venv*)
    for folder in "$@"; do :; done
    sleep 0.2
    mkdir -p "$folder/bin"
    printf '#!/bin/sh\\nprintf "%%s\\\\n" "$@" "PYTHON=$GPUDOCTOR_PYTHON"\\n' >"$folder/bin/python"
    chmod +x "$folder/bin/python" ;;
esac
"""


class Clone:
    """A clone with the scripts that make environments, a uv that only records its arguments, and a PATH with nothing else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "a clone"
        shutil.copytree(ROOT / "scripts", self.folder / "scripts")
        shutil.copy(ROOT / "pyproject.toml", self.folder)
        self.bin = folder / "bin"
        self.bin.mkdir()
        for tool in (*TOOLS, "mkdir", "chmod"):
            (self.bin / tool).symlink_to(str(shutil.which(tool)))
        (self.bin / "python3").symlink_to(sys.executable)
        (self.bin / "uv").write_text(UV)
        (self.bin / "uv").chmod(0o755)
        self.log = folder / "log"
        self.environ = {"PATH": str(self.bin), "HOME": str(folder), "UV_LOG": str(self.log)}

    def start(self, script: str, *arguments: str, **environ: str) -> subprocess.Popen[str]:
        command = [str(self.folder / "scripts" / script), *arguments]
        return subprocess.Popen(command, env={**self.environ, **environ}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, script: str, *arguments: str, **environ: str) -> tuple[int, list[str], str]:
        process = self.start(script, *arguments, **environ)
        out, err = process.communicate(timeout=60)
        return process.returncode, out.splitlines(), err

    @property
    def asked(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a GPU, whatever this one has."""
    for name, value in seen_by_child(Tree().build(tmp_path / "bare"), {}).items():
        monkeypatch.setenv(name, value)


def test_the_first_run_makes_the_environment_and_the_second_only_uses_it(clone: Clone) -> None:
    code, out, err = clone.run("gpudoctor", "check", "--only", "two words", GPUDOCTOR_EXTRA="tensorflow")
    environment = clone.folder / ".venv-run"
    assert (code, out) == (0, ["-I", str(environment / "bin" / "gpudoctor"), "check", "--only", "two words", "PYTHON="])
    assert "setting up .venv-run" in err
    assert [line.split()[0] for line in clone.asked] == ["venv", "pip", "pip"]
    assert clone.asked[-1].endswith(f"--editable {clone.folder}[tensorflow]")
    before = clone.asked
    assert clone.run("gpudoctor", "check", GPUDOCTOR_EXTRA="tensorflow")[2] == ""
    assert clone.asked == before


def test_a_changed_pyproject_updates_the_environment_in_place(clone: Clone) -> None:
    clone.run("gpudoctor", GPUDOCTOR_EXTRA="none")
    kept = clone.folder / ".venv-run" / "kept"
    kept.touch()
    with (clone.folder / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    assert clone.run("gpudoctor", GPUDOCTOR_EXTRA="none")[0] == 0
    assert [line.split()[0] for line in clone.asked] == ["venv", "pip", "pip"]
    assert kept.exists()


def test_an_incomplete_environment_is_not_trusted(clone: Clone) -> None:
    code, out, err = clone.run("gpudoctor", "check", GPUDOCTOR_EXTRA="tensorflow", UV_FAILS="[tensorflow]")
    assert (code, out) == (2, [])
    assert "TensorFlow could not be installed" in err
    assert "GPUDOCTOR_EXTRA=none scripts/gpudoctor" in err.splitlines()[-1]
    left = clone.folder / ".venv-run" / "left over"
    left.touch()
    assert clone.run("gpudoctor", "check", GPUDOCTOR_EXTRA="tensorflow")[0] == 0
    assert [line.split()[0] for line in clone.asked] == ["venv", "pip", "pip"] * 2
    assert not left.exists()


def test_a_moved_environment_is_made_again(clone: Clone) -> None:
    clone.run("gpudoctor", GPUDOCTOR_EXTRA="none")
    clone.folder = clone.folder.rename(clone.folder.with_name("elsewhere"))
    assert clone.run("gpudoctor", GPUDOCTOR_EXTRA="none")[0] == 0
    assert [line.split()[0] for line in clone.asked] == ["venv", "pip"] * 2


def test_two_first_runs_at_once_make_one_environment(clone: Clone) -> None:
    both = [clone.start("gpudoctor", "check", GPUDOCTOR_EXTRA="none") for _ in range(2)]
    told = [process.communicate(timeout=60)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert [line.split()[0] for line in clone.asked] == ["venv", "pip"]
    assert sum("waiting for another set-up" in text for text in told) == 1


@pytest.mark.parametrize(
    ("tree", "extra"),
    [
        (Tree(), "tensorflow"),
        (Tree(pci=[PciCard(driver=None)]), "tensorflow-cuda"),
        (Tree(pci=[PciCard(vendor=0x1002)]), "tensorflow"),
        (Tree(pci=[PciCard(pci_class=0x040300)]), "tensorflow"),
        (Tree(platform="wsl"), "tensorflow-cuda"),
        (Tree(kernel_driver="550.163.01"), "tensorflow-cuda"),
    ],
    ids=["nothing", "card without driver", "AMD", "sound of a card", "WSL", "driver"],
)
def test_the_gpu_decides_which_tensorflow(clone: Clone, tmp_path: Path, tree: Tree, extra: str) -> None:
    assert clone.run("gpudoctor", **seen_by_child(tree.build(tmp_path / "root"), {}))[0] == 0
    assert clone.asked[-1].endswith(f"[{extra}]")


def test_an_environment_for_gpus_is_kept_without_a_gpu(clone: Clone) -> None:
    clone.run("gpudoctor", GPUDOCTOR_EXTRA="tensorflow-cuda")
    before = clone.asked
    for extra in ("tensorflow", "none"):
        assert clone.run("gpudoctor", GPUDOCTOR_EXTRA=extra)[0] == 0
    assert clone.asked == before


def test_an_active_virtual_environment_is_passed_on_unless_one_is_named(clone: Clone, tmp_path: Path) -> None:
    active = tmp_path / "active"
    (active / "bin").mkdir(parents=True)
    (active / "bin" / "python").symlink_to(sys.executable)
    run = {"GPUDOCTOR_EXTRA": "none", "VIRTUAL_ENV": str(active)}
    assert clone.run("gpudoctor", **run)[1][-1] == f"PYTHON={active}"
    assert clone.run("gpudoctor", **run, GPUDOCTOR_PYTHON="/named")[1][-1] == "PYTHON=/named"
    assert clone.run("gpudoctor", **{**run, "VIRTUAL_ENV": str(tmp_path / "gone")})[1][-1] == "PYTHON="


def test_missing_python_and_uv_are_one_sentence(clone: Clone) -> None:
    (clone.bin / "uv").unlink()
    (clone.bin / "python3").unlink()
    code, out, err = clone.run("gpudoctor", "check", GPUDOCTOR_EXTRA="none")
    assert (code, out) == (2, [])
    assert "needs Python 3.10 or newer" in err.splitlines()[-1]


def test_an_invalid_python_is_named(clone: Clone) -> None:
    code, _, err = clone.run("gpudoctor", "check", GPUDOCTOR_EXTRA="none", PYTHON="/bin/false")
    assert (code, err.count("PYTHON=/bin/false")) == (2, 1)


def test_an_invalid_extra_is_refused(clone: Clone) -> None:
    assert clone.run("gpudoctor", GPUDOCTOR_EXTRA="torch")[0] == 2
    assert clone.asked == []


def test_tests_run_with_the_coverage_floor_without_arguments(clone: Clone) -> None:
    code, out, _ = clone.run("test")
    assert (code, out[:2], "--cov" in out) == (0, ["-m", "pytest"], True)
    assert clone.asked[-1].endswith("--editable . --group test --group lint")
    assert clone.run("test", "-k", "a and b")[1][:4] == ["-m", "pytest", "-k", "a and b"]
    assert [line.split()[0] for line in clone.asked] == ["venv", "pip"]


def test_the_linters_get_the_programs_and_shell_parts_of_every_folder(clone: Clone) -> None:
    clone.run("test")
    (clone.folder / ".ci").mkdir()
    (clone.bin / "grep").symlink_to(str(shutil.which("grep")))
    (clone.bin / "shellcheck").write_text('#!/bin/sh\necho "shellcheck $*" >>"$UV_LOG"\n')
    for tool in ("ruff", "mypy", "lint-imports", "bandit", "hadolint"):
        (clone.folder / ".venv" / "bin" / tool).write_text(f'#!/bin/sh\necho "{tool} $*" >>"$UV_LOG"\n')
    for program in (clone.bin / "shellcheck", *(clone.folder / ".venv" / "bin").iterdir()):
        program.chmod(0o755)
    code, _, said = clone.run("lint")
    assert code == 0, said
    checked, formatted, shell = (
        next(line for line in clone.asked if line.startswith(tool)).split() for tool in ("ruff check", "ruff format", "shellcheck")
    )
    assert {"scripts/generate", "scripts/bench/startup", "scripts/acceptance/frameworks"} <= set(checked) & set(formatted)
    assert {"scripts/test", "scripts/setup/environment.sh", "scripts/preflight/slurm/health_check"} <= set(shell)
    assert "scripts/generate" not in shell


@pytest.mark.index
@pytest.mark.usefixtures("bare")
def test_a_real_environment_is_made_and_runs_the_clone(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    ignored = shutil.ignore_patterns(".*", "tests", "__pycache__")
    shutil.copytree(ROOT, copy, ignore=ignored)
    environ = {**os.environ, "GPUDOCTOR_EXTRA": "none", "PATH": "/usr/bin:/bin", "PYTHON": getattr(sys, "_base_executable", sys.executable)}
    command: list[str | Path] = [copy / "scripts" / "gpudoctor", "check", "--no-smoke", "--format", "json", "--python", sys.executable]
    done = subprocess.run(command, env=environ, cwd="/", capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["findings"][0]["name"] == "no-gpu"


@pytest.mark.index
def test_the_wheel_contains_the_tables_and_runs(tmp_path: Path) -> None:
    command: list[str | Path] = [sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--wheel-dir", tmp_path, ROOT]
    subprocess.run(command, check=True, capture_output=True, timeout=250)
    with zipfile.ZipFile(next(tmp_path.glob("gpudoctor_cli-*.whl"))) as wheel:
        names = set(wheel.namelist())
        wheel.extractall(tmp_path / "installed")
    assert {f"gpudoctor/compat/{table.name}" for table in (ROOT / "compat").iterdir()} <= names
    assert {f"gpudoctor/{path.relative_to(ROOT / 'gpudoctor')}" for path in (ROOT / "gpudoctor").rglob("*.py")} <= names
    assert {f"gpudoctor/{path.relative_to(ROOT / 'gpudoctor')}" for path in (ROOT / "gpudoctor").rglob("*.md")} <= names
    assert not [name for name in names if name.startswith(("tests", "scripts"))]
    (commands,) = (tmp_path / "installed").glob("gpudoctor_cli-*.dist-info/entry_points.txt")
    assert "gpudoctor = " in commands.read_text()
    assert "gpudoctor-cli = " in commands.read_text()
    program = "import sys; sys.path.insert(0, sys.argv.pop(1)); import runpy; runpy.run_module('gpudoctor', run_name='__main__')"
    command = [sys.executable, "-I", "-c", program, tmp_path / "installed", "check", "--no-smoke", "--format", "json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert json.loads(done.stdout)["matrix"]["date"], done.stderr
