"""scripts/bench/fit: its networks, what it concludes from a measurement, and the allocator that it counts with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from gpudoctor.fit.counted_models import PresetNetwork
from gpudoctor.fit.model import LinearInBatch, Model
from tests.scripts.programs import SCRIPTS, script

fit = script("bench/fit")
ROWS, SHAPE = next((rows, shape) for name, rows, shape in fit.networks(0) if name == "transformer 0")


def traced(factor: float) -> Model:
    """A trace that keeps this multiple of what the formula says."""
    model = PresetNetwork(ROWS, SHAPE).model("transformer 0")
    assert model.full
    full = msgspec.structs.replace(model.full, kept=LinearInBatch(round(factor * model.full.kept.per_sample)))
    return msgspec.structs.replace(model, full=full, traced_by="torch")


def test_the_networks_of_a_seed_are_always_the_same_and_each_can_be_counted() -> None:
    assert list(fit.networks(1)) == list(fit.networks(1))
    networks = list(fit.networks(1))
    assert networks != list(fit.networks(2))
    assert len(networks) == 15
    assert all(PresetNetwork(rows, shape).model(name).step_flops for name, rows, shape in networks)


@pytest.mark.parametrize(("trace", "parameters", "bad"), [(1.04, 0, False), (1.06, 0, True), (0.94, 0, True), (1.0, 1, True)])
def test_a_trace_beyond_the_bar_or_with_other_parameters_is_bad(trace: float, parameters: int, *, bad: bool) -> None:
    formula = PresetNetwork(ROWS, SHAPE).model("transformer 0")
    assert formula.full
    measured = {"parameters": formula.parameters + parameters, "steps": [{"batch": 64, "kept": formula.full.kept.at(64)}]}
    result = fit.Result("torch", "transformer 0")
    fit.compare(result, traced(trace), formula, measured)
    assert result.bad is bad
    assert f"torch, trace: at most {abs(100 * (trace - 1)):.2f} % off, for transformer 0." in fit.summary([result])


def test_the_allocator_counts_what_is_held_and_the_most(tmp_path: Path) -> None:
    shim = tmp_path / "allocations.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", shim, SCRIPTS / "bench" / "allocations.c"], check=True)
    program = """
import ctypes
memory = ctypes.CDLL(None)
memory.allocations_held.restype = memory.allocations_most.restype = ctypes.c_long
before, _ = memory.allocations_held(), memory.allocations_most()
kept = bytearray(10 << 20)
freed = bytearray(5 << 20)
del freed
print((memory.allocations_held() - before) >> 20, (memory.allocations_most() - before) >> 20)
"""
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], env={**os.environ, "LD_PRELOAD": str(shim)}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "10 15\n"
