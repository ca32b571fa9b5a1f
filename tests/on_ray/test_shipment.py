"""What travels to a node is all that gpudoctor needs there."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from gpudoctor.on_ray import task
from gpudoctor.on_ray.shipment import shipment_archive


@pytest.fixture(scope="module")
def shipped() -> bytes:
    return shipment_archive()


def test_gpudoctor_runs_from_the_shipment_alone(shipped: bytes, tmp_path: Path) -> None:
    zipfile.ZipFile(io.BytesIO(shipped)).extractall(tmp_path)
    start = [sys.executable, "-I", "-S", str(tmp_path / "gpudoctor" / "on_ray" / "start.py"), str(os.getpid()), "gpudoctor.__main__"]
    done = subprocess.run([*start, "check", "--node", "--format", "json"], check=False, capture_output=True, timeout=60)
    report = json.loads(done.stdout)
    assert report["schema"] == "gpudoctor.report/1", done.stderr
    assert report["matrix"]["date"]
    assert "crashed" not in done.stdout.decode()


def test_the_shipment_is_small_and_holds_nothing_twice(shipped: bytes) -> None:
    names = zipfile.ZipFile(io.BytesIO(shipped)).namelist()
    assert len(set(names)) == len(names)
    assert not [name for name in names if name.startswith(("/", "..")) or name.endswith(".pyc")]
    assert len(shipped) < 8 << 20


def fake(script: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("gpudoctor/on_ray/start.py", script)
    return packed.getvalue()


@pytest.fixture(autouse=True)
def _leaves_no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_a_task_returns_what_gpudoctor_wrote(tmp_path: Path) -> None:
    script = "import sys; print(sys.argv[2:]); print('why', file=sys.stderr); sys.exit(3)"
    code, output, errors = task.run_shipped(fake(script), "module", ("--python", "{python}"), 30)
    assert (code, errors) == (3, b"why\n")
    assert output.decode() == f"{['module', '--python', sys.executable]}\n"
    assert list(tmp_path.iterdir()) == []


def test_a_task_that_is_late_returns_what_was_found_until_then(tmp_path: Path) -> None:
    script = "import signal, sys, time\nsignal.signal(15, lambda *_: (print('partial'), sys.exit(143)))\nprint('started', flush=True)\ntime.sleep(60)"
    code, output, _ = task.run_shipped(fake(script), "module", (), 2)
    assert (code, output) == (143, b"started\npartial\n")
    assert list(tmp_path.iterdir()) == []


def test_a_task_whose_gpudoctor_hangs_ends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(task, "GRACE_SECONDS", 0.5)
    script = "import signal, time\nsignal.signal(15, signal.SIG_IGN)\ntime.sleep(60)"
    began = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        task.run_shipped(fake(script), "module", (), 1)
    assert time.monotonic() - began < 30
    assert list(tmp_path.iterdir()) == []


def test_gpudoctor_ends_with_the_worker_that_started_it(shipped: bytes, tmp_path: Path) -> None:
    zipfile.ZipFile(io.BytesIO(shipped)).extractall(
        tmp_path / "gd", [name for name in zipfile.ZipFile(io.BytesIO(shipped)).namelist() if "on_ray" in name]
    )
    (tmp_path / "gd" / "waiting.py").write_text("import time\ndef main():\n    print('up', flush=True)\n    time.sleep(60)\n")
    start = tmp_path / "gd" / "gpudoctor" / "on_ray" / "start.py"
    worker = f"import os, subprocess, sys, time\nchild = subprocess.Popen([sys.executable, '-I', {str(start)!r}, str(os.getpid()), 'waiting'])\nprint(child.pid, flush=True)\ntime.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", worker], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    assert process.stdout.readline() == "up\n"
    process.kill()
    process.wait()
    process.stdout.close()
    end = time.monotonic() + 10
    while Path(f"/proc/{child}").exists() and "Z" not in Path(f"/proc/{child}/stat").read_text().split()[2]:
        assert time.monotonic() < end, "gpudoctor outlived its worker"
        time.sleep(0.05)
