"""The acceptance on a GPU, over our C libraries: parts and their deadlines, judgements, and its output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.fit.accounting import RESERVED_BYTES, largest_batch, peak_memory
from gpudoctor.fit.counted_models import SampleSize
from gpudoctor.fit.presets import model_of_name
from gpudoctor.fit.run_options import Asked
from scripts.acceptance import breakages, fits, speed
from scripts.acceptance.results import Acceptance
from tests.machines.diagnoses import again, diagnosed
from tests.seams import Cuda, Nvml, NvmlGpu, PciCard, Tree, environ_with, seen_by_child
from tests.seams.once import once

ROOT = Path(__file__).resolve().parents[2]
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
    """nvidia-smi's output for that card; an older one, without clocks_event_reasons."""
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
    return partial(accepting, tmp_path)


@pytest.fixture
def accepted(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, Path]:
    """The run without a difference, for several tests."""
    return once(tmp_path_factory, "accepted", lambda: accepting(tmp_path_factory.mktemp("accepted")))


def accepting(place: Path, change: Mapping[str, str] | None = None, *, smi: bool = True) -> tuple[int, str, Path]:
    """Run gpu_acceptance on two of our GPUs, beside an nvidia-smi with these answers; return its code, output and folder."""
    nvml = Nvml(gpus=2)
    tree = Tree(pci=[PciCard.of(card) for card in nvml.cards], kernel_driver=nvml.driver).build(place / "root")
    environ = seen_by_child(tree, environ_with(nvml, Cuda(gpus=nvml.gpus), directory=place / "shims"))
    answers = place / "answers.json"
    answers.write_text(json.dumps([as_smi(nvml.cards[0]) | dict(change or {}), as_smi(nvml.cards[1])]))
    folder = place / "bin"
    folder.mkdir()
    if smi:
        (folder / "nvidia-smi").write_text(SMI.format(python=sys.executable, answers=str(answers)))
        (folder / "nvidia-smi").chmod(0o755)
    environ["PATH"] = f"{folder}:/usr/bin:/bin"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / "target"], check=True)
    command: list[str | Path] = [sys.executable, ROOT / "scripts" / "gpu_acceptance", "-o", place / "out", "--repeat", "2"]
    command += ["--python", place / "target" / "bin" / "python"]
    done = subprocess.run(command, env=environ, cwd=place, capture_output=True, text=True, timeout=200, check=False)
    return done.returncode, done.stdout + done.stderr, place / "out"


def test_acceptance_passes_if_nvidia_smi_agrees(accepted: tuple[int, str, Path]) -> None:
    code, said, folder = accepted
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
    skipped = ("a GPU in use is skipped", "out of memory", "a wrong libcudart first", "slow matmuls", "as fast as a plain loop")
    assert {states[what] for what in skipped} == {"skipped"}
    reasons = {result["what"]: result["detail"] for result in seen["results"]}
    assert reasons["out of memory"] == "no framework in the examined environment can train"
    assert states["train: an untrained machine is not ready"] == states["full: an untrained machine is not ready"] == "held"
    assert states["look: unknown without a framework, on every GPU"] == states["look --node: no environment is examined"] == "held"
    assert {states[f"{level} --node: ready, on every GPU"] for level in ("look", "touch")} == {"held"}
    assert states["touch: 0000:0f:00.0: the kernel's results are right"] == "held"
    assert states["touch: MIG modes, the list of devices and the cache of compiled kernels are unchanged"] == "held"
    assert len(seen["seconds"]["look"]) == 3
    assert all(seconds[0] < 60 for what, seconds in seen["seconds"].items() if what.startswith("part: "))
    assert seen["crashes"] == []


def test_acceptance_fails_if_nvidia_smi_disagrees(accept: Accept) -> None:
    code, said, folder = accept({"memory.total": "40960", "ecc.mode.current": "[N/A]", "links": "25 down", "remapped_rows.failure": "Yes"})
    assert code == 1
    assert "GPU 0 nvlinks: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] and [0]" in said
    assert "GPU 0 remapped_rows.failed: False and True" in said
    assert "GPU 0 memory_total: 81920 and 40960" in said
    assert "GPU 0 ecc_enabled: True and [N/A]" in said
    assert "| GPU 1 | memory_total | 81920 | 81920 | equal |" in (folder / "acceptance.md").read_text()


def test_acceptance_records_the_machine_without_its_identity(accepted: tuple[int, str, Path]) -> None:
    folder = accepted[2]
    machine = json.loads((folder / "recorded-machine.json").read_text())
    assert diagnosed(again(machine)) == machine["expect"]
    assert set(machine) == {"about", "made", "policy", "expect", "snapshot"}
    assert [gpu["uuid"] for gpu in machine["snapshot"]["nvml"]["gpus"]] == [
        "GPU-00000001-0000-0000-0000-000000000001",
        "GPU-00000002-0000-0000-0000-000000000002",
    ]
    assert machine["snapshot"]["libcuda"]["devices"][1]["uuid"] == "GPU-00000002-0000-0000-0000-000000000002"
    for file in folder.iterdir():
        assert "a1000000-1c2d" not in file.read_text()
        assert str(ROOT) not in file.read_text()


def test_acceptance_reports_missing_comparisons(accept: Accept) -> None:
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
def test_acceptance_compares_the_speed_with_a_plain_loop(printed: str, state: str, detail: str, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{printed}\n")
    python.chmod(0o755)
    acceptance = Acceptance(str(python), tmp_path)
    speeds = [
        {"device": "GPU:0", "batch": 1024, "samples_per_second": 980.0},
        {"device": "GPU:1", "batch": 1024, "samples_per_second": 1.0},
    ]
    acceptance.reports["train torch"] = {"snapshot": {"smoke": [{"framework": "torch", "speeds": speeds}]}}
    speed.against_loop(acceptance, "torch")
    (result,) = acceptance.results
    assert (result.state, result.detail) == (state, detail)
    acceptance.reports["train torch"] = {"snapshot": {"smoke": {"cause": "absent"}}}
    speed.against_loop(acceptance, "torch")
    assert acceptance.results[1].state == "skipped"


def test_acceptance_holds_memory_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environ_with(Cuda(gpus=2), directory=tmp_path / "shims").items():
        monkeypatch.setenv(name, value)
    with breakages.held("400") as problem:
        assert problem == ""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    with breakages.held() as problem:
        assert "libcuda.so.1" in problem


def states(acceptance: Acceptance) -> dict[str, tuple[str, str]]:
    return {result.what: (result.state, result.detail) for result in acceptance.results}


class TestParts:
    def test_an_exception_fails_only_its_part_and_is_on_disk(self, tmp_path: Path) -> None:
        acceptance = Acceptance("python", tmp_path / "out", limit=60)

        def raising(_: Acceptance) -> None:
            msg = "a | b"
            raise KeyError(msg)

        acceptance.part("first", 30, raising)
        acceptance.part("second", 30, lambda one: one.judge("goes on", holds=True))
        assert states(acceptance)["first: completes"][0] == "failed"
        assert states(acceptance)["goes on"] == ("held", "")
        seen = json.loads((tmp_path / "out" / "acceptance.json").read_text())
        assert [one["state"] for one in seen["results"]] == ["failed", "held"]
        assert "KeyError" in seen["crashes"][0]
        assert "KeyError: 'a \\| b'" in (tmp_path / "out" / "acceptance.md").read_text()

    def test_a_program_ends_with_its_part_and_later_parts_are_skipped(self, tmp_path: Path) -> None:
        acceptance = Acceptance("python", tmp_path, limit=16)
        began = time.monotonic()
        acceptance.part("slow", 1.5, lambda one: one.run("sleep", "60"))
        assert time.monotonic() - began < 30
        assert "TimeoutExpired" in states(acceptance)["slow: completes"][1]
        acceptance.part("long", 30, lambda one: one.judge("never", holds=True))
        assert states(acceptance)["long"][0] == "skipped"

    def test_a_check_without_a_document_shows_its_output(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "executable", "/bin/false")
        acceptance = Acceptance("python", tmp_path)
        acceptance.part("look", 10, lambda one: one.check("--level", "look"))
        assert "NoDocumentError: --level look wrote no JSON" in states(acceptance)["look: completes"][1]

    def test_gpudoctors_dependencies_may_be_on_pythonpath(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PYTHONPATH", "/needed")
        assert Acceptance.path("/first").split(os.pathsep) == ["/first", str(ROOT), "/needed"]


def full(**smoke: Any) -> dict[str, Any]:
    return {"snapshot": {"nvml": {"gpus": [{}, {}]}, "smoke": [{"framework": "torch", **smoke}]}}


CUBLAS = """
#include <stdlib.h>
#include <string.h>
int cublasCreate_v2(void **handle) { *handle = (void *)0x123456789abcULL; return 0; }
int cublasGemmEx(void *handle, int a, int b, int m, int n, int k, const float *alpha, const void *left, int kind, int lda, const void *right, int its, int ldb,
                 const float *beta, void *product, int mine, int ldc, int compute, int algorithm) {
    int right_kind = (compute == 68 && (kind == 0 || kind == 2 || kind == 14)) || (compute == 77 && kind == 0);
    return !(handle == (void *)0x123456789abcULL && !a && !b && m == n && n == k && lda == m && ldb == m && ldc == m && *alpha == 1 && *beta == 0 && left && right
             && product && kind == its && kind == mine && right_kind && algorithm == -1);
}
"""
CUDART = """
#include <stdlib.h>
#include <string.h>
int cudaMalloc(void **place, size_t size) { *place = malloc(size); return 0; }
int cudaMemcpy(void *to, const void *from, size_t size, int kind) { memcpy(to, from, size); return kind != 1; }
int cudaFree(void *place) { free(place); return 0; }
int cudaEventCreate(void **event) { *event = malloc(1); return 0; }
int cudaEventRecord(void *event, void *stream) { return !event || stream; }
int cudaEventSynchronize(void *event) { return !event; }
int cudaEventElapsedTime(float *milliseconds, void *from, void *to) { *milliseconds = 2; return !from || !to || from == to; }
"""


class TestAgainstCublas:
    @pytest.fixture
    def acceptance(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Acceptance:
        """With a cuBLAS of ours that accepts what NVIDIA's header asks for and nothing else, and takes 2 ms for everything."""
        for stem, code in (("libcublas.so.13", CUBLAS), ("libcudart.so.13", CUDART)):
            (tmp_path / f"{stem}.c").write_text(code)
            subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / stem, tmp_path / f"{stem}.c"], check=True)
        monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
        monkeypatch.setattr(speed, "VENDOR_SIZES", ("64", "128"))
        return Acceptance(sys.executable, tmp_path)

    def test_the_best_size_counts(self, acceptance: Acceptance) -> None:
        best = 2 * 128**3 / 1e-3  # 2 ms a measure of one or two
        products = [
            {"device": "GPU:0", "precision": kind, "size": 64, "flops": best * share} for kind, share in (("bf16", 0.2), ("fp32", 30))
        ]
        stages = [{"name": kind, "device": "GPU:0", "state": "done", "seconds": 4.0} for kind in speed.MEASURES]
        acceptance.reports["full torch"] = full(products=products, stages=stages)
        speed.against_vendor(acceptance)
        seen = states(acceptance)
        assert seen["torch: matmuls in BF16 reach 90% of cuBLAS"][0] == "failed"
        assert seen["torch: matmuls in FP32 reach 90% of cuBLAS"][0] == "held"
        assert " at 128" in seen["torch: matmuls in FP32 reach 90% of cuBLAS"][1]
        assert seen["torch: copies, memory and matmuls take less than 10 s a GPU"] == ("failed", "GPU:0 12.0 s")

    def test_missing_cublas_is_reported(self, acceptance: Acceptance, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("LD_LIBRARY_PATH")
        acceptance.reports["full torch"] = full()
        speed.against_vendor(acceptance)
        state, why = states(acceptance)["matmuls against cuBLAS"]
        assert (state, "cannot be loaded" in why) == ("skipped", True)


def test_an_all_reduce_must_be_right(tmp_path: Path) -> None:
    run = {
        "devices": ["GPU:0", "GPU:1"],
        "p2p": True,
        "stages": [{"state": "done"}],
        "sums": [{"size": 1 << 20, "bus_bytes_per_second": 2e11, "error": 0.0}],
    }
    for error, state in ((0.0, "held"), (1.5, "failed"), ("nan", "failed")):
        acceptance = Acceptance("python", tmp_path)
        acceptance.reports["full torch"] = full(all_reduces=[{**run, "sums": [{**run["sums"][0], "error": error}]}])  # type: ignore[index]
        speed.all_reduce(acceptance)
        assert [result.state for result in acceptance.results] == [state]
        assert "200.0 GB/s" in acceptance.results[0].detail


def load(**changes: Any) -> dict[str, Any]:
    stage = {
        "stage": "products",
        "samples": 40,
        "power": 690_000,
        "temperature": 61,
        "clock_sm": {"lowest": 300, "median": 1500, "highest": 1755},
        **changes,
    }
    return {
        "framework": "torch",
        "address": "0000:0f:00.0",
        "utilization": 100,
        "memory_most": 20 << 30,
        "own_memory": {"type": "missing"},
        "stages": [stage],
    }


@pytest.mark.parametrize(
    ("loads", "state", "words"),
    [
        ({"gpus": [load()], "seconds": 30.0, "cpu_seconds": 0.4, "cut": ""}, "held", "power.draw 690 and 700"),
        ({"gpus": [load(power=300_000)], "seconds": 30.0, "cpu_seconds": 0.4, "cut": ""}, "failed", "power.draw 300 and 700"),
        ({"type": "missing", "cause": "failed", "reason": "no sample was taken"}, "failed", "no sample was taken"),
    ],
)
def test_samples_under_load_are_compared_with_nvidia_smi(
    loads: dict[str, Any], state: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An nvidia-smi that gives these answers; the check at level full is one that was made before."""
    card = {"pci.bus_id": "00000000:0F:00.0", "power.draw": "700.10", "temperature.gpu": "62", "clocks.sm": "1755", "clocks.mem": "[N/A]"}
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps([{**card, "utilization.gpu": "100", "memory.used": "20600", "name": "x", "links": ""}]))
    program = tmp_path / "nvidia-smi"
    program.write_text(SMI.format(python=sys.executable, answers=str(answers)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def leveled(acceptance: Acceptance, _level: str, framework: str) -> None:
        time.sleep(1.5)
        acceptance.reports[f"full {framework}"] = {"snapshot": {"loads": loads}}

    monkeypatch.setattr(speed, "level", leveled)
    acceptance = Acceptance("python", tmp_path)
    speed.watched(acceptance, "torch")
    got, told = states(acceptance)["full torch: NVML's samples match nvidia-smi"]
    assert got == state
    assert words in told


@pytest.mark.parametrize("framework", ["torch", "tensorflow", "jax"])
def test_the_patch_that_slows_a_matmul_is_valid_python(framework: str) -> None:
    compile(breakages.ONLY_IN_TRAINING + breakages.SLOWED[framework], framework, "exec")


@pytest.mark.parametrize(("factor", "grown", "largest", "states"), [
    (1.0, 0.9, 1.0, ["held", "held", "held"]),
    (1.2, 1.1, 1.4, ["failed", "failed", "failed"]),
    (0.85, 0.9, 0.7, ["failed", "held", "failed"]),
])  # fmt: skip
def test_predicted_memory_is_held_against_what_the_gpu_needed(
    factor: float, grown: float, largest: float, states: list[str], tmp_path: Path
) -> None:
    acceptance, gpt2 = Acceptance(sys.executable, tmp_path), model_of_name("gpt2", SampleSize(tokens=64))
    parts = peak_memory(gpt2, Asked(), 8)
    allocated = parts.total - parts.reserve - parts.fragmentation
    found = largest_batch(gpt2, Asked(), fits.LIMIT + RESERVED_BYTES)
    measured = {"peaks": {"8": round(factor * allocated)}, "grown": round(grown * parts.total), "largest": round(largest * found)}
    fits.judged(acceptance, "fp32", gpt2, measured)
    assert [result.state for result in acceptance.results] == states
