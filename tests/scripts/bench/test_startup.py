"""What scripts/bench/startup measures and concludes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.scripts.programs import ROOT, script

SPIN = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass"


def test_the_benchmark_counts_the_cpu_time_of_grandchildren() -> None:
    benchmark = script("bench/startup")
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SPIN!r}]); sys.exit(3)"
    command = benchmark.Command("spin", [sys.executable, "-I", "-c", code], dict(os.environ))
    command.measure()
    assert command.exits == {3}
    assert 0.2 < command.cpu[0] < 2
    assert command.wall[0] > 0.2


def test_the_benchmark_reports_the_memory_of_the_process_alone() -> None:
    benchmark = script("bench/startup")
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'x = bytearray(200 << 20)']); y = bytearray(40 << 20)"
    command = benchmark.Command("memory", [sys.executable, "-I", "-c", code], dict(os.environ))
    assert 40 < command.peak_memory(repeats=2) < 120


def test_the_benchmark_divides_round_by_round() -> None:
    benchmark = script("bench/startup")

    def command(name: str, wall: Sequence[float]) -> Any:
        return benchmark.Command(name, ["/bin/true"], {}, list(wall), [second / 2 for second in wall], {0})

    every = [
        command("empty Typer command, m", [1.0, 2.0, 4.0]),
        command("gpudoctor check --no-smoke, m", [2.0, 8.0, 12.0]),
        command("other 1.0, m", [0.5, 0.5, 99.0]),
    ]
    empty, ours, other = benchmark.rows(every)
    assert (empty.wall_ratio, ours.wall_ratio, ours.cpu_ratio, other.wall_ratio) == (1, 3, 3, 0.5)
    assert (ours.wall, ours.cpu, ours.exits) == (8000, 4000, (0,))
    told = "\n".join(benchmark.goals([empty, ours, other]))
    assert "3.00 times the empty command, wanted at most 2.5: missed" in told
    assert "faster than gpudoctor (8000 ms): other 1.0 (500 ms)" in told


def test_the_benchmarks_machines_match_their_names(tmp_path: Path) -> None:
    benchmark = script("bench/startup")
    seen = {}
    for name, environ in benchmark.machines(tmp_path).items():
        command = [sys.executable, "-m", "gpudoctor", "check", "--no-smoke", "--format", "json"]
        done = subprocess.run(command, env={**environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False)
        seen[name] = json.loads(done.stdout)["proved_to"]
    assert seen["no driver"]["of"] == 0
    assert (seen["eight GPUs"]["rung"], seen["eight GPUs"]["gpus"], seen["eight GPUs"]["of"]) == ("libcuda", 8, 8)
