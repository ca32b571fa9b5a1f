"""What can install into an environment, with real environments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.probe.packages import with_installers
from gpudoctor.snapshot import Missing, Python


def look(place: Path, kind: str = "venv") -> Python:
    script = "import sys; print(*filter(None, sys.path), sep='\\n')"
    path = subprocess.run([place / "bin" / "python", "-I", "-c", script], capture_output=True, text=True, check=True).stdout.splitlines()
    return with_installers(Python(str(place / "bin" / "python"), "a test", prefix=str(place), kind=kind), path)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "v"], check=True)
    return tmp_path / "v"


def test_an_environment_without_pip(bare: Path) -> None:
    seen = look(bare)
    assert (seen.pip, seen.managed) == (False, False)
    assert isinstance(seen.maker, Missing)


def test_an_environment_made_by_uv_is_recognised(bare: Path) -> None:
    config = bare / "pyvenv.cfg"
    config.write_text(f"{config.read_text()}uv = 0.5.11\n")
    assert (look(bare).pip, look(bare).maker) == (False, "uv")


def test_an_environment_with_pip(bare: Path) -> None:
    site = next((bare / "lib").glob("python*/site-packages"))
    (site / "pip").mkdir()
    assert look(bare).pip is True


def test_an_externally_managed_python(tmp_path: Path) -> None:
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    system = Python("/usr/bin/python3", "a test", prefix="/usr", kind="system")
    assert with_installers(system, (str(tmp_path),)).managed is True
    assert with_installers(Python("/v/bin/python", "a test", prefix="/v", kind="venv"), (str(tmp_path),)).managed is False
