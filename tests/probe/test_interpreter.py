"""Real interpreters, old and new, that do not start properly, with a sitecustomize that misbehaves."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.errors import UsageError
from gpudoctor.probe.interpreter import START_SECONDS
from gpudoctor.probe.inventory import ProbeScope, ProbeTimeouts
from gpudoctor.process import child
from gpudoctor.process.limits import LIMIT_BY_ERRNO
from gpudoctor.snapshot import Cause, Missing, Python
from tests.probe.places import EMPTY, SHORT, look, plant
from tests.probe.test_children import FOUND

BEHAVIOURS = {
    "exits": "import sys; sys.exit(3)",
    "exits at once": "import os; os._exit(0)",
    "raises": "raise KeyboardInterrupt('not today')",
    "floods": "while True: print('x' * 999)",
    "hangs": "import time; time.sleep(1000)",
    "becomes a daemon": "import os, time\nif os.fork(): os._exit(0)\nos.setsid()\ntime.sleep(0.5)",
    "becomes a daemon later": "import os, time\nif os.fork(): os._exit(0)\ntime.sleep(0.5)",
}
VERSIONS = [version for version in FOUND if version.startswith(("2.7.", "3.6.", "3.8.", "3.13."))]


def environment(place: Path, version: str, behaviour: str) -> str:
    """A folder whose bin/python is a script that starts a real Python with its own sitecustomize; works for Python 2 too."""
    folder = place / "environment"
    script = plant(
        folder,
        {
            "site/sitecustomize.py": behaviour + "\n",
            "bin/python": f'#!/bin/sh\nPYTHONPATH={folder}/site exec {FOUND[version]} "$@"\n',
        },
    )
    (folder / "bin/python").chmod(0o755)
    return script


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_python_that_does_not_start_is_unknown(tmp_path: Path, version: str, behaviour: str) -> None:
    python = environment(tmp_path, version, BEHAVIOURS[behaviour])
    snapshot, inventory = look(ProbeScope(python=python), EMPTY, ProbeTimeouts(python=1.0))
    assert isinstance(snapshot.python, Missing)
    assert snapshot.python.cause in {Cause.FAILED, Cause.TIMED_OUT}
    assert f"{python}/bin/python" in snapshot.python.reason
    assert snapshot.frameworks == snapshot.packages == snapshot.python
    assert inventory.interpreter is None


@pytest.mark.parametrize("version", VERSIONS)
def test_a_python_that_starts_with_errors_is_examined(tmp_path: Path, version: str) -> None:
    snapshot, _ = look(
        ProbeScope(python=environment(tmp_path, version, "print('x' * 100000)\nraise ValueError('odd, but Python goes on')")), EMPTY
    )
    assert isinstance(snapshot.python, Python)
    assert snapshot.python.version == version


def test_a_slow_start_is_waited_for_up_to_the_limit(tmp_path: Path) -> None:
    python = environment(tmp_path, VERSIONS[-1], "import time; time.sleep(1.5)")
    waited, _ = look(ProbeScope(python=python), EMPTY, ProbeTimeouts(python=20.0))
    assert isinstance(waited.python, Python)
    given_up, _ = look(ProbeScope(python=python), EMPTY, ProbeTimeouts(python=1.0))
    assert isinstance(given_up.python, Missing)
    assert f"{python}/bin/python did not start within 1 s" in given_up.python.reason
    assert ProbeTimeouts().python == START_SECONDS >= 20.0


def test_a_python_without_its_library_does_not_start(tmp_path: Path) -> None:
    python = environment(tmp_path, VERSIONS[-1], "")
    snapshot, _ = look(ProbeScope(python=python), {**EMPTY, "PYTHONHOME": "/nowhere"}, SHORT)
    assert isinstance(snapshot.python, Missing)


def test_a_virtual_environment_whose_base_is_gone_says_so_and_how_to_fix_it(tmp_path: Path) -> None:
    base = tmp_path / "gone/python3"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", tmp_path / "venv"], check=True)
    (link,) = (path for path in (tmp_path / "venv/bin").glob("python*") if path.readlink().is_absolute())
    link.unlink()
    link.symlink_to(base)
    for named in (tmp_path / "venv", tmp_path / "venv/bin/python"):
        with pytest.raises(UsageError, match=rf"{base}, is gone; reinstall that Python, .*: python3 -m venv --clear {tmp_path}/venv\.$"):
            look(ProbeScope(python=str(named)), EMPTY, SHORT)


def test_an_empty_file_a_folder_and_a_dangling_link_are_no_interpreters(tmp_path: Path) -> None:
    (tmp_path / "empty").touch(0o755)
    (tmp_path / "folder").mkdir()
    (tmp_path / "venv/bin").mkdir(parents=True)
    (tmp_path / "venv/bin/python").symlink_to("/gone/python3.9")
    for name, why in (
        ("empty", "it cannot be started: Exec format error"),
        ("folder", "the folder has no bin/python"),
        ("venv", f"{tmp_path}/venv/bin/python is a link to /gone/python3.9, which does not exist"),
        ("venv/bin/python", f"{tmp_path}/venv/bin/python is a link to /gone/python3.9, which does not exist"),
    ):
        with pytest.raises(UsageError) as caught:
            look(ProbeScope(python=str(tmp_path / name)), EMPTY, SHORT)
        assert str(caught.value) == (
            f"--python {tmp_path}/{name}: not a Python interpreter ({why}); name an interpreter or the folder of an environment."
        )


def refusing(error: OSError) -> Any:
    """Stands in for the start of a process: it fails with `error`."""

    def refuse(*_: object) -> None:
        raise error

    return refuse


@pytest.mark.parametrize("number", [*LIMIT_BY_ERRNO, errno.EIO, errno.EPERM, errno.ETXTBSY])
def test_what_keeps_every_program_from_starting_is_not_blamed_on_the_interpreter(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "start_confined", refusing(OSError(number, os.strerror(number))))
    snapshot, _ = look(ProbeScope(python=sys.executable), EMPTY, SHORT)
    assert isinstance(snapshot.python, Missing)
    assert snapshot.python.reason.startswith(f"{sys.executable} could not be started: {os.strerror(number)}")
    assert LIMIT_BY_ERRNO.get(number, "") in snapshot.python.reason


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ELIBBAD])
def test_what_the_file_itself_is_to_blame_for_is_a_wrong_option(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "start_confined", refusing(OSError(number, os.strerror(number))))
    with pytest.raises(UsageError, match="not a Python interpreter"):
        look(ProbeScope(python=sys.executable), EMPTY, SHORT)


@pytest.mark.parametrize("number", LIMIT_BY_ERRNO)
def test_a_program_that_stops_at_a_limit_may_be_a_python(number: int, tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\necho 'libc.so.6: failed to map segment: {os.strerror(number)}' >&2; exit 127\n")
    script.chmod(0o755)
    snapshot, _ = look(ProbeScope(python=str(script)), EMPTY, SHORT)
    assert isinstance(snapshot.python, Missing)
    assert os.strerror(number) in snapshot.python.reason
