"""The scripts in Python: the generated text, the benchmark, the plain loops."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gpudoctor.diagnose import RULES

ROOT = Path(__file__).resolve().parents[2]


def script(name: str) -> ModuleType:
    """A script without suffix, as a module."""
    loader = SourceFileLoader(f"script_{name}", str(ROOT / "scripts" / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


def generate(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "scripts" / "generate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_generated_text_that_is_out_of_date_is_told_and_written_anew(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    text = (ROOT / "README.md").read_text()
    assert text.count("`driver-too-old`") > 0
    readme.write_text(text.replace("`driver-too-old`", "`driver-is-old`"))
    assert generate("--check", readme).returncode == 1
    assert generate(readme).returncode == 0
    assert readme.read_text() == text
    assert generate("--check", readme).returncode == 0


def test_a_lost_marker_is_told(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text((ROOT / "README.md").read_text().replace("scripts/generate: rules -->", "scripts/generate: rule -->"))
    done = generate(readme)
    assert (done.returncode, "the markers name" in done.stderr) == (2, True)


def test_every_rule_has_the_anchor_that_its_findings_link_to() -> None:
    table = script("generate").rules()
    for rule in RULES:
        assert f'<a id="{rule.code.lower()}"></a>{rule.code} | `{rule.name}`' in table


SPIN = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass"


def test_the_benchmark_counts_the_cpu_time_of_grandchildren() -> None:
    benchmark = script("benchmark")
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SPIN!r}]); sys.exit(3)"
    command = benchmark.Command("spin", [sys.executable, "-I", "-c", code], dict(os.environ))
    command.measure()
    assert command.exits == {3}
    assert 0.2 < command.cpu[0] < 2
    assert command.wall[0] > 0.2


def test_the_benchmark_tells_the_memory_of_the_process_alone() -> None:
    benchmark = script("benchmark")
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'x = bytearray(200 << 20)']); y = bytearray(40 << 20)"
    command = benchmark.Command("memory", [sys.executable, "-I", "-c", code], dict(os.environ))
    assert 40 < command.peak_memory(repeats=2) < 120


def test_the_benchmark_divides_round_by_round() -> None:
    benchmark = script("benchmark")

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
    assert "quicker than gpudoctor (8000 ms): other 1.0 (500 ms)" in told


def test_the_benchmarks_machines_are_what_they_are_called(tmp_path: Path) -> None:
    benchmark = script("benchmark")
    seen = {}
    for name, environ in benchmark.machines(tmp_path).items():
        command = [sys.executable, "-m", "gpudoctor", "check", "--no-smoke", "--format", "json"]
        done = subprocess.run(command, env={**environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False)
        seen[name] = json.loads(done.stdout)["proved_to"]
    assert seen["no driver"]["of"] == 0
    assert (seen["eight GPUs"]["rung"], seen["eight GPUs"]["gpus"], seen["eight GPUs"]["of"]) == ("libcuda", 8, 8)


def speed_of(python: str | Path, framework: str) -> float:
    command = [python, ROOT / "scripts" / f"loop_{framework}.py", "cpu", "64"]
    return float(subprocess.run(command, capture_output=True, timeout=120, check=True).stdout)


def test_the_plain_loop_in_tensorflow_trains() -> None:
    assert speed_of(sys.executable, "tensorflow") > 0


@pytest.mark.index
@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_the_other_plain_loops_train(framework: str, framework_python: Callable[[str], Path]) -> None:
    assert speed_of(framework_python(framework), framework) > 0
