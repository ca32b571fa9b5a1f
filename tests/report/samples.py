"""Examinations built by hand, as a diagnosis would give them, for each shape that a report can take."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from gpudoctor.examination import Examination, Timing
from gpudoctor.findings import (
    ENVIRONMENT,
    MACHINE,
    Action,
    Confidence,
    Diagnosis,
    Domain,
    Evidence,
    Finding,
    Fix,
    FixKind,
    Impact,
    LadderRow,
    Level,
    Outcome,
    OutcomeKind,
    Policy,
    ProvedTo,
    Rung,
    RungState,
    Severity,
    Step,
    Subject,
    SubjectKind,
    Verdict,
)
from gpudoctor.findings.summary import FrameworkBuild, GpuModel, Summary
from gpudoctor.snapshot import Cause, Distribution, Host, Missing, Packages, Platform, Python, Smoke, Snapshot, Supposed, Training
from tests.builders import real

P, F, Q, N, M = RungState.PROVEN, RungState.FAILED, RungState.NOT_SHOWN, RungState.NOT_ASKED, RungState.MASKED
TENSORFLOW = Subject(SubjectKind.FRAMEWORK, "tensorflow")

SNAPSHOT = Snapshot(
    created="2026-11-21T04:00:00Z",
    host=Host(platform=Platform.LINUX, uid=1000, kernel="6.1.0-18-amd64"),
    python=Python(executable="~/train/bin/python", why="the active virtual environment", version="3.11.7"),
)


def address(number: int) -> str:
    return f"0000:{0x10 + number:02x}:00.0"


def gpu(number: int) -> Subject:
    return Subject(SubjectKind.GPU, address(number))


def row(number: int, *states: RungState, detail: str = "", model: str = "NVIDIA H100 80GB HBM3") -> LadderRow:
    """A GPU that passed these `states`; later ones were not tried. `detail` belongs to the last state given."""
    padded = (*states, *[N] * (len(Rung) - len(states)))
    steps = tuple(
        Step(rung, state, detail if place == len(states) - 1 else f"rung {place}")
        for place, (rung, state) in enumerate(zip(Rung, padded, strict=True))
    )
    return LadderRow(gpu(number), number, model, steps)


_IMPACTS: dict[object, Impact] = {Severity.ERROR: Impact.CANNOT_TRAIN, Severity.WARNING: Impact.PARTLY, Severity.NOTE: Impact.NONE}


def finding(code: str, name: str, title: str, message: str, **more: object) -> Finding:
    subject = more.pop("subject", MACHINE)
    assert isinstance(subject, Subject)
    stamped: dict[str, object] = {
        "severity": Severity.ERROR,
        "confidence": Confidence.CERTAIN,
        "breaks": Rung.NVML,
        "action": Action.REBOOT,
        "domain": Domain.DRIVER,
        "impact": _IMPACTS[more.get("severity", Severity.ERROR)],
        "id": f"{code}:{subject.key}" if subject.key else code,
        **more,
    }
    return Finding(code=code, name=name, title=title, message=message, subject=subject, **stamped)  # type: ignore[arg-type]


def outcome(code: str, name: str, kind: OutcomeKind, reason: str = "", **more: object) -> Outcome:
    return Outcome(code=code, name=name, kind=kind, reason=reason, **{"subject": MACHINE, **more})  # type: ignore[arg-type]


def examined(verdict: Verdict, exit_code: int, proved: ProvedTo, **more: object) -> Examination:
    policy = more.pop("policy", Policy())
    interrupted = more.pop("interrupted", 0)
    snapshot = more.pop("snapshot", SNAPSHOT)
    told: dict[str, Any] = {"findings": (), "outcomes": (), "ladder": (), "summary": EIGHT, **more}
    diagnosis = Diagnosis(verdict=verdict, exit_code=exit_code, proved_to=proved, **told)
    return Examination(
        snapshot=snapshot,  # type: ignore[arg-type]
        diagnosis=diagnosis,
        policy=policy,  # type: ignore[arg-type]
        matrix_date="2026-11-20",
        timings=(Timing("inventory", 0.12345678),),
        interrupted=interrupted,  # type: ignore[arg-type]
    )


EIGHT = Summary(
    gpus=(GpuModel("NVIDIA H100 80GB HBM3", 8, 80 << 30),),
    driver="550.163.01",
    cuda="12.4",
    frameworks=(FrameworkBuild("tensorflow", "2.18.0", "12.5.1", "9.3.0"),),
    python="3.11.7",
    environment="venv",
)

NO_GPU = finding(
    "GD101",
    "no-gpu",
    "No NVIDIA GPU is on the PCI bus",
    "No device on the PCI bus is an NVIDIA GPU; the display devices there are QEMU 1234:1111.",
    breaks=Rung.SLOT,
    evidence=(Evidence("NVIDIA GPUs on the PCI bus", "0", "/sys/bus/pci/devices"),),
    fixes=(
        Fix("In a cloud choose an instance type with a GPU; in a virtual machine pass one through; else reseat the card."),
        Fix("Train on the CPU", "gpudoctor check --allow-cpu", kind=FixKind.INSTEAD),
    ),
)
MISMATCH = finding(
    "GD202",
    "driver-library-mismatch",
    "The loaded kernel driver and the driver's libraries are of different versions",
    "The kernel driver is 535.154.05 and the libraries are 550.163.01: an upgrade without a reboot.",
    evidence=(
        Evidence("kernel driver", "535.154.05", "/proc/driver/nvidia/version"),
        Evidence("libraries", "550.163.01", "/usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.550.163.01"),
    ),
    fixes=(
        Fix("Reboot, which loads the kernel driver that belongs to the libraries", "sudo reboot", ("root", "reboot"), "nvidia-smi"),
        Fix(
            "Where no program uses the GPU, reload it without a reboot",
            "sudo rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia && sudo modprobe nvidia && sudo modprobe nvidia_uvm",
            ("root",),
            kind=FixKind.INSTEAD,
        ),
    ),
)

broken_no_gpu = examined(
    Verdict.BROKEN,
    1,
    ProvedTo(None, 0, 0, "nothing was verified"),
    summary=replace(EIGHT, gpus=(), driver="", cuda=None),
    findings=(NO_GPU,),
    outcomes=(
        outcome("GD101", "no-gpu", OutcomeKind.FOUND),
        outcome("GD203", "driver-too-old", OutcomeKind.COULD_NOT_TELL, "no driver", because_of=("GD101",)),
        outcome("GD206", "cuda-init-fails", OutcomeKind.COULD_NOT_TELL, "no libcuda", because_of=("GD101",)),
        outcome("GD601", "framework-missing", OutcomeKind.PASSED, subject=ENVIRONMENT),
        outcome("GD301", "container-no-gpu-access", OutcomeKind.NOT_APPLICABLE, "no container"),
    ),
)
mismatch = examined(
    Verdict.BROKEN,
    1,
    ProvedTo(Rung.DEVICE_NODE, 2, 2, "device file present for 2 of 2 GPUs"),
    findings=(
        MISMATCH,
        finding(
            "GD206",
            "cuda-init-fails",
            "CUDA does not initialise, and nothing else that was seen says why it does not",
            "cuInit gave 803.",
            because_of=("GD202",),
        ),
        *(
            finding(
                "GD102",
                "gpu-count-mismatch",
                "A GPU of this machine cannot be opened through NVML",
                f"{address(number)} is not in NVML.",
                subject=gpu(number),
                because_of=("GD202",),
            )
            for number in (0, 1)
        ),
        finding(
            "GD901",
            "smoke-ran-on-cpu",
            "The framework computes on the CPU although the machine has a GPU",
            "tensorflow lists no GPU.",
            subject=TENSORFLOW,
            because_of=("GD206",),
        ),
    ),
    outcomes=(outcome("GD902", "smoke-wrong-result", OutcomeKind.COULD_NOT_TELL, "nothing ran", because_of=("GD202",)),),
    ladder=tuple(row(number, P, P, P, F, F, F, F, F, detail="cuInit failed") for number in (0, 1)),
)
one_lost = examined(
    Verdict.BROKEN,
    1,
    ProvedTo(Rung.TRAINED, 7, 8, "trained on 7 of 8 GPUs"),
    findings=(
        finding(
            "GD102",
            "gpu-count-mismatch",
            "A GPU of this machine cannot be opened through NVML",
            f"NVML counts GPU 5 and cannot open it: GPU is lost. PCI device {address(5)} answers no more.",
            subject=gpu(5),
            confidence=Confidence.LIKELY,
            evidence=(Evidence("nvmlDeviceGetHandleByIndex(5)", "15 GPU is lost", "NVML"),),
            fixes=(Fix("Reboot; if it comes back, check the card's power and seat", "sudo reboot", ("root", "reboot"), "nvidia-smi -L"),),
        ),
    ),
    outcomes=(outcome("GD201", "no-driver", OutcomeKind.PASSED),),
    ladder=tuple(row(number, P, P, P, F, detail="GPU is lost") if number == 5 else row(number, *[P] * 8) for number in range(8)),
)
degraded = examined(
    Verdict.DEGRADED,
    0,
    ProvedTo(Rung.TRAINED, 1, 1, "trained on 1 of 1 GPU"),
    findings=(
        finding(
            "GD501",
            "cpu-only-build",
            "The framework's build has no CUDA",
            "torch 2.13.0+cpu is built without CUDA, so it cannot use the NVIDIA GPU.",
            subject=Subject(SubjectKind.FRAMEWORK, "torch"),
            severity=Severity.WARNING,
            fixes=(Fix("Install a build with CUDA", "~/train/bin/python -m pip install torch", ("download",)),),
        ),
        finding(
            "GD701",
            "cuda-visible-devices-masked",
            "CUDA_VISIBLE_DEVICES hides GPUs from every CUDA program",
            "CUDA_VISIBLE_DEVICES=0 leaves 1 of 2 GPUs.",
            severity=Severity.NOTE,
        ),
    ),
    outcomes=(outcome("GD205", "driver-hung", OutcomeKind.CRASHED, "ZeroDivisionError: division by zero"),),
    ladder=(row(0, *[P] * 8), row(1, P, P, P, P, M)),
)
ready = examined(
    Verdict.READY,
    0,
    ProvedTo(Rung.TRAINED, 8, 8, "trained on 8 of 8 GPUs"),
    outcomes=(outcome("GD101", "no-gpu", OutcomeKind.PASSED),),
    ladder=tuple(row(number, *[P] * 8) for number in range(8)),
    snapshot=Snapshot(
        created=SNAPSHOT.created,
        host=SNAPSHOT.host,
        python=SNAPSHOT.python,
        smoke=(
            Smoke(
                framework="tensorflow",
                trainings=(
                    Training(
                        device="GPU:0",
                        placed_on=("GPU:0",),
                        steps=2,
                        losses=(2.3, real(float("nan"))),
                        accuracy=0.99,
                        expected_accuracy=0.98,
                        seconds=1.0,
                        samples_per_second=real(float("inf")),
                    ),
                ),
            ),
        ),
    ),
)
looked = examined(
    Verdict.READY,
    0,
    ProvedTo(Rung.LIBCUDA, 1, 1, "CUDA initialised on 1 of 1 GPU"),
    findings=(finding("GD704", "persistence-mode-off", "Persistence mode is off", "It is off on GPU 0.", severity=Severity.NOTE),),
    outcomes=(outcome("GD203", "driver-too-old", OutcomeKind.COULD_NOT_TELL, "the tables do not know torch 9.9", subject=TENSORFLOW),),
    ladder=(row(0, P, P, P, P, P),),
    policy=Policy(level=Level.LOOK),
)
unknown = examined(
    Verdict.UNKNOWN,
    3,
    ProvedTo(Rung.LIBCUDA, 2, 2, "CUDA initialised on 2 of 2 GPUs"),
    unproven=("training was not verified on GPUs 0–1: in use by python3 (pid 4711) and pid 4712; --force uses it anyway",),  # noqa: RUF001 -- a dash joins neighbours
    outcomes=(
        outcome("GD204", "device-permission-denied", OutcomeKind.COULD_NOT_TELL, "/dev could not be listed: Permission denied"),
        *(outcome("GD905", "smoke-hung", OutcomeKind.COULD_NOT_TELL, "nothing was trained", subject=gpu(number)) for number in (0, 1)),
    ),
    ladder=(
        row(0, P, P, P, P, P, Q, Q, Q, model="NVIDIA A100", detail="in use by python3 (pid 4711) and pid 4712; --force uses it anyway"),
        row(1, P, P, P, P, P, Q, Q, Q, model="NVIDIA L4", detail="in use by python3 (pid 4711) and pid 4712; --force uses it anyway"),
    ),
)
on_cpu = examined(
    Verdict.READY,
    0,
    ProvedTo(Rung.TRAINED, 0, 0, "trained on the CPU (tensorflow), no GPU"),
    policy=Policy(allow_cpu=True),
    summary=replace(EIGHT, gpus=(), driver="", cuda=None),
)
interrupted = examined(
    Verdict.UNKNOWN,
    3,
    ProvedTo(None, 0, 1, "nothing was verified on 1 GPU"),
    unproven=("training was not verified on GPU 0: stopped by SIGINT",),
    snapshot=Snapshot(created="2026-11-21T04:00:00Z", python=Missing(Cause.NOT_ASKED, "stopped by SIGINT"), smoke=()),
    ladder=(row(0, P, Q, detail="stopped by SIGINT"),),
    interrupted=2,
)

_STATED = "stated: tensorflow[and-cuda]>=2.16,<2.17"
STATED = Summary(
    gpus=(GpuModel("NVIDIA GeForce GTX 1080", 1, 8 << 30),),
    driver="470.57.02",
    cuda="11.4",
    frameworks=(FrameworkBuild("tensorflow", "2.16.2", "12.3", "8.9"), FrameworkBuild("torch", "2.5.1", "12.4", "9.1")),
)
SUPPOSED = Snapshot(
    created="2026-11-21T04:00:00Z",
    origin="supposed",
    packages=Packages(
        (
            Distribution("tensorflow", "2.16.2", _STATED, extras=("and-cuda",), chosen=True, requirement=_STATED.removeprefix("stated: ")),
            Distribution("torch", "2.5.1", "stated: torch", chosen=True, requirement="torch"),
            Distribution("somepackage", "1.0", "stated: somepackage==1.0", extras=("a", "b", "c"), requirement="somepackage==1.0"),
            Distribution("nvidia-cublas-cu12", "12.3.4.1", "tensorflow[and-cuda] 2.16.2"),
            Distribution("nvidia-cudnn-cu12", "8.9.7.29", "tensorflow[and-cuda] 2.16.2 and torch 2.5.1", chosen=True),
            Distribution("nvidia-nccl-cu12", "2.19.3", "tensorflow[and-cuda] 2.16.2"),
            Distribution("nvidia-nvtx-cu12", "12.4.127", "torch 2.5.1"),
        ),
    ),
    supposed=(
        Supposed("machine", "Linux x86_64", "the default"),
        Supposed("GPU", "NVIDIA GeForce GTX 1080, compute capability 6.1", "matrix: cuda-gpus-legacy, pci-ids, geforce-memory-2020"),
        Supposed("driver", "470.57.02, which supports CUDA 11.4", "--driver; matrix: cuda-notes-13.2"),
    ),
    remarks=("somepackage 1.0: no table holds it, so it was not judged",),
)
compat_broken = examined(
    Verdict.BROKEN,
    1,
    ProvedTo(None, 0, 1, "nothing was verified on 1 GPU"),
    policy=Policy(level=None),
    snapshot=SUPPOSED,
    summary=STATED,
    findings=(
        finding(
            "GD203",
            "driver-too-old",
            "The driver is older than the CUDA that the framework was built with needs",
            "tensorflow 2.16.2 is built with CUDA 12.3, which needs a driver of at least 525.60.13; this machine has 470.57.02.",
            subject=TENSORFLOW,
            fixes=(Fix("Install a driver of at least 525.60.13", "", ("root", "download", "reboot"), "nvidia-smi"),),
        ),
        finding(
            "GD505",
            "gpu-too-new-for-build",
            "The build has no kernels for a GPU this new",
            "The build stops before it.",
            subject=Subject(SubjectKind.GPU, "nvml:0"),
        ),
    ),
    outcomes=(outcome("GD104", "ecc-hardware-error", OutcomeKind.NOT_ASKED, "not stated"),),
    ladder=(row(0, Q, detail="not stated"),),
)
compat_ready = examined(
    Verdict.READY, 0, ProvedTo(None, 0, 1, "nothing was verified on 1 GPU"), policy=Policy(level=None), snapshot=SUPPOSED, summary=STATED
)
compat_unknown = examined(
    Verdict.UNKNOWN,
    3,
    ProvedTo(None, 0, 1, "nothing was verified on 1 GPU"),
    unproven=("the tables do not know torch 9.0: 9.0 is newer than 2.15.0, the newest known release",),
    policy=Policy(level=None),
    snapshot=SUPPOSED,
    summary=STATED,
)

ALL = {
    "compat_broken": compat_broken,
    "compat_ready": compat_ready,
    "compat_unknown": compat_unknown,
    "broken_no_gpu": broken_no_gpu,
    "mismatch": mismatch,
    "one_lost": one_lost,
    "degraded": degraded,
    "ready": ready,
    "looked": looked,
    "unknown": unknown,
    "on_cpu": on_cpu,
    "interrupted": interrupted,
}
