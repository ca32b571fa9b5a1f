"""An examination in which everything that a report can say is said."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from gpudoctor.findings import (
    MACHINE,
    Confidence,
    Evidence,
    Finding,
    Fix,
    FixKind,
    Impact,
    OutcomeKind,
    ProvedTo,
    Rung,
    Severity,
    Skipped,
    Unchecked,
    Verdict,
)
from gpudoctor.findings.summary import FrameworkBuild, GpuModel, Summary
from gpudoctor.snapshot import (
    NOT_ASKED,
    Agreement,
    AllReduce,
    Cause,
    CompiledStep,
    Copy,
    Fact,
    GpuLoad,
    Host,
    LeftAlone,
    Loads,
    MemoryRate,
    Missing,
    Platform,
    Product,
    Reading,
    Smoke,
    SmokeDevice,
    Span,
    Speed,
    Stage,
    StageKind,
    StageLoad,
    StageState,
    Sum,
    TextLog,
    Training,
)
from tests.builders import real
from tests.report import samples

HOSTILE: Final = '<b a="1">&amp;|`x`*_@me #1\x1b[31m\u202e{0}%, : www.x.example\n::error::'
GPUS: Final = tuple(samples.address(number) for number in range(4))
_MIB: Final = 1 << 20


def _training(
    device: str,
    network: str,
    *losses: float,
    agreement: Agreement | Missing = NOT_ASKED,
    address: str | Missing = NOT_ASKED,
    accuracy: float = 0.98765,
    samples_per_second: float = 123456.7,
) -> Training:
    return Training(
        device=device,
        placed_on=(device,),
        steps=len(losses),
        losses=tuple(map(real, losses)),
        accuracy=real(accuracy),
        expected_accuracy=0.95,
        seconds=1.5,
        samples_per_second=real(samples_per_second),
        network=network,
        agreement=agreement,
        address=address,
    )


def _smoke() -> Smoke:
    agrees = Agreement(3, 1.25e-7, 2e-6, 1e-4, 1e-3)
    differs = Agreement(4, 0.5, real(float("nan")), 1e-4, 1e-3)
    stages = (
        Stage(StageKind.IMPORT, StageState.DONE, 2.345),
        Stage(StageKind.DEVICES, StageState.FAILED),
        Stage(StageKind.TRAINING, StageState.DONE, 0.5, network="convolutional", device="GPU:0"),
        Stage(StageKind.TRAINING, StageState.HUNG, 60.0, network="dense", device="GPU:1"),
    )
    return Smoke(
        framework="torch",
        version="2.8.0",
        stages=stages,
        devices=(SmokeDevice("GPU:0", "gpu", "NVIDIA <H100>"), SmokeDevice("GPU:1", "gpu")),
        networks=("dense", "convolutional"),
        trainings=(
            _training("GPU:0", "dense", 2.3, 1.0, 0.5, 0.25, 0.01, agreement=agrees, address=GPUS[0]),
            _training("GPU:0", "convolutional", 2.3, float("nan"), -1.0, 0.0, agreement=differs, samples_per_second=float("inf")),
            _training("GPU:1", "dense", *(1000 - place for place in range(900)), accuracy=float("nan"), address=GPUS[1]),
            _training("CPU:0", "dense", 0.5),
        ),
        speeds=(
            Speed("GPU:0", "dense", 256, 250000.0, 2000.0),
            Speed("GPU:0", "convolutional", 64, 900.0, 0.0),
            Speed("GPU:1", "dense", 256, real(float("inf")), 10.0),
        ),
        copies=(
            Copy("GPU:0", "to", pinned=True, size=_MIB, bytes_per_second=25e9),
            Copy("GPU:0", "from", pinned=True, size=_MIB, bytes_per_second=0.5e9),
            Copy("GPU:0", "to", pinned=False, size=_MIB, bytes_per_second=999_999_999.5),
            Copy("GPU:1", "from", pinned=False, size=_MIB, bytes_per_second=real(float("nan"))),
        ),
        memory=(MemoryRate("GPU:0", _MIB, 2.5e12),),
        products=(Product("GPU:0", "fp16", 8192, 7.1e14, 1e-3, 1e-2), Product("GPU:0", "fp32", 8192, 0.2e12, 1e-3, 1e-2)),
        compiled=(
            CompiledStep("GPU:0", "torch.compile", 12.3456, 0.0012345, 0.0, 1e-3),
            CompiledStep("GPU:0", "XLA", 1.0, 0.99949, 0.0, 1e-3),
        ),
        all_reduces=(
            AllReduce(
                ("GPU:0", "GPU:1"),
                p2p=True,
                stages=(Stage(StageKind.ALL_REDUCE, StageState.DONE, 0.75),),
                sums=(Sum(4096, 10, 0.0005, 0.9e9, 0.0), Sum(256 * _MIB, 10, 2.0, 150e9, 0.125, wrong=("GPU:0", "GPU:1"))),
            ),
            AllReduce(("GPU:0", "GPU:1"), p2p=False, stages=(Stage(StageKind.PROCESSES, StageState.CRASHED),)),
        ),
        left_alone=(LeftAlone(GPUS[2], "in use by python3 (pid 4711)"),),
    )


def _loads() -> Loads:
    stages = (
        StageLoad(StageKind.KERNEL, 2, 0.0, Span(100, 1200, 1300), power=90_500, temperature=40, utilization=3),
        StageLoad(
            StageKind.TRAINING, 40, 2.5, Span(100, 1980, 1980), power=650_000, power_limit=700_000, temperature=61, network="convolutional"
        ),
        StageLoad(StageKind.COPIES, 1, 0.5),
    )
    seen = GpuLoad("torch", GPUS[0], stages, listed=True, own_memory=1500 * _MIB)
    blind = GpuLoad("torch", GPUS[1], stages[:1], memory_before=100 * _MIB, memory_most=1300 * _MIB)
    return Loads((seen, blind, GpuLoad("jax", GPUS[0], listed=False)), seconds=3.0, cpu_seconds=0.1, cut="the process ended")


def _findings() -> tuple[Finding, ...]:
    def lost(number: int, **more: object) -> Finding:
        return samples.finding(
            "GD103",
            "gpu-fell-off-bus",
            "GPU has fallen off the bus",
            f"GPU {number} ({GPUS[number]}) has fallen off the bus.",
            subject=samples.gpu(number),
            evidence=(
                Evidence("configuration space", "0xffffffff", f"/sys/bus/pci/devices/{GPUS[number]}/config"),
                *(Evidence(f"line {line}", "NVRM: Xid 79 " + "x" * 90, "") for line in range(4)),
            ),
            fixes=(
                Fix("Check the power cable", f"nvidia-smi -i {number}", kind=FixKind.CHECK),
                Fix("Reset the GPU", "sudo nvidia-smi -r", ("root",), "nvidia-smi -L"),
                Fix("Reboot", "sudo reboot", ("root", "reboot", "power"), "nvidia-smi -L"),
                Fix("Reseat the card.", kind=FixKind.ELSE),
                Fix("Train on the others", "export CUDA_VISIBLE_DEVICES=0\nexport A=1", kind=FixKind.INSTEAD),
            ),
            **more,
        )

    return (
        lost(1),
        lost(3),
        samples.finding(
            "GD305",
            "container-shm-too-small",
            f"Shared memory is small {HOSTILE}",
            f"/dev/shm has 64 MiB. {HOSTILE}",
            severity=Severity.WARNING,
            confidence=Confidence.LIKELY,
            impact=Impact.AT_RISK,
            evidence=(Evidence("size|a", "64 MiB `|`", HOSTILE),),
            fixes=(Fix(f"Enlarge it {HOSTILE}", "mount `x` | cat\n<b>"),),
        ),
        samples.finding("GD206", "cuda-init-fails", "CUDA does not initialise", "cuInit gave 3.", because_of=("GD103:" + GPUS[1],)),
        *(
            samples.finding(
                "GD704",
                "persistence-mode-off",
                "Persistence mode is off",
                f"It is off on GPU {number}{' for long' * (number == 2)}.",
                subject=samples.gpu(number),
                severity=Severity.NOTE,
                impact=Impact.SLOWER,
                fixes=(Fix("Turn it on", f"sudo nvidia-smi -i {number} -pm 1", ("root",)),),
            )
            for number in (0, 2)
        ),
    )


P, F, Q, N = samples.P, samples.F, samples.Q, samples.N
EXAMINATION: Final = replace(
    samples.examined(
        Verdict.BROKEN,
        1,
        ProvedTo(Rung.TRAINED, 1, 4, "trained on 1 of 4 GPUs"),
        findings=_findings(),
        outcomes=(
            samples.outcome("GD101", "no-gpu", OutcomeKind.PASSED),
            samples.outcome("GD203", "driver-too-old", OutcomeKind.PASSED, subject=samples.gpu(0)),
            samples.outcome("GD205", "driver-hung", OutcomeKind.CRASHED, f"ValueError: {HOSTILE}"),
            samples.outcome("GD902", "smoke-wrong-result", OutcomeKind.COULD_NOT_TELL, "nothing ran", because_of=(f"GD103:{GPUS[1]}",)),
            *(
                samples.outcome("GD905", "smoke-hung", OutcomeKind.COULD_NOT_TELL, "nothing was trained", subject=samples.gpu(number))
                for number in (1, 3)
            ),
        ),
        skipped=(Skipped("GD301", "container-no-gpu-access", ""), Skipped("GD501", "cpu-only-build", "known")),
        unchecked=(Unchecked(MACHINE, "tensroflow 2.16.1", "no table lists this package"),),
        ladder=(
            samples.row(0, *[P] * 8),
            samples.row(1, P, P, P, F, detail="GPU is lost"),
            samples.row(2, P, P, P, P, P, Q, Q, Q, model="", detail=HOSTILE),
            samples.row(3, P, P, P, F, N, detail="GPU is lost"),
        ),
        summary=Summary(
            gpus=(GpuModel("NVIDIA H100 80GB HBM3", 3, 80 << 30), GpuModel("", 1, None)),
            driver="550.163.01",
            cuda="12.4.1",
            frameworks=(
                FrameworkBuild("torch", "2.8.0", "", None),
                FrameworkBuild("jax", None, "12.5.1", "9.3.0"),
                FrameworkBuild("tensorflow", "2.18.0", None, None, rocm=True),
            ),
            python="3.11.7",
            platform="wsl2",
            container="docker",
        ),
        snapshot=replace(
            samples.SNAPSHOT,
            host=Host(platform=Platform.LINUX, uid=0, hostname="gpu<7>", kernel="6" * 300, distribution="d" * 301, architecture="x86_64"),
            smoke=(_smoke(), Smoke(framework="jax", all_reduces=Missing(Cause.FAILED, "no port was free"))),
            loads=_loads(),
            remarks=(f"a remark {HOSTILE}",),
            text_log=TextLog(
                lines=(Fact(HOSTILE, "line 4"),),
                readings=(Reading("nvidia-smi", 1, 3, 3), Reading("torch.utils.collect_env", 12, 4, 90, "env.txt")),
                total=100,
                used=60,
            ),
        ),
    ),
    timings=(),
)
"""Four GPUs: two are lost, one has no model, one was trained on; and texts that want to be markup."""
