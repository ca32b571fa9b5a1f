"""From a child's lines to the snapshot: measurements, and both networks."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from gpudoctor.process import ChildEnd, ChildOutcome, KillCount
from gpudoctor.smoke import TrainingPlan
from gpudoctor.smoke.results import smoke_of_outcome
from gpudoctor.snapshot import Agreement, Missing, Smoke
from tests.smoke.told import agreed, trained

PLAN = TrainingPlan(framework="torch", executable="python", devices=(1,), addresses={1: "0000:02:00.0"}, left_alone=(), measure=True)


def smoke(*events: dict[str, Any]) -> Smoke:
    lines = [json.dumps(event).encode() for event in (*events, {"event": "done"})]
    return smoke_of_outcome(PLAN, ChildOutcome(name="smoke torch", end=ChildEnd.EXITED, lines=tuple(lines)))


def test_a_strange_device_has_no_address() -> None:
    copy = {"event": "copy", "direction": "to", "pinned": True, "size": 1 << 20, "bytes_per_second": 2.5e10}
    found = smoke(*({**copy, "device": device} for device in ("GPU:1", "GPU:²", "GPU:" + "9" * 5000)))
    assert [one.address for one in found.copies if isinstance(one.address, str)] == ["0000:02:00.0"]


def test_figures_belong_to_the_gpu_at_their_address() -> None:
    where = {"device": "GPU:1"}
    found = smoke(
        {"event": "copy", **where, "direction": "to", "pinned": True, "size": 1 << 20, "bytes_per_second": 2.5e10},
        {"event": "memory", **where, "size": 1 << 30, "bytes_per_second": 1.7e12},
        {"event": "product", **where, "precision": "tf32", "size": 8192, "flops": 1.3e14, "error": "nan", "tolerance": 5e-4},
        {
            "event": "compiled",
            **where,
            "compiler": "torch.compile",
            "seconds": 12.5,
            "step_seconds": 0.001,
            "loss_difference": 0.0,
            "loss_tolerance": 1e-3,
        },
        {"event": "speed", **where, "network": "convolutional", "batch": 1024, "samples_per_second": 4e5, "cpu_samples_per_second": 3e4},
    )
    figures: list[Any] = [*found.copies, *found.memory, *found.products, *found.compiled, *found.speeds]
    assert [figure.address for figure in figures] == ["0000:02:00.0"] * 5
    assert (found.copies[0].pinned, found.memory[0].size, found.products[0].error) == (True, 1 << 30, "nan")
    assert (found.compiled[0].compiler, found.speeds[0].cpu_samples_per_second) == ("torch.compile", 3e4)


def test_each_network_has_its_own_comparison() -> None:
    listed = {"event": "end", "stage": "devices", "seconds": 1.0, "networks": ["dense", "convolutional"]}
    found = smoke(listed, trained("GPU:1"), trained("GPU:1", "convolutional"), agreed("GPU:1"))
    dense, convolutional = found.trainings
    assert found.networks == ("dense", "convolutional")
    assert (dense.network, convolutional.network) == ("dense", "convolutional")
    assert isinstance(dense.agreement, Agreement)
    assert isinstance(convolutional.agreement, Missing)


@pytest.mark.parametrize(
    ("end", "code", "where", "told"),
    [
        (ChildEnd.SIGNALLED, signal.SIGKILL, "/proc/vmstat", True),
        (ChildEnd.SIGNALLED, signal.SIGKILL, "memory.events", True),
        (ChildEnd.SIGNALLED, signal.SIGSEGV, "memory.events", False),
        (ChildEnd.EXITED, 1, "memory.events", True),
        (ChildEnd.EXITED, 1, "/proc/vmstat", False),
    ],
)
def test_another_processs_out_of_memory_is_not_reported(end: ChildEnd, code: int, where: str, told: bool) -> None:
    outcome = ChildOutcome(name="smoke torch", end=end, code=code, memory_kills=KillCount(1, where))
    assert isinstance(smoke_of_outcome(PLAN, outcome).memory_kills, Missing) is not told
