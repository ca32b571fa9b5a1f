"""The watch over GPUs under load: a real sampling child over our NVML, a process that loads it, and events like those of training."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.probe.telemetry import GpuWatch
from gpudoctor.probe.telemetry_summary import GpuSamples, NvmlSample
from gpudoctor.process import ChildSpec, Supervisor
from gpudoctor.progress import Event, ignore_event
from gpudoctor.snapshot import Cause, GpuLoad, Held, Loads, Missing, Nvml, NvmlGpu, Snapshot, Span, decode_snapshot, encode_snapshot
from tests.builders import machine
from tests.seams import Nvml as Library
from tests.seams import NvmlGpu as Card

Shims = Callable[..., dict[str, str]]
GIB = 1 << 30
BUSY = Card(
    clock_sm=(1305, 1410),
    clocks_event_reasons=0x4,
    utilization=(97, 60),
    temperature=71,
    power_usage=398_000,
    memory_used=2 * GIB,
    compute_processes=((0, GIB), (4711, 5 << 20)),
)
HOST_PIDS = Path("/proc/self/ns/pid").stat().st_ino == 0xEFFFFFFC


def seen(*addresses: str) -> Nvml:
    return Nvml(gpus=tuple(NvmlGpu(index, address=address, memory_used=0) for index, address in enumerate(addresses)))


ADDRESSES = tuple(f"0000:{0x07 + 8 * index:02x}:00.0" for index in range(8))


class Play:
    """A training of so many seconds on GPU:0 under a watch."""

    def __init__(self, environ: dict[str, str], gpus: int = 1) -> None:
        self.environ = environ
        self.places = {f"GPU:{number}": ADDRESSES[number] for number in range(gpus)}

    def __call__(self, seconds: float = 0.8, stage: str = "training") -> Loads | Missing:
        others = set(children_of(os.getpid()))  # of other tests, such as what forks gpudoctor for them
        with Supervisor(time.monotonic() + 60) as supervisor:
            watch = GpuWatch(supervisor, seen(*self.places.values()), self.places, self.environ)
            hear = watch.recording_progress(ignore_event)
            code = (
                "import os, sys, time\nos.write(int(sys.argv[1]), b'@begun\\n')\n"
                f"open(os.environ['FAKE_LOAD'], 'w').write(str(os.getpid()))\ntime.sleep({seconds})"
            )
            watch.begin()
            hear(Event("begin", "import", "torch"))
            hear(Event("end", "import", "torch"))
            hear(Event("begin", stage, "torch", "dense", "GPU:0"))
            supervisor.start(ChildSpec(name="training", argv=(sys.executable, "-c", code, "{answer}"), environment=self.environ))
            ended = supervisor.wait(["training"])["training"]
            assert ended.trouble == ""
            hear(Event("end", stage, "torch", "dense", "GPU:0"))
            found = watch.finish()
            left = supervisor.wait(["load"])
        assert all(not Path("/proc", str(pid)).exists() for pid in set(children_of(os.getpid())) - others), left
        return found


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.fixture
def play(shim_environment: Shims, tmp_path: Path) -> Callable[..., Play]:
    def playing(*cards: Card, **library: Any) -> Play:
        environ = shim_environment(Library(gpus=cards, **library))
        return Play({**environ, "FAKE_LOAD": str(tmp_path / "load")}, len(cards))

    return playing


def only(loads: Loads | Missing) -> GpuLoad:
    assert isinstance(loads, Loads), loads
    (load,) = loads.gpus
    return load


def test_a_gpu_is_seen_at_work(play: Callable[..., Play]) -> None:
    loads = play(Card(pcie_gen=(1, 4), loaded=BUSY))()
    load = only(loads)
    (stage,) = load.stages
    assert (load.framework, load.address, stage.stage) == ("torch", ADDRESSES[0], "training")
    assert (load.listed, load.own_memory) == (True, GIB)
    assert (load.memory_before, load.memory_most, load.utilization) == (0, 2 * GIB, 97)
    assert stage.clock_sm == Span(1305, 1305, 1305)
    assert (stage.power, stage.power_limit, stage.temperature, stage.link_generation) == (398_000, 400_000, 71, 4)
    assert isinstance(stage.held, tuple)
    assert 0x4 in {held.reasons for held in stage.held}
    assert stage.samples == sum(held.samples for held in stage.held) >= 4
    assert isinstance(loads, Loads)
    assert loads.cut == ""


def test_a_gpu_used_by_others_is_not_attributed_to_us(play: Callable[..., Play]) -> None:
    load = only(play(Card(compute_processes=((1, GIB),)))())
    assert load.listed is False if HOST_PIDS else isinstance(load.listed, Missing)
    assert isinstance(load.own_memory, Missing)


def test_only_the_gpu_of_a_stage_has_that_stage(play: Callable[..., Play]) -> None:
    assert only(play(Card(), Card(), Card())()).address == ADDRESSES[0]


def test_a_stage_without_a_device_is_one_of_every_gpu() -> None:
    watch = GpuWatch(Supervisor(), seen(*ADDRESSES[:2]), {"GPU:0": ADDRESSES[0], "GPU:1": ADDRESSES[1]}, {})
    watch.recording_progress(ignore_event)(Event("begin", "all-reduce", "torch"))
    for gpu in (0, 1):
        watch.take(json.dumps({"type": "sample", "gpu": gpu}).encode())
    assert [list(samples._stages) for samples in watch._gathered.values()] == [[("all-reduce", "")], [("all-reduce", "")]]


@pytest.mark.parametrize("act", ["return 3", "return 4", "return 999"])
def test_a_failing_call_loses_one_field(play: Callable[..., Play], act: str) -> None:
    (stage,) = only(play(Card(loaded=BUSY), calls={"nvmlDeviceGetTemperature": act})()).stages
    assert isinstance(stage.temperature, Missing)
    assert stage.power == 398_000


def test_unsupported_fields_are_reported(play: Callable[..., Play]) -> None:
    bare = Card(compute_processes=None, utilization=None, pcie_gen=None, pcie_width=None, pcie_replays=None, clocks_event_reasons=None)
    load = only(play(bare)())
    (stage,) = load.stages
    for value in (load.listed, stage.utilization, stage.link_generation, stage.replays, stage.held):
        assert isinstance(value, Missing)
        assert value.cause is Cause.UNSUPPORTED
    assert stage.clock_sm == Span(210, 210, 210)


@pytest.mark.parametrize("act", ["after 3 crash", "crash"])
def test_a_crash_only_loses_the_samples(play: Callable[..., Play], act: str) -> None:
    loads = play(Card(loaded=BUSY), calls={"nvmlDeviceGetPowerUsage": act})()
    if act == "crash":
        assert isinstance(loads, Missing)
        assert "SIGSEGV" in loads.reason
    else:
        assert isinstance(loads, Loads)
        assert "SIGSEGV" in loads.cut
        assert loads.gpus[0].stages[0].samples == 3


@pytest.mark.parametrize("act", ["hang", "stuck"])
def test_a_hang_only_loses_the_samples(play: Callable[..., Play], act: str) -> None:
    loads = play(Card(loaded=BUSY), calls={"nvmlDeviceGetPowerUsage": f"after 3 {act}"})(seconds=6.0)
    assert isinstance(loads, Loads)
    assert "did not respond" in loads.cut
    assert only(loads).stages[0].samples == 3


def test_an_nvml_that_does_not_start_is_reported(play: Callable[..., Play]) -> None:
    loads = play(Card(), calls={"nvmlInit": "return 18"})()
    assert isinstance(loads, Missing)
    assert "nvmlInit answered 18" in loads.reason


def test_one_lost_gpu_only_loses_itself(play: Callable[..., Play]) -> None:
    run = play(Card(loaded=BUSY), Card(), calls={"nvmlDeviceGetHandleByIndex.1": "return 15"})
    assert only(run()).listed is True


def test_without_nvml_or_gpus_nothing_is_started() -> None:
    for nvml, places in ((Missing(Cause.ABSENT, "no"), {"GPU:0": ADDRESSES[0]}), (seen(*ADDRESSES), {})):
        with Supervisor() as supervisor:
            watch = GpuWatch(supervisor, nvml, places, {})
            watch.begin()
            assert supervisor.wait(["load"]) == {}
            found = watch.finish()
        assert isinstance(found, Missing)
        assert found.cause is Cause.NOT_ASKED


def test_sampling_eight_gpus_takes_at_most_two_percent_of_a_core(play: Callable[..., Play]) -> None:
    """A fiftieth; the constant cost of the start is the difference of two durations."""
    run = play(*[Card(loaded=BUSY)] * 8)
    short, long = run(0.5), run(3.5)
    assert isinstance(short, Loads)
    assert isinstance(long, Loads)
    assert (long.cpu_seconds - short.cpu_seconds) / (long.seconds - short.seconds) < 0.025


def gathered(*samples: dict[str, Any], pids_of_host: bool | Missing = True, **refused: Missing) -> GpuLoad:
    of_gpu = GpuSamples("torch", ADDRESSES[0])
    for number, sample in enumerate(samples):
        of_gpu.add(NvmlSample(gpu=0, at=float(number), **sample), ("training", "dense"))
    load = of_gpu.load(0, refused, pids_of_host=pids_of_host)
    assert load is not None
    return load


def test_clocks_are_sampled_during_work() -> None:
    """While a training compiles, the GPU idles at low clocks, which mean nothing."""
    idle = {"clock_sm": 210, "clocks_event_reasons": 0x1, "utilization": 50}
    over = {"clock_sm": 300, "clocks_event_reasons": 0x0, "utilization": 0}
    work = ({"clock_sm": clock, "clocks_event_reasons": 0x4, "utilization": 90} for clock in (1400, 1395, 1410))
    (stage,) = gathered(idle, over, *work).stages
    assert stage.clock_sm == Span(1395, 1400, 1410)
    assert stage.held == (Held(0x4, 3), Held(0x1, 1), Held(0x0, 1))
    assert isinstance(gathered(idle).stages[0].clock_sm, Missing)


def test_replays_are_counted_within_the_stage() -> None:
    assert gathered({"pcie_replays": 70}, {}, {"pcie_replays": 75}).stages[0].replays == 5
    assert gathered({"pcie_replays": 70}, {"pcie_replays": 2}).stages[0].replays == 0


@pytest.mark.parametrize(
    ("sample", "pids", "listed"),
    [
        ({"listed": 1, "own": 1}, True, True),
        ({"listed": 1, "own": 1}, False, True),
        ({"listed": 1, "own": 0}, True, False),
        ({"listed": 0, "own": 0}, True, False),
        ({"listed": 1, "own": 0}, False, None),
        ({"listed": 0, "own": 0}, Missing(Cause.FAILED, "no /proc"), None),
        ({}, True, None),
    ],
)
def test_a_process_list_only_proves_absence_in_our_pid_namespace(sample: dict[str, int], pids: bool | Missing, listed: bool | None) -> None:
    found = gathered(sample, pids_of_host=pids).listed
    assert found is listed or (listed is None and isinstance(found, Missing))


VALUES = st.one_of(st.integers(), st.integers(0, 1 << 40), st.none(), st.text(max_size=3), st.floats(), st.lists(st.integers(), max_size=2))
FIELDS = st.dictionaries(st.sampled_from([*NvmlSample.__struct_fields__, "fields", "of_host", "cause", "reason"]), VALUES, max_size=9)
LINES = st.one_of(
    st.binary(max_size=60),
    st.tuples(st.sampled_from(["sample", "refused", "pids", "missing", "nvml"]), FIELDS).map(
        lambda pair: json.dumps({**pair[1], "type": pair[0]}).encode()
    ),
)


@settings(deadline=None)
@given(st.lists(LINES, max_size=12))
def test_any_answer_of_the_child_leaves_a_valid_snapshot(lines: list[bytes]) -> None:
    with Supervisor() as supervisor:
        watch = GpuWatch(supervisor, seen(ADDRESSES[0]), {"GPU:0": ADDRESSES[0]}, {})
        supervisor.start(ChildSpec(name="load", argv=("/bin/true",)))
        watch.recording_progress(ignore_event)(Event("begin", "training", "torch", "dense", "GPU:0"))
        for line in lines:
            watch.take(line)
        whole: Snapshot = machine(loads=watch.finish())
    assert decode_snapshot(encode_snapshot(whole)) == whole
