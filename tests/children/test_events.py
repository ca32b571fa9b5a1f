"""Every event of a child's script is known to its decoder, in full: real runs over our driver libraries."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.children import events
from gpudoctor.children.channel import Heard, isolated, own, run, script
from gpudoctor.children.events import DeviceCount, InsideReport, KernelResult, Pids, Preloaded, PythonReport, Stopped, UnreadFile
from gpudoctor.probe.frameworks import frameworks
from gpudoctor.probe.inventory import own_import_path
from gpudoctor.probe.libraries import xray_arguments, xrayed_frameworks
from gpudoctor.probe.packages import installed_packages
from gpudoctor.probe.telemetry import TELEMETRY_EVENTS
from gpudoctor.probe.telemetry_summary import NvmlSample
from gpudoctor.process import ChildEnd, ChildOutcome, ChildSpec, Supervisor
from gpudoctor.snapshot import CudaCall, FrameworkLibraries
from tests.seams import NvmlGpu as Card

Environ = Callable[..., dict[str, str]]
LIMITS: dict[str, Any] = {"stall": 60.0, "deadline": 120.0}


def ran(spec: ChildSpec) -> ChildOutcome:
    with Supervisor(time.monotonic() + 120) as supervisor:
        return run(supervisor, spec)


def kinds(outcome: ChildOutcome, known: tuple[Any, ...]) -> set[type]:
    """The kinds of the events, each one of the script's."""
    heard = Heard(outcome, known, "the script")
    assert (heard.strange, outcome.trouble) == ("", "")
    return {type(event) for event in heard.events}


def test_nvml(fake_nvml: Environ) -> None:
    spec = script("nvml", "own/nvml_probe.py", own(), fake_nvml(gpus=2), "--path", *own_import_path(), **LIMITS)
    assert kinds(ran(spec), events.NVML) >= {events.NvmlPart, events.NvmlGpuPart, DeviceCount}


def test_nvml_that_refuses_everything(fake_nvml: Environ) -> None:
    refusing = fake_nvml(gpus=2, calls={"*.0": "return 15", "*.1": "return 3"})
    spec = script("nvml", "own/nvml_probe.py", own(), refusing, "--path", *own_import_path(), **LIMITS)
    assert kinds(ran(spec), events.NVML) >= {events.NvmlPart, events.NvmlGpuPart, DeviceCount}


def test_libcuda(fake_cuda: Environ) -> None:
    spec = script("libcuda", "target/libcuda_probe.py", isolated(sys.executable), fake_cuda(gpus=2), **LIMITS)
    assert kinds(ran(spec), events.LIBCUDA) >= {events.LibcudaPart, events.CudaDevicePart, DeviceCount}


@pytest.mark.parametrize(("calls", "last"), [({}, KernelResult), ({"cuMemAlloc": "return 2"}, Stopped)])
def test_context(fake_cuda: Environ, calls: dict[str, str], last: type) -> None:
    environ = fake_cuda(gpus=1, calls=calls)
    spec = script("context", "target/cuda_context_probe.py", isolated(sys.executable), environ, "--device", "0", **LIMITS)
    assert kinds(ran(spec), events.CONTEXT) >= {CudaCall, events.ContextPart, last}


def test_python() -> None:
    spec = script("python", "target/python_probe.py", (sys.executable,), os.environ, "--find", "torch,tensorflow", **LIMITS)
    assert kinds(ran(spec), events.PYTHON) == {PythonReport, InsideReport}


def test_the_xray_of_an_environment() -> None:
    path = own_import_path()
    asked = xrayed_frameworks(frameworks(path, installed_packages(path).distributions))
    spec = script("libraries", "own/libraries_probe.py", own(), os.environ, *xray_arguments(sys.executable, path, asked, "/"), **LIMITS)
    found = kinds(ran(spec), events.LIBRARIES)
    assert found >= {Preloaded}
    assert (FrameworkLibraries in found) is bool(asked)


def test_the_xray_of_files(tmp_path: Path) -> None:
    words = xray_arguments(sys.executable, own_import_path(), (), "/")
    files = ("--file", os.path.realpath(sys.executable), "--file", str(tmp_path / "nowhere.so"))
    spec = script("libraries", "own/libraries_probe.py", own(), os.environ, *words, *files, **LIMITS)
    assert kinds(ran(spec), events.FILES) >= {events.ReadFile, UnreadFile}


def test_the_watch_under_load(fake_nvml: Environ) -> None:
    lines: list[bytes] = []
    environ = fake_nvml(gpus=[Card(utilization=(97, 60))])
    spec = script("load", "own/nvml_load.py", own(), environ, "--gpus", "0", "--path", *own_import_path(), **LIMITS)
    with Supervisor(time.monotonic() + 60) as supervisor:
        supervisor.start(spec, lines.append)
        supervisor.wait(["load"], time.monotonic() + 3)
    heard = Heard(ChildOutcome(name="load", end=ChildEnd.STOPPED, lines=tuple(lines)), TELEMETRY_EVENTS, "")
    assert heard.strange == ""
    assert {type(event) for event in heard.events} >= {Pids, NvmlSample}
