"""The scripts in Python: the generated text, the benchmark, the acceptance on a GPU over our C libraries."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gpudoctor.diagnose import RULES
from tests.machines.build import again
from tests.seams import Cuda, Nvml, NvmlGpu, PciCard, Tree, environ_with, seen_by_child

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


SMI = """#!{python}
import json, sys
said = json.load(open({answers!r}))
asked = [argument.partition("=")[2].split(",") for argument in sys.argv if argument.startswith("--query-")]
if sys.argv[1:2] == ["nvlink"]:
    print("GPU 0: %s" % said[0]["name"])
    for link, state in enumerate(said[int(sys.argv[-1])]["links"].split()):
        print("\t Link %d: %s" % (link, "<inactive>" if state == "down" else state + " GB/s"))
    sys.exit()
if not asked:
    print("| NVIDIA-SMI 550.163.01   Driver Version: 550.163.01   CUDA Version: 12.4 |")
    sys.exit()
if sys.argv[1].startswith("--query-compute-apps"):
    sys.exit()
for field in asked[0]:
    if field not in said[0]:
        sys.exit('Field "%s" is not a valid field to query.' % field)
for row in said:
    print(", ".join(row[field] for field in asked[0]))
"""


def as_smi(card: NvmlGpu) -> dict[str, str]:
    """What nvidia-smi prints of that card; an older one, which knows no clocks_event_reasons."""
    return {
        "name": str(card.name), "uuid": str(card.uuid), "pci.bus_id": str(card.address), "compute_cap": "8.0", "driver_version": "550.163.01",
        "memory.total": "81920", "memory.used": "0", "memory.free": "80000", "mig.mode.current": "Disabled", "mig.mode.pending": "Disabled",
        "ecc.mode.current": "Enabled", "ecc.errors.uncorrected.volatile.total": "0", "compute_mode": "Default", "persistence_mode": "Enabled",
        "pcie.link.gen.current": "1", "pcie.link.gen.max": "4", "pcie.link.width.current": "16", "pcie.link.width.max": "16",
        "temperature.gpu": "33", "power.draw": "61.02", "enforced.power.limit": "400.00",
        "ecc.mode.pending": "Enabled", "ecc.errors.corrected.volatile.total": "0", "ecc.errors.corrected.aggregate.total": "0",
        "ecc.errors.uncorrected.aggregate.total": "0", "pstate": "P0", "clocks.max.sm": "1410", "gpu_uuid": str(card.uuid),
        "remapped_rows.correctable": "0", "remapped_rows.uncorrectable": "0", "remapped_rows.pending": "No", "remapped_rows.failure": "No",
        "power.default_limit": "400.00", "links": " ".join(["25"] * 12),
    }  # fmt: skip


Accept = Callable[..., tuple[int, str, Path]]


@pytest.fixture
def accept(tmp_path: Path) -> Accept:
    """Runs gpu_acceptance on two of our GPUs, beside an nvidia-smi that gives these answers; returns its code, its words and its folder."""

    def run(change: Mapping[str, str] | None = None, *, smi: bool = True) -> tuple[int, str, Path]:
        nvml = Nvml(gpus=2)
        tree = Tree(pci=[PciCard.of(card) for card in nvml.cards], kernel_driver=nvml.driver).build(tmp_path / "root")
        environ = seen_by_child(tree, environ_with(nvml, Cuda(gpus=nvml.gpus), directory=tmp_path / "shims"))
        answers = tmp_path / "answers.json"
        answers.write_text(json.dumps([as_smi(nvml.cards[0]) | dict(change or {}), as_smi(nvml.cards[1])]))
        folder = tmp_path / "bin"
        folder.mkdir()
        if smi:
            (folder / "nvidia-smi").write_text(SMI.format(python=sys.executable, answers=str(answers)))
            (folder / "nvidia-smi").chmod(0o755)
        environ["PATH"] = f"{folder}:/usr/bin:/bin"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "target"], check=True)
        command: list[str | Path] = [sys.executable, ROOT / "scripts" / "gpu_acceptance", "-o", tmp_path / "out", "--repeat", "2"]
        command += ["--python", tmp_path / "target" / "bin" / "python"]
        done = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False)
        return done.returncode, done.stdout + done.stderr, tmp_path / "out"

    return run


def test_the_acceptance_holds_where_nvidia_smi_agrees(accept: Accept) -> None:
    code, said, folder = accept()
    assert code == 0, said
    seen = json.loads((folder / "acceptance.json").read_text())
    facts = {(whose, fact): state for whose, fact, _, _, state in seen["facts"]}
    assert facts["GPU 1", "memory_total"] == facts["driver", "nvml.cuda_served"] == facts["GPU 0", "address"] == "equal"
    assert facts["GPU 0", "remapped_rows.pending"] == facts["GPU 1", "nvlinks"] == facts["GPU 0", "power_limit_default"] == "equal"
    assert facts["GPU 0", "link_generation"] == "changed"
    assert facts["GPU 0", "clocks_event_reasons"] == facts["GPU 0", "minor"] == "not comparable"
    states = {result["what"]: result["state"] for result in seen["results"]}
    assert states["CUDA_VISIBLE_DEVICES empty: root cause cuda-visible-devices-masked"] == "held"
    assert {states[f"{name}: trains on a GPU"] for name in ("tensorflow", "torch", "jax")} == {"skipped"}
    skipped = ("a GPU in use is left alone", "out of memory", "a wrong libcudart first", "the smoke training is as quick as a plain loop")
    assert {states[what] for what in skipped} == {"skipped"}
    reasons = {result["what"]: result["detail"] for result in seen["results"]}
    assert reasons["out of memory"] == "no framework in the examined environment that can be trained with"
    assert states["train: unproven is not ready"] == states["full: unproven is not ready"] == "held"
    assert states["touch: 0000:0f:00.0: the kernel's results are right"] == "held"
    assert states["touch: MIG modes, the list of devices and the cache of compiled kernels are as before"] == "held"
    assert len(seen["seconds"]["look"]) == 2


def test_the_acceptance_fails_where_nvidia_smi_says_otherwise(accept: Accept) -> None:
    code, said, folder = accept({"memory.total": "40960", "ecc.mode.current": "[N/A]", "links": "25 down", "remapped_rows.failure": "Yes"})
    assert code == 1
    assert "GPU 0 nvlinks: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] and [0]" in said
    assert "GPU 0 remapped_rows.failed: False and True" in said
    assert "GPU 0 memory_total: 81920 and 40960" in said
    assert "GPU 0 ecc_enabled: True and [N/A]" in said
    assert "| GPU 1 | memory_total | 81920 | 81920 | equal |" in (folder / "acceptance.md").read_text()


def test_the_acceptance_records_the_machine_without_its_identity(accept: Accept) -> None:
    folder = accept()[2]
    machine = json.loads((folder / "recorded-machine.json").read_text())
    assert again(machine)["findings"] == machine["findings"]
    assert set(machine) == {"about", "policy", "expect", "findings", "snapshot"}
    assert [gpu["uuid"] for gpu in machine["snapshot"]["nvml"]["gpus"]] == [
        "GPU-00000001-0000-0000-0000-000000000001",
        "GPU-00000002-0000-0000-0000-000000000002",
    ]
    assert machine["snapshot"]["libcuda"]["devices"][1]["uuid"] == "GPU-00000002-0000-0000-0000-000000000002"
    for file in folder.iterdir():
        assert "a1000000-1c2d" not in file.read_text()
        assert str(ROOT) not in file.read_text()


def test_the_acceptance_says_where_there_is_nothing_to_compare_with(accept: Accept) -> None:
    code, said, folder = accept(smi=False)
    assert (code, "no nvidia-smi" in said, folder.exists()) == (2, True, False)


@pytest.mark.parametrize(
    ("printed", "state", "detail"),
    [
        ("echo 1000", "held", "980 and 1,000 images per second, 0.980"),
        ("echo 1100", "failed", "980 and 1,100 images per second, 0.891"),
        ("echo no such device >&2; exit 1", "failed", "no such device"),
    ],
)
def test_the_acceptance_holds_the_speed_against_a_plain_loop(printed: str, state: str, detail: str, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{printed}\n")
    python.chmod(0o755)
    accepting = script("gpu_acceptance")
    acceptance = accepting.Acceptance(str(python))
    speeds = [
        {"device": "GPU:0", "batch": 1024, "samples_per_second": 980.0},
        {"device": "GPU:1", "batch": 1024, "samples_per_second": 1.0},
    ]
    reports = {"train torch": {"snapshot": {"smoke": [{"framework": "torch", "speeds": speeds}]}}}
    accepting.against_loops(acceptance, reports, ["torch"])
    (result,) = acceptance.results
    assert (result.state, result.detail) == (state, detail)
    accepting.against_loops(acceptance, {"train torch": {"snapshot": {"smoke": {"cause": "absent"}}}}, ["torch"])
    assert acceptance.results[1].state == "skipped"


def test_the_acceptance_holds_memory_while_it_is_asked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environ_with(Cuda(gpus=2), directory=tmp_path / "shims").items():
        monkeypatch.setenv(name, value)
    accepting = script("gpu_acceptance")
    with accepting.held("400") as problem:
        assert problem == ""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    with accepting.held() as problem:
        assert "libcuda.so.1" in problem


def speed_of(python: str | Path, framework: str) -> float:
    command = [python, ROOT / "scripts" / f"loop_{framework}.py", "cpu", "64"]
    return float(subprocess.run(command, capture_output=True, timeout=120, check=True).stdout)


def test_the_plain_loop_in_tensorflow_trains() -> None:
    assert speed_of(sys.executable, "tensorflow") > 0


@pytest.mark.index
@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_the_other_plain_loops_train(framework: str, framework_python: Callable[[str], Path]) -> None:
    assert speed_of(framework_python(framework), framework) > 0
