"""The page of `gpudoctor smoke`: what is said of each training, in the room there is."""

# ruff: noqa: RUF001 -- typography is what is tested
from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import ProvedTo, Rung, Verdict
from gpudoctor.report import terminal
from gpudoctor.report.build import build_report
from gpudoctor.report.page import PageLook
from gpudoctor.report.training import DEVICE_FIGURES, TABLE_ROWS
from gpudoctor.snapshot import (
    AllReduce,
    Cause,
    CompiledStep,
    Copy,
    LeftAlone,
    MemoryRate,
    Missing,
    Product,
    Smoke,
    SmokeDevice,
    Speed,
    Stage,
    StageKind,
    StageState,
    Sum,
    Training,
)
from tests.builders import training
from tests.report.samples import SNAPSHOT, examined

DENSE = training(losses=tuple(2.0 * 0.8**step for step in range(30)), accuracy=0.9995, samples_per_second=51234.5)
TRAINED = Smoke(
    framework="torch",
    version="2.13.0+cu126",
    stages=(
        Stage(StageKind.IMPORT, StageState.DONE, seconds=2.5),
        Stage(StageKind.TRAINING, StageState.DONE, device="GPU:0", seconds=1.25),
        Stage(StageKind.TRAINING, StageState.FAILED, network="convolutional", device="GPU:0", seconds=0.5, error="RuntimeError"),
        Stage(StageKind.TRAINING, StageState.CRASHED, device="GPU:1"),
    ),
    devices=(SmokeDevice("CPU:0", "cpu"), SmokeDevice("GPU:0", "gpu", model="NVIDIA H200")),
    trainings=(DENSE, training(network="convolutional", losses=(2.0, "nan"), steps=60, agreement=Missing(Cause.FAILED, "not finished"))),
    speeds=(Speed("GPU:0", "convolutional", 1024, 900000.0, 4500.0),),
    left_alone=(LeftAlone("0000:03:00.0", "in use by python3 (pid 7); --force uses it anyway"),),
)


def page(smoke: tuple[Smoke, ...] | Missing, **look: object) -> str:
    snapshot = msgspec.structs.replace(SNAPSHOT, smoke=smoke)
    seen = examined(Verdict.READY, 0, ProvedTo(Rung.TRAINED, 1, 2, "trained on 1 of 2 GPUs"), snapshot=snapshot)
    return terminal.render(build_report(seen, "smoke"), PageLook(**look))  # type: ignore[arg-type]


def test_the_page() -> None:
    assert (
        page((TRAINED,))
        == """\
✓ READY  8 × NVIDIA H100 80GB HBM3 · driver 550.163.01 (CUDA 12.4)
  tensorflow 2.18.0 (CUDA 12.5, cuDNN 9.3) · Python 3.11 (venv)
  Trained on 1 of 2 GPUs. --level full would also measure speed and all-reduce.

torch 2.13.0+cu126
  stages             import 2.50 s

torch 2.13.0+cu126 on GPU:0, NVIDIA H200
  stages             training 1.25 s, convolutional training failed after 0.50 s
  network            dense                       convolutional
  steps              300                         60
  loss               2 → 0.003095                2 → nan
                     ████▇▇▇▆▆▆▅▅▅▄▄▄▃▃▃▂▂▂▁▁▁▁  ▁×
  accuracy           0.9995                      0.9900
  expected           1.0000                      1.0000
  images/s           51,234                      1,000
  vs CPU             agrees over 10 steps        not compared
  loss difference    1e-07 (tolerance 1e-05)
  weight difference  1e-08 (tolerance 1e-06)
  speed              200.0 times the CPU's 4,500 images/s (convolutional, batch
                     size 1024)

torch 2.13.0+cu126 on GPU:1
  stages             training crashed
  skipped: 0000:03:00.0: in use by python3 (pid 7); --force uses it anyway

Examined: ~/train/bin/python (the active virtual environment), as uid 1000
Tool: gpudoctor 0.1.0, compatibility tables of 2026-11-20
"""
    )


def test_in_ascii_nothing_is_lost() -> None:
    text = page((TRAINED,), plain=True)
    assert text.isascii()
    assert "2 -> 0.003095" in text
    assert "@@@###" in text
    assert ".x" in text


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_every_number_is_there_in_any_width(width: int) -> None:
    text = page((TRAINED,), width=width)
    assert max(map(len, text.splitlines())) <= max(width, 50)
    for number in ("0.9995", "0.9900", "51,234", "1,000", "agrees over 10 steps", "not compared", "2 → nan", "200.0 times"):
        assert number in text


def test_why_nothing_was_trained() -> None:
    assert "\nNothing was trained: CUDA shows no GPU.\n" in page(Missing(Cause.NOT_ASKED, "CUDA shows no GPU"))


def test_a_framework_that_got_nowhere_has_its_stage() -> None:
    hung = Smoke(framework="jax", stages=(Stage(StageKind.IMPORT, StageState.HUNG, seconds=300.0),))
    assert "\njax\n  stages             import hung after 300.00 s\n" in page((hung,))
    assert "\njax\n  skipped: 0000:01:00.0: busy\n" in page((Smoke(framework="jax", left_alone=(LeftAlone("0000:01:00.0", "busy"),)),))


def test_what_differs_and_is_no_number_is_said() -> None:
    odd: tuple[Training, ...] = (training(accuracy="nan", samples_per_second="inf", losses=()),)
    text = page((msgspec.structs.replace(TRAINED, trainings=odd, speeds=(Speed("GPU:0", "dense", 8, "nan", 1.0),)),))
    assert "accuracy           nan" in text
    assert "nan images/s, CPU 1.0 images/s (dense, batch size 8)" in text


def test_other_measurements_have_their_own_lines() -> None:
    measured = msgspec.structs.replace(
        TRAINED,
        copies=(Copy("GPU:0", "to", True, 1 << 28, 25.31e9), Copy("GPU:1", "from", False, 1 << 28, 6e9)),
        memory=(MemoryRate("GPU:0", 1 << 30, 3.0e12),),
        products=(Product("GPU:0", "bf16", 8192, 7.1e14, 1e-3, 1e-2), Product("GPU:0", "fp32", 8192, "nan", "nan", 1e-6)),
        compiled=(CompiledStep("GPU:0", "torch.compile", 12.345, 0.00123, 1e-7, 1e-5),),
    )
    text = page((measured,), width=100)
    for line in (
        "  copies             pinned 25.3 GB/s to GPU\n",
        "  copies             pageable 6 GB/s from GPU\n",
        "  memory             3 TB/s\n",
        "  matmul             BF16 710 TFLOP/s, FP32 nan FLOP/s\n",
        "  compiled step      torch.compile took 12.3 s, then 1.23 ms per step\n",
    ):
        assert line in text


@pytest.mark.parametrize(
    ("size", "seconds", "shown"),
    [(1023 << 10, 0.999, "1023 KiB in 999 ms"), (1 << 20, 1.0, "1 MiB in 1 s"), (3 << 20, 61.25, "3 MiB in 61.2 s")],
)
def test_sizes_and_times_change_their_unit_at_a_whole_one(size: int, seconds: float, shown: str) -> None:
    run = AllReduce(("GPU:0", "GPU:1"), p2p=True, sums=(Sum(size, 3, seconds, 1e9, 0.0),))
    assert f"  all-reduce         {shown}, 1 GB/s bus bandwidth: correct\n" in page((msgspec.structs.replace(TRAINED, all_reduces=(run,)),))


def test_all_reduce_has_its_own_section() -> None:
    stages = (Stage(StageKind.IMPORT, StageState.DONE, seconds=3.0), Stage(StageKind.ALL_REDUCE, StageState.DONE, seconds=1.25))
    hung = (Stage(StageKind.ALL_REDUCE, StageState.HUNG, error="did not respond for 60 s"),)
    wrong = Sum(128 << 20, 3, 0.0104, 12.9e9, 2.984375, ("GPU:1",))
    over = ("GPU:0", "GPU:1")
    runs = (
        AllReduce(over, p2p=True, stages=hung),
        AllReduce(over, p2p=False, stages=stages, sums=(Sum(4096, 3, 4.12e-05, 1e8, 0.0), wrong)),
    )
    text = page((msgspec.structs.replace(TRAINED, all_reduces=runs),))
    assert (
        """
torch 2.13.0+cu126 across GPU:0 and GPU:1
  stages             all-reduce hung

torch 2.13.0+cu126 across GPU:0 and GPU:1, without P2P
  stages             import 3.00 s, all-reduce 1.25 s
  all-reduce         4 KiB in 0.0412 ms, 100 MB/s bus bandwidth: correct
  all-reduce         128 MiB in 10.4 ms, 12.9 GB/s bus bandwidth: wrong on GPU:1
                     (off by 2.984)
"""
        in text
    )


def test_why_nothing_was_summed() -> None:
    too_few = Missing(Cause.FAILED, "training finished on 1 of 2 GPUs")
    assert "  no all-reduce: training finished on 1 of 2 GPUs.\n" in page((msgspec.structs.replace(TRAINED, all_reduces=too_few),))
    alone = Missing(Cause.ABSENT, "all-reduce needs two GPUs")
    assert "no all-reduce" not in page((msgspec.structs.replace(TRAINED, all_reduces=alone),))


def test_rows_have_names_of_their_own() -> None:
    names = [name for name, _ in (*TABLE_ROWS, *DEVICE_FIGURES)]
    assert len(names) == len(set(names))
