"""The real all-reduce over two virtual CPUs in each framework, right and wrong, and what the child leaves behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.cli.test_smoke import marked
from tests.smoke.child import SCRIPT, Run, load
from tests.smoke.collectives import CRASHES, hangs, not_a_number_in_jax, wrong

Start = Callable[..., Run]
LISTENING = "0A"  # in /proc/net/tcp: include/net/tcp_states.h


@pytest.fixture(
    scope="module", params=["tensorflow", pytest.param("torch", marks=pytest.mark.index), pytest.param("jax", marks=pytest.mark.index)]
)
def framework(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def interpreter(framework: str, request: pytest.FixtureRequest) -> Path | None:
    return None if framework == "tensorflow" else request.getfixturevalue("framework_python")(framework)


@pytest.fixture(scope="module")
def start(framework: str, interpreter: Path | None, smoke: Start) -> Start:
    def run(**options: Any) -> Run:
        return smoke("--devices", "cpu", "--all-reduce", framework=framework, **{"interpreter": interpreter, **options})

    return run


@pytest.fixture(scope="module")
def right_and_left(start: Start, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, list[Path]]:
    """A right all-reduce, and what it left in its temporary folder."""
    temporary = tmp_path_factory.mktemp("temporary")
    return start(settings={"TMPDIR": str(temporary)}, traced=True), list(temporary.iterdir())


def test_both_devices_get_the_exact_sums_of_both_sizes(right_and_left: tuple[Run, list[Path]]) -> None:
    run, left = right_and_left
    assert run.status == 0, run.errors[-2000:]
    sums = run.all("sum")
    assert [(total["error"], total["wrong"], total["repetitions"]) for total in sums] == [(0.0, [], 3)] * 2
    assert [total["size"] for total in sums] == [4 << 10, 4 << 20]
    for total in sums:
        assert total["bus_bytes_per_second"] == pytest.approx(total["size"] / total["seconds"])  # 2 (n - 1) / n is 1 for two
    assert run.outline()[-4:] == ["sum", "sum", "end all-reduce", "done"]
    assert run.marks.count("connecting the devices") or "CPU:1: connecting the devices" in run.marks
    assert left == []


def test_the_all_reduce_connects_to_this_machine_only(right_and_left: tuple[Run, list[Path]]) -> None:
    if right_and_left[0].network is None:
        pytest.skip("needs strace (Debian: strace)")
    assert right_and_left[0].network == ()


def test_one_wrong_element_on_one_device_is_detected(start: Start, framework: str, request: pytest.FixtureRequest) -> None:
    at_hand = {"interpreter": request.getfixturevalue("imported_tensorflow")} if framework == "tensorflow" else {}
    run = start(patch=wrong(framework), **at_hand)
    assert [(one["error"], one["wrong"]) for one in run.all("sum")] == [(1 / 64, ["CPU:1"])] * 2


@pytest.mark.index
def test_a_nan_is_an_error(smoke: Start, framework_python: Callable[[str], Path]) -> None:
    run = smoke("--devices", "cpu", "--all-reduce", framework="jax", interpreter=framework_python("jax"), patch=not_a_number_in_jax())
    assert [(one["error"], one["wrong"]) for one in run.all("sum")] == [("nan", ["CPU:1"])] * 2


def test_a_missing_framework_fails_before_the_all_reduce(smoke: Start) -> None:
    run = smoke("--devices", "cpu", "--all-reduce", framework="torch")
    failed = run.one("failed", stage="processes")
    assert failed["error"].endswith(", import: No module named 'torch'")
    assert (run.status, run.all("sum")) == (1, [])


@pytest.mark.index
def test_a_process_that_dies_is_named(smoke: Start, framework_python: Callable[[str], Path]) -> None:
    run = smoke("--devices", "cpu", "--all-reduce", framework="torch", interpreter=framework_python("torch"), patch=CRASHES)
    failed = run.one("failed", stage="all-reduce")
    assert failed["error"] == "CPU:1, its process: was killed by signal 11"


def test_content_differs_on_every_device_and_sums_exactly(all_reduce: ModuleType) -> None:
    """NumPy plays the engine: seven devices, whose parts are added in any order."""
    given: list[list[np.ndarray[Any, Any]]] = []

    class Engine:
        memory = dict.fromkeys(range(7), (1 << 30, 1 << 32))
        order = 1

        def adders(self, _logicals: list[str], arrays: list[Any], count: int) -> list[Callable[[], list[Any]]]:
            given.append(arrays)
            total = np.zeros_like(arrays[0])
            for array in arrays[:: self.order]:
                total = total + array
            return [lambda: [total] * len(arrays)] * count

        wait = staticmethod(lambda _one: None)
        download = staticmethod(lambda one, _pinned: one)

    class Stages:
        engine, answers, np = Engine(), None, np

    for order in (1, -1):
        Stages.engine.order = order
        seconds, errors = all_reduce.AllReduce(Stages, list(range(7))).timed_sum(1 << 20, ["x"] * 7, 0)
        assert seconds > 0
        assert errors == {f"GPU:{number}": 0.0 for number in range(7)}
    parts = given[0]
    assert all(part.dtype == np.float32 and np.all(part != 0) for part in parts)
    assert all(not np.any(part == other) for number, part in enumerate(parts) for other in parts[:number])


@pytest.mark.parametrize(
    ("limits", "large"), [([40 << 30], 128 << 20), ([40 << 30, 1 << 30], 102 << 20), ([1 << 20], 4 << 10), ([], 25 << 20)]
)
def test_sizes_fit_the_smallest_share(all_reduce: ModuleType, limits: list[int], large: int) -> None:
    class Stages:
        class engine:  # noqa: N801 -- stands for an object
            memory = {number: (limit, 80 << 30) for number, limit in enumerate(limits)}  # noqa: RUF012 -- the same

        answers = np = None

    assert all_reduce.AllReduce(Stages, [0, 1]).sizes() == (4 << 10, large)
    assert all_reduce.AllReduce(Stages, []).sizes() == (4 << 10, 4 << 20)


@pytest.fixture(scope="module")
def all_reduce() -> ModuleType:
    return load("all_reduce")


def listening(pid: str) -> Iterator[str]:
    """The addresses on which a process listens for TCP."""
    held = {str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir() if file.is_symlink()}
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            words = bytes.fromhex(fields[1].partition(":")[0])
            if fields[3] == LISTENING and f"socket:[{fields[9]}]" in held:
                yield socket.inet_ntop(family, b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4)))


@pytest.mark.index
def test_torch_listens_only_locally_and_its_processes_die_with_the_child(framework_python: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(hangs("torch"))
    marker = f"GPUDOCTOR_TEST_MARK={os.getpid()}-{time.monotonic_ns()}"
    name, _, value = marker.partition("=")
    reading, writing = os.pipe()
    command = [str(framework_python("torch")), str(SCRIPT), "--framework", "torch", "--answer-fd", str(writing), "--devices", "cpu"]
    environment = {**os.environ, name: value, "PYTHONPATH": str(tmp_path), "TMPDIR": str(tmp_path)}
    with subprocess.Popen([*command, "--all-reduce"], cwd="/", env=environment, pass_fds=(writing,), stderr=subprocess.DEVNULL) as child:
        os.close(writing)
        with os.fdopen(reading, encoding="ascii") as answers:
            while "CPU:0: an all-reduce" not in answers.readline():
                pass
            time.sleep(1)
            ranks = [pid for pid in marked(marker) if b"--rank" in Path(f"/proc/{pid}/cmdline").read_bytes()]
            assert len(ranks) == 2
            addresses = {address for pid in ranks for address in listening(pid)}
            assert addresses  # gloo's own
            assert addresses <= {"127.0.0.1", "::1"}
            child.send_signal(signal.SIGKILL)
    until = time.monotonic() + 5
    while marked(marker) and time.monotonic() < until:
        time.sleep(0.05)
    assert marked(marker) == []
