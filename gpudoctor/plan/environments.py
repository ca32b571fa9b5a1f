"""Makes a planned environment with uv."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpudoctor.errors import UsageError
from gpudoctor.plan.resolver import uv_path
from gpudoctor.process import ChildEnd, ChildSpec, Supervisor
from gpudoctor.progress import Event, Progress
from gpudoctor.smoke.scratch import scratch_folder

PATIENCE_SECONDS = 3600.0
"""Seconds for the download."""
_UNPACKED_FACTOR = 3
"""How many times the size of the download an environment and uv's cache may take."""


def space_needed_and_free(download: int | None, folder: str | None) -> tuple[int, int]:
    """Return the bytes that an environment may take, and those that are free where it will be made."""
    place = Path(folder).absolute().parent if folder else Path(os.environ.get("TMPDIR") or "/tmp")  # noqa: S108 -- only to ask for its free space
    return _UNPACKED_FACTOR * (download or 0), shutil.disk_usage(place).free


@contextmanager
def environment_from_lock(lock: str, python: str, folder: str | None, progress: Progress) -> Iterator[str]:
    """The path of an environment with what the lock file lists; removed at the end unless `folder` names it.

    Raises UsageError if uv cannot make it.
    """
    if folder is not None:
        if Path(folder).exists():
            raise UsageError(f"--keep {folder}: it exists; name a folder that does not.")
        try:
            yield _make_environment(lock, python, folder, progress)
        except BaseException:
            if not (Path(folder) / "pyvenv.cfg").exists() or not (Path(folder) / _LOCK_NAME).exists():
                shutil.rmtree(folder, ignore_errors=True)
            raise
        return
    with scratch_folder() as place:
        if "TMPDIR" not in place:
            raise UsageError("There is no temporary folder to make the environment in; name one with --keep.")
        yield _make_environment(lock, python, f"{place['TMPDIR']}/environment", progress)


_LOCK_NAME = "pylock.toml"
"""Written into the environment when everything is installed."""


def _make_environment(lock: str, python: str, folder: str, progress: Progress) -> str:
    with Supervisor() as supervisor, scratch_folder() as place:
        file = Path(place.get("TMPDIR", "."), _LOCK_NAME)
        file.write_text(lock, encoding="utf-8")
        steps = {
            "making the environment": ("venv", "--python", python, folder),
            "installing": ("pip", "install", "--python", folder, "--requirements", str(file)),
        }
        for what, words in steps.items():
            progress(Event("begin", what))
            command = (uv_path(), *words, "--quiet", "--no-config") if words[0] == "venv" else (uv_path(), *words, "--quiet")
            supervisor.start(ChildSpec(name=what, argv=command, stall=PATIENCE_SECONDS, deadline=PATIENCE_SECONDS))
            ended = supervisor.wait([what])[what]
            progress(Event("end", what))
            if ended.end is not ChildEnd.EXITED or ended.code:
                said = next((line.strip().removeprefix("error: ") for line in ended.stderr.splitlines() if line.strip()), ended.trouble)
                hint = f" Install Python {python} or state another with --python-version." if words[0] == "venv" else ""
                raise UsageError(f"uv could not make the environment: {said.rstrip('.')}.{hint}")
    Path(folder, _LOCK_NAME).write_text(lock, encoding="utf-8")
    return folder
