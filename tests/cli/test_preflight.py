"""What a job asks before it starts, by the real program: --require, --wait, reasons of skips, JUnit."""

from __future__ import annotations

import gc
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from gpudoctor.check.wait import look_again
from gpudoctor.progress import ignore_event
from gpudoctor.snapshot import Snapshot
from tests.cli.command import GPUDOCTOR, ROOT, document, environment, run
from tests.machines import packages
from tests.machines.build import UNSET
from tests.machines.recipes.base import NOT_LOADED, TF, cards
from tests.seams import Cuda, Nvml, Tree, environ_with
from tests.seams.scenario import _Library

CLEAN = dict.fromkeys(UNSET)
READY = (Nvml(gpus=1), Cuda(gpus=1))


def look(root: Path, *more: str) -> tuple[str, ...]:
    """A look at the tree `root` and an environment beside it that holds a TensorFlow with CUDA."""
    target = root.parent / "environment"
    if not target.exists():
        packages.environment(target, (TF,))
    return ("check", "--no-smoke", "--python", str(target), "--root", str(root), *more)


def libraries(place: Path, *wanted: _Library) -> dict[str, str]:
    return environ_with(*wanted, directory=place / "libraries", base=environment(**CLEAN))


def while_waiting(arguments: tuple[str, ...], env: Mapping[str, str], heal: Callable[[], object]) -> tuple[int, str, str]:
    """Exit code, report and what was said, where `heal` happens after the program has said that it waits."""
    with subprocess.Popen(
        (*GPUDOCTOR, *arguments), cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if "waiting" in line:
                heal()
                break
        stdout, rest = process.communicate(timeout=60)
    return process.returncode, stdout, said + rest


class TestWait:
    def test_for_the_driver_to_be_loaded(self, tmp_path: Path) -> None:
        root = Tree(pci=cards(1, None)).build(tmp_path / "root")
        env = libraries(tmp_path, *NOT_LOADED)

        def load() -> None:
            root.rename(tmp_path / "before")
            libraries(tmp_path, *READY)
            Tree(pci=cards(1), kernel_driver="550.163.01").build(root)

        code, report, said = while_waiting(look(root, "--wait", "60"), env, load)
        assert code == 0
        assert "gpudoctor: waiting: the NVIDIA kernel driver is not loaded yet\n" in said
        assert re.search(r"waited \d+\.\d s \(the NVIDIA kernel driver is not loaded yet.*\); ready now", " ".join(report.split()))

    def test_for_device_files_then_for_the_fabric(self, tmp_path: Path) -> None:
        root = Tree(pci=cards(1), kernel_driver="550.163.01", nodes=()).build(tmp_path / "root")
        env = libraries(tmp_path, Nvml(gpus=1, calls={"nvmlInit": "return 9"}), Cuda(gpus=1, calls={"cuInit": "return 802"}))

        def connect() -> None:
            libraries(tmp_path, Nvml(gpus=1), Cuda(gpus=1))
            (root / "dev").mkdir(exist_ok=True)
            for name in ("nvidiactl", "nvidia0", "nvidia-uvm"):
                (root / "dev" / name).touch(0o666)

        code, _, said = while_waiting(look(root, "--wait", "60"), env, connect)
        assert code == 0
        assert "waiting: CUDA waits for the fabric (802)" in said
        report = document("report", run(*look(root, "--wait", "60", "--format", "json"), env=env).stdout)
        assert "waiting" not in {timing["what"] for timing in report["timings"]}
        assert report["snapshot"]["remarks"] == []

    def test_no_longer_than_asked(self, tmp_path: Path) -> None:
        root = Tree(pci=cards(1, None)).build(tmp_path / "root")
        began = time.monotonic()
        ended = run(*look(root, "--wait", "1.5", "--format", "json"), env=libraries(tmp_path, *NOT_LOADED))
        report = document("report", ended.stdout)
        assert ended.returncode == 1
        (waited,) = (timing["seconds"] for timing in report["timings"] if timing["what"] == "waiting")
        assert 1.5 <= waited < time.monotonic() - began
        (remark,) = report["snapshot"]["remarks"]
        assert re.fullmatch(r"waited \d\.\d s \(the NVIDIA kernel driver is not loaded yet\); still not ready", remark)

    def test_no_longer_than_the_check_may_last(self, tmp_path: Path) -> None:
        root = Tree(pci=cards(1, None)).build(tmp_path / "root")
        began = time.monotonic()
        ended = run(*look(root, "--wait", "600", "--timeout", "4", "--format", "json"), env=libraries(tmp_path, *NOT_LOADED))
        assert time.monotonic() - began < 60
        report = document("report", ended.stdout)
        assert report["findings"][0]["name"] == "no-driver"
        assert report["snapshot"]["nvml"]["init"]["code"] == 9, "the last look was cut short"

    def test_a_look_that_is_repeated_collects_garbage(self) -> None:
        """The program does without for a single look; repeated for ten minutes they would take 100 MB."""
        gc.disable()
        try:
            look_again(Snapshot(created=""), lambda _: "", lambda: Snapshot(created=""), time.monotonic(), ignore_event)
            assert gc.isenabled()
        finally:
            gc.enable()

    def test_not_at_all_where_it_would_not_help(self, tmp_path: Path) -> None:
        root = Tree(pci=cards(1, "nouveau"), modules=("nouveau",)).build(tmp_path / "root")
        began = time.monotonic()
        ended = run(*look(root, "--wait", "300", "--format", "json"), env=libraries(tmp_path, *NOT_LOADED))
        assert ended.returncode == 1
        assert time.monotonic() - began < 120
        assert json.loads(ended.stdout)["snapshot"]["remarks"] == []


def test_what_is_required_and_why_is_in_the_report(tmp_path: Path) -> None:
    root = Tree(pci=cards(1), kernel_driver="550.163.01").build(tmp_path / "root")
    config = tmp_path / "site.toml"
    config.write_text('require = ["gpus==1", "driver>=560"]\n[skip]\nGD102 = "seen to before"\nno-gpu = "seen to elsewhere"\n')
    ended = run(*look(root, "--config", str(config), "--format", "json"), env=libraries(tmp_path, *READY))
    report = document("report", ended.stdout)
    assert ended.returncode == 1
    assert report["policy"]["require"] == ["gpus==1", "driver>=560"]
    assert {rule["name"]: rule["reason"] for rule in report["skipped"]}["no-gpu"] == "seen to elsewhere"
    assert [finding["message"] for finding in report["findings"] if finding["code"] == "GD602"] == [
        "driver>=560 is required, but the driver is 550.163.01."
    ]


@pytest.mark.parametrize(
    ("written", "reason"), [("GD101=a laptop, no server", "a laptop, no server"), ("no-gpu: why not = ask me", "why not = ask me")]
)
def test_a_reason_on_the_command_line(written: str, reason: str, tmp_path: Path) -> None:
    root = Tree(pci=cards(1), kernel_driver="550.163.01").build(tmp_path / "root")
    env = libraries(tmp_path, *READY)
    report = document("report", run(*look(root, "--skip", written, "--format", "json"), env=env).stdout)
    assert report["skipped"] == [{"code": "GD101", "name": "no-gpu", "reason": reason}]
    assert f"Skipped: GD101 no-gpu ({reason})" in " ".join(run(*look(root, "--skip", written), env=env).stdout.decode().split())


def test_junit_of_a_real_check(tmp_path: Path) -> None:
    root = Tree(pci=cards(1, None)).build(tmp_path / "root")
    ended = run(*look(root, "--format", "junit", "--skip", "GD103=not asked"), env=libraries(tmp_path, *NOT_LOADED))
    assert ended.returncode == 1
    suite = ET.fromstring(ended.stdout)[0]
    endings: dict[str, Any] = {case.attrib["name"]: [ending.tag for ending in case] for case in suite.iter("testcase")}
    assert "verdict" not in endings
    assert suite.attrib["failures"] == "1"
    assert endings["GD201 no-driver"] == ["failure"]
    assert endings["GD103 gpu-fell-off-bus"] == ["skipped"]
    assert endings["GD101 no-gpu"] == []


def test_comparisons_are_loaded_only_where_something_is_required(tmp_path: Path) -> None:
    root = Tree(pci=cards(1), kernel_driver="550.163.01").build(tmp_path / "root")

    def imported(*more: str) -> str:
        ended = subprocess.run(
            (sys.executable, "-X", "importtime", *GPUDOCTOR[1:], *look(root, *more), "--format", "json"),
            cwd=ROOT, env=libraries(tmp_path, *READY) | {"COVERAGE_PROCESS_CONFIG": ""}, capture_output=True, timeout=120, check=False,
        )  # fmt: skip
        return ended.stderr.decode()

    assert "gpudoctor.required_values" not in imported()
    assert "gpudoctor.required_values" in imported("--require", "gpus==1")
