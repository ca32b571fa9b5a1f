"""Makes environments from the package index, in place: what was done is noted beside them, so that the next one goes on from there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

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
    """The folder of the row's environment below `cache`, brought to the row's state. Raises SeamUnavailable where pip fails."""
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


def site(folder: Path) -> Path:
    """Its site-packages."""
    return next((folder / "lib").glob("python3.*/site-packages"))


def megabytes(folder: Path) -> int:
    """What it takes on disk."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()) >> 20


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    if done.returncode:
        reason = next((line for line in reversed(done.stderr.splitlines()) if line.startswith("ERROR")), "no reason given")
        msg = f"needs the package index: {' '.join(command[3:])}: {reason}"
        raise SeamUnavailable(msg)
