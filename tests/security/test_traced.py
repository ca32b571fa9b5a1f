"""What commands ask of the kernel: no network, no program but Python, no file changed, no private file opened."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gpudoctor.report import document
from tests.cli.command import LOOK, environment
from tests.probe.places import plant
from tests.report import machines
from tests.security.traced import Trace, trace

PRIVATE = (
    *(".ssh/id_rsa", ".netrc", ".aws/credentials", ".bash_history", ".git-credentials", ".kube/config", ".docker/config.json"),
    *(".cache/huggingface/token", ".gnupg/secring.gpg", "notes.txt"),
)
PASTED = """Traceback (most recent call last):
  File "{place}/named.py", line 3, in <module>
RuntimeError: CUDA error: no kernel image is available for execution on the device
See https://docs.example/cuda and file://{place}/named.json; run `{place}/named.sh` and import named
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with private files, and files that a pasted text names."""
    place = tmp_path_factory.mktemp("home")
    plant(place, {**dict.fromkeys(PRIVATE, "secret"), **dict.fromkeys(("named.py", "named.json", "named.sh"), "exit 3\n")})
    (place / "named.sh").chmod(0o755)
    (place / "pasted.txt").write_text(PASTED.format(place=place))
    return place


def traced(place: Path, *arguments: str) -> Trace:
    return trace(
        *arguments,
        place=place,
        environ=environment(HOME=str(place), PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=None, COVERAGE_PROCESS_CONFIG=None),
    )


@pytest.fixture(scope="module")
def look(place: Path) -> Trace:
    return traced(place, *LOOK, "--format", "json")


@pytest.fixture(scope="module")
def reading(place: Path) -> Trace:
    return traced(place, "diagnose", "pasted.txt")


OTHERS = (
    ("compat", "torch==2.4.0", "--gpu", "RTX 4090"),
    ("xray", "--python", sys.executable),
    ("plan", "torch", "--gpu", "L4", "--driver", "550.54.15", "--offline"),
    ("ticket", "report.json"),
    ("fleet", "merge", "report.json"),
)


def test_no_network(place: Path, look: Trace, reading: Trace) -> None:
    (place / "report.json").write_bytes(document.encode_document(machines.report("healthy-one")))
    others = [traced(place, *arguments) for arguments in OTHERS]
    assert [other.started()[0] for other in others] == [sys.executable] * len(OTHERS)
    assert [line for one in (look, reading, *others) for line in one.networks()] == []


def test_a_look_starts_python_only(look: Trace) -> None:
    assert len(look.started()) > 3
    assert {os.path.realpath(program) for program in look.started()} == {os.path.realpath(sys.executable)}


def test_a_look_changes_no_file(look: Trace) -> None:
    assert look.changed() == []


def test_a_look_opens_no_private_file(place: Path, look: Trace) -> None:
    assert look.paths() & {"/etc/os-release", "/proc/cpuinfo"}, "the trace shows what is read"
    assert [path for path in look.paths() if path.startswith(f"{place}/") and path.endswith(PRIVATE)] == []


def test_reading_a_text_does_nothing_but_read(place: Path, reading: Trace) -> None:
    assert len(reading.started()) == 1
    assert reading.changed() == []
    assert "pasted.txt" in reading.paths()
    assert [path for path in reading.paths() if path.startswith(f"{place}/")] == []
