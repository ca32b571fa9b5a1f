"""Makes environments from the package index step by step: each step is recorded beside them, and the next one continues from there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from uv import find_uv_bin

from tests.environments.rows import RUNNING, Row, steps
from tests.seams.build import SeamUnavailable

DONE = "steps.json"
Say = Callable[[str], None]


def interpreter(version: str) -> Path:
    """A Python of that minor version: this one, or from PATH or pyenv's folder. Raises SeamUnavailable."""
    if version == RUNNING:
        return Path(sys.executable)
    named = shutil.which(f"python{version}")
    if named and "/shims/" not in named:
        return Path(named)
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for python in sorted(versions.glob(f"{version}.*/bin/python")):
        return python
    msg = f"needs Python {version}"
    raise SeamUnavailable(msg)


def made(row: Row, cache: Path, say: Say) -> Path:
    """The folder of the row's environment below `cache`, in the row's state. Raises SeamUnavailable if pip fails."""
    folder = cache / row.place
    wanted = [list(step) for step in steps(row)]
    done = json.loads((folder / DONE).read_text()) if (folder / DONE).exists() else None
    if done is None or wanted[: len(done)] != done:
        shutil.rmtree(folder, ignore_errors=True)
        say(f"making an environment of Python {row.python}")
        done = []
        _run([str(interpreter(row.python)), "-m", "venv", str(folder)])
    for step in wanted[len(done) :]:
        say(f"pip {' '.join(step)}")
        (folder / DONE).unlink(missing_ok=True)
        quiet = ["--no-cache-dir", "--no-compile"] if step[0] == "install" else []
        _run([str(folder / "bin" / "python"), "-m", "pip", step[0], "-q", "--disable-pip-version-check", *quiet, *step[1:]])
        done.append(step)
        (folder / DONE).write_text(json.dumps(done))
    return folder


def fresh(python: Path, folder: Path, wanted: Sequence[str], *, lasting: bool) -> None:
    """Make an environment with uv or, if that is missing or fails, with pip; a lasting one is compiled. Raises SeamUnavailable."""
    inside = str(folder / "bin" / "python")
    by_pip = (
        [str(python), "-m", "venv", str(folder)],
        [inside, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-cache-dir"],
    )
    if uv := shutil.which("uv", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))):
        compiled = ["--compile-bytecode"] if lasting else []
        new = [uv, "venv", "--quiet", "--python", str(python), str(folder)]
        with suppress(SeamUnavailable):  # it does not read pip's configuration
            _make(folder, new, [uv, "pip", "install", "--quiet", "--no-cache", "--python", inside, *compiled, *wanted])
            return
    _make(folder, by_pip[0], [*by_pip[1], *([] if lasting else ["--no-compile"]), *wanted])


def beside(python: Path, folder: Path, wanted: Sequence[str]) -> None:
    """Install packages, compiled, into a folder for that Python's PYTHONPATH. Raises SeamUnavailable."""
    command = [find_uv_bin(), "pip", "install", "--quiet", "--compile-bytecode"]
    _make(folder, [*command, "--python", str(python), "--target", str(folder), *wanted])


def _make(folder: Path, *commands: Sequence[str]) -> None:
    try:
        for command in commands:
            _run(command)
    except SeamUnavailable:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def site(folder: Path) -> Path:
    """Its site-packages."""
    return next((folder / "lib").glob("python3.*/site-packages"))


def megabytes(folder: Path) -> int:
    """Its size on disk."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()) >> 20


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    if done.returncode:
        said = " ".join(done.stderr.split())  # uv's message, over several lines
        reason = next((line for line in reversed(done.stderr.splitlines()) if line.startswith("ERROR")), said or "no reason given")
        msg = f"needs the package index: {' '.join(command[3:])}: {reason}"
        raise SeamUnavailable(msg)
