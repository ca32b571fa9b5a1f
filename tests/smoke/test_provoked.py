"""Failures of smoke training, provoked for real through the real command: the cause, the stage, and that nothing outlives it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.command import GPUDOCTOR
from tests.smoke.control_group import limited_memory
from tests.smoke.patches import ANSWERING, at_import, without_module
from tests.smoke.provoke import Provoked, marked, provoke

Start = Callable[..., Provoked]
CRASHED = [("GD904", "smoke-crashed")]
NAMES = {"tensorflow": "TensorFlow", "torch": "PyTorch", "jax": "JAX"}


@pytest.fixture
def start(tmp_path: Path) -> Start:
    def run(patch: str, *arguments: str, **options: object) -> Provoked:
        seen = provoke(tmp_path, patch, *arguments, **options)  # type: ignore[arg-type]
        assert seen.left == []
        return seen

    return run


@pytest.fixture(params=["tensorflow", *(pytest.param(name, marks=pytest.mark.index) for name in ("torch", "jax"))])
def framework(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def each(framework: str, start: Start, framework_python: Callable[[str], Path]) -> Start:
    """`start` with each framework in turn."""
    python = Path(sys.executable) if framework == "tensorflow" else framework_python(framework)
    return lambda patch, *arguments, **options: start(patch, *arguments, framework=framework, python=python, **options)


def test_a_crash_in_the_import(each: Start, framework: str) -> None:
    seen = each(at_import(framework, "os.kill(os.getpid(), signal.SIGSEGV)"))
    assert (seen.code, seen.report["verdict"]) == (1, "broken")
    assert (seen.ended, seen.findings) == ([("import", "crashed")], CRASHED)
    assert f"stage “import” crashed: was killed by SIGSEGV in importing {NAMES[framework]}" in seen.message
    assert "points to" not in seen.message
    assert [kind for kind, _ in seen.fixes] == ["check", "check", "fix", "else"]
    assert "reinstall " in seen.fixes[2][1]


def test_a_missing_requirement(start: Start) -> None:
    """The same release is installed again with what it requires: another one would lack it too."""
    seen = start(without_module("wrapt"))
    assert seen.findings == [("GD643", "framework-import-fails"), *CRASHED]
    assert "`import tensorflow` fails: No module named 'wrapt'." in seen.message
    installed = seen.report["snapshot"]["frameworks"][0]
    kind, command = next(fix for fix in seen.fixes if fix[0] != "check")
    assert kind == "fix"
    assert command.endswith(f"install {installed['distribution']}=={installed['version']['value']}")
    assert "reinstall" not in command


def test_an_import_past_the_deadline(each: Start, framework: str) -> None:
    """The user's own deadline proves no hang; the report says where it was and for how long it had been silent."""
    seen = each(at_import(framework, "time.sleep(600)"), "--timeout", "3")
    assert (seen.code, seen.report["verdict"], seen.findings) == (3, "unknown", [])
    assert seen.ended == [("import", "stopped")]
    # a busy machine takes a part of the deadline before the import
    found = re.search(
        rf"not finished after [1-3] s in importing {NAMES[framework]}, and did not respond for the last", seen.report["because"]
    )
    assert found
    assert [found[0] in one["reason"] for one in seen.report["could_not_tell"] if one["name"] == "smoke-hung"] == [True]
    assert seen.seconds < 60


def test_an_import_that_hangs(start: Start) -> None:
    """With the patience of five minutes reduced to a second."""
    impatient = (
        sys.executable,
        "-c",
        "from gpudoctor.cli import run_and_exit; from gpudoctor.smoke import run as smoke; smoke.STALL_SECONDS = 1.0; run_and_exit()",
    )
    seen = start(at_import("tensorflow", "time.sleep(600)"), gpudoctor=impatient)
    assert (seen.code, seen.ended) == (1, [("import", "hung")])
    assert seen.findings == [("GD905", "smoke-hung")]
    assert "did not respond for 1 s in importing TensorFlow" in seen.message


def test_a_flood_takes_little_memory_and_time(start: Start) -> None:
    """Half a gigabyte on standard output and error and as much on the answer's own descriptor."""
    flood = "for number in (1, 2, FD, FD) * 4000: os.write(number, b'x' * 65536)\n            os.write(2, b'\\nthe end\\n'); os._exit(3)"
    seen = start(ANSWERING + at_import("tensorflow", flood))
    assert seen.ended == [("import", "crashed")]
    assert "answered with over 131,072 lines or 16 MiB in importing TensorFlow" in seen.message
    assert seen.peak < 100 << 20
    assert seen.seconds < 120


def test_an_incomplete_line(start: Start) -> None:
    seen = start(ANSWERING + at_import("tensorflow", """os.write(FD, b'{"event": "end", "stage": "imp'); os._exit(0)"""))
    assert (seen.ended, seen.findings) == ([("import", "crashed")], CRASHED)
    assert "ended without a word in importing TensorFlow" in seen.message


def test_garbage_on_every_descriptor_is_reported_and_harmless(start: Start) -> None:
    garbage = r"""
lines = [b"@mark \xff", b"[1, 2]", b'{"event": 7}', b'{"event": "end", "stage": "import", "seconds": "x"}', b"", b'"x"', b"\xff\xfe", b"@"]
os.write(FD, b"\n".join([*lines, b'{"a":' + b"[" * 50000, b"y" * (3 << 20), b""]))
for number in (1, 2) * 2000:
    os.write(number, b"\xffz\n" * 20000)
"""
    seen = start(ANSWERING + garbage)
    assert (seen.ended, seen.findings) == ([("between stages", "failed")], CRASHED)
    assert "the script wrote an invalid line: [1, 2]" in seen.message
    assert [training["network"] for training in seen.smoke["trainings"]] == ["dense", "convolutional"]
    assert seen.peak < 100 << 20


def test_killed_by_another_process(start: Start) -> None:
    seen = start(at_import("tensorflow", "os.kill(os.getpid(), signal.SIGKILL)"))
    assert (seen.ended, seen.findings) == ([("import", "crashed")], CRASHED)
    assert "was killed by SIGKILL in importing TensorFlow" in seen.message
    assert "memory" in seen.message
    assert "sender unknown" in seen.message
    assert not [command for _, command in seen.fixes if "install" in command]


def test_killed_by_the_kernel_out_of_memory(start: Start) -> None:
    with limited_memory(200 << 20) as enter:
        seen = start(at_import("tensorflow", "held = [bytearray(b'x' * 10**7) for _ in range(100)]"), gpudoctor=(*enter, *GPUDOCTOR))
    assert (seen.code, seen.ended) == (1, [("import", "crashed")])
    assert seen.findings == [("GD713", "host-memory-insufficient"), *CRASHED]
    assert "ran out of host memory: stage “import” crashed while the kernel killed 1 process in this program's cgroup." in seen.message
    assert seen.report["findings"][0]["confidence"] == "certain"
    assert seen.smoke["memory_kills"]["count"] == 1


def test_refused_memory(start: Start) -> None:
    seen = start(at_import("tensorflow", "bytearray(1 << 60)"))
    assert (seen.ended, seen.findings) == ([("import", "failed")], [("GD643", "framework-import-fails"), *CRASHED])
    assert "MemoryError. Its log points to host-memory-insufficient" in seen.message


def test_a_grandchild_in_another_session_that_holds_the_pipes(start: Start) -> None:
    leaving = "os.fork() or (os.setsid(), time.sleep(600)); time.sleep(0.5); os._exit(3)"
    seen = start(at_import("tensorflow", leaving))
    assert (seen.ended, seen.findings) == ([("import", "crashed")], CRASHED)
    assert seen.seconds < 120


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_child_that_ignores_the_signals_ends_with_the_command(start: Start, number: signal.Signals, code: int, tmp_path: Path) -> None:
    there = tmp_path / "ignoring"

    def interrupt(process: subprocess.Popen[bytes], mark: str) -> None:
        while not there.exists():
            time.sleep(0.02)
        assert len(marked(mark)) > 1
        process.send_signal(number)

    ignore = f"signal.signal(15, signal.SIG_IGN); signal.signal(2, signal.SIG_IGN); open({str(there)!r}, 'w').close(); time.sleep(600)"
    seen = start(at_import("tensorflow", ignore), meanwhile=interrupt)
    assert (seen.code, seen.ended, seen.findings) == (code, [("import", "stopped")], [])
    assert seen.report["snapshot"]["remarks"] == [f"stopped by {number.name}"]
    assert "tensorflow: import was stopped" in seen.report["because"]  # on a busy machine before the child could say in what
    assert seen.seconds < 60
