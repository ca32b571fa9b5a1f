"""`gpudoctor diff`, run for real."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import GPUDOCTOR, ROOT, document, environment, run, sentence
from tests.machines.store import load
from tests.read import texts


def written(folder: Path, name: str, file: str = "", old: str = "", new: str = "") -> str:
    machine = load(name)
    report = {"schema": "gpudoctor.report/1", "policy": machine["policy"], "snapshot": machine["snapshot"]}
    path = folder / (file or f"{name}.json")
    path.write_text(json.dumps(report).replace(old or "\0", new))
    return str(path)


@pytest.fixture
def healthy(tmp_path: Path) -> str:
    return written(tmp_path, "healthy-eight")


@pytest.fixture
def upgraded(tmp_path: Path) -> str:
    return written(tmp_path, "healthy-eight", "upgraded.json", "550.163.01", "580.65.06")


def test_the_same_report_twice(healthy: str) -> None:
    done = run("diff", healthy, healthy, "--golden")
    assert done.returncode == 0
    assert done.stdout.startswith(b"No differences between")


def test_a_driver_upgrade(healthy: str, upgraded: str) -> None:
    assert b"  driver 550.163.01 \xe2\x86\x92 580.65.06\n" in run("diff", healthy, upgraded).stdout
    assert [run("diff", healthy, upgraded, *golden).returncode for golden in ((), ("--golden",))] == [0, 1]


def test_fields_to_ignore_from_the_command_line_and_a_file(healthy: str, upgraded: str, tmp_path: Path) -> None:
    (tmp_path / "ignore").write_text("# the driver\nkernel_driver.*  # its kernel module\n\nnvml.driver_version\n")
    ignore = ("--ignore-file", str(tmp_path / "ignore"), "--ignore", "*libcuda*", "--ignore", "nvml.*")
    done = run("diff", "--golden", healthy, upgraded, *ignore)
    assert b"Ignored: " in done.stdout
    assert b"driver 550" not in done.stdout
    assert run("diff", "--golden", healthy, upgraded, "--ignore", "*").returncode == 0


def test_json_and_markdown(healthy: str, tmp_path: Path) -> None:
    lost = written(tmp_path, "eight-one-lost")
    found: dict[str, Any] = document("diff", run("diff", "--format", "json", healthy, lost, "--golden").stdout)
    assert (found["exit_code"], found["causes"][0]["name"], found["causes"][0]["kind"]) == (1, "gpu-fell-off-bus", "appeared")
    told = run("diff", "--format", "markdown", healthy, lost).stdout.decode()
    assert "\n### Causes\n\n- appeared, error: gpu-fell-off-bus: " in told
    assert "\n- GPU 3 (0000:1f:00.0) NVIDIA A100-SXM4-80GB: gone\n" in told


def test_a_file_of_fields_is_read_whole_or_refused(healthy: str, tmp_path: Path) -> None:
    fields = tmp_path / "fields"
    fields.write_text("#" * (1 << 20) + "\nnvml.*\n")
    done = run("diff", healthy, healthy, "--ignore-file", str(fields))
    assert done.returncode == 2
    assert sentence(done.stderr) == f"gpudoctor: --ignore-file: {fields} has more than 1 MiB; name a smaller file.\n"


def test_a_dash_is_standard_output(healthy: str, tmp_path: Path) -> None:
    assert run("diff", healthy, healthy, "-o", "-", cwd=tmp_path).stdout == run("diff", healthy, healthy).stdout
    assert not (tmp_path / "-").exists()


def test_verbose_names_the_fields(healthy: str, upgraded: str) -> None:
    told = run("diff", "-v", healthy, upgraded, env=environment(COLUMNS="400")).stdout.decode()
    assert "[kernel_driver.version.value, " in told


def test_text_and_standard_input(tmp_path: Path) -> None:
    (tmp_path / "before.txt").write_text(texts.HEALTHY_ENV)
    command = (*GPUDOCTOR, "diff", str(tmp_path / "before.txt"), "-")
    after = texts.COLLECT_ENV.replace("580.65.06", "535.54.03").encode()
    done = subprocess.run(command, input=after, cwd=ROOT, env=environment(), capture_output=True, timeout=60, check=False)
    assert "driver 580.65.06 → 535.54.03" in done.stdout.decode()
    assert "GeForce RTX 4090 → " in done.stdout.decode()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-", "-"), "Only one of the two"),
        (("/nowhere/a.json", "-"), "/nowhere/a.json cannot be read"),
        (("/dev/zero", "-"), "/dev/zero is a device"),
        ((os.fspath(ROOT), "-"), "cannot be read"),
        (("-", "/dev/null", "--ignore-file", "/nowhere/fields"), "--ignore-file: /nowhere/fields cannot be read"),
    ],
)
def test_what_cannot_be_compared(arguments: tuple[str, ...], words: str) -> None:
    done = run("diff", *arguments)
    assert done.returncode == 2
    assert words in sentence(done.stderr)


def test_hostile_names_stay_plain_text(tmp_path: Path) -> None:
    one = written(tmp_path, "healthy-one")
    other = written(tmp_path, "healthy-one", "other.json", "NVIDIA A100", "\\u001b[31m[red][/]\\u202e<b>")
    told = run("diff", one, other).stdout.decode()
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert "[red][/]" in told
    assert "<b>" not in run("diff", "--format", "markdown", one, other).stdout.decode().replace("\\<b\\>", "")
