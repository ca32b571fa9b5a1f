"""GD901: smoke-ran-on-cpu."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, MachineView, on_device
from gpudoctor.derive.load import loads_of, unseen
from gpudoctor.diagnose.advice.installing import install, install_framework
from gpudoctor.diagnose.advice.releases import pick
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.training.smoke import _READ_LOG, _explained, _log, _points_to, _sign, _signed
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Level, Problem, Rung, Severity, SubjectKind
from gpudoctor.frameworks import spec_of
from gpudoctor.snapshot import Smoke, Snapshot


@rule(
    "GD901",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    predicts=False,
    seen_at=Level.TRAIN,
    of_training=True,
    explains=(
        Explains(("smoke-crashed",), "", Join.FRAMEWORK),
        Explains(
            (
                "gpu-slower-than-expected",
                "gpu-not-faster-than-cpu",
                "required-gpus-missing",
            ),
            "",
        ),
    ),
)
def smoke_ran_on_cpu(smoke: Smoke, hardware: Hardware, machine: MachineView, snapshot: Snapshot) -> Iterator[Problem]:
    """The framework computes on the CPU although the machine has a GPU.

    ## Why it matters
    Frameworks fall back to the CPU when they cannot use the GPU, mostly with no more than a line in a log. Training works, ten to a
    hundred times slower. The place of every variable, gradient and output was asked of the framework itself, and NVML was asked
    meanwhile whether a process of the training was on the GPU, took memory there, and kept it busy.

    ## What to do
    The framework's log, kept with this finding, mostly names the library or the error that made it give up.

    ## References
    - https://www.tensorflow.org/guide/gpu
    """
    if not hardware:
        not_applicable("there is no NVIDIA GPU")
    strayed = [one for one in smoke.trainings if one.device.startswith("GPU") and not on_device(one.device, one.placed_on)]
    devices = need(smoke.devices, Rung.FRAMEWORK)
    blind = not any(device.kind == "gpu" for device in devices)
    if not blind and not strayed:
        yield from _contradicted(smoke, hardware, snapshot)
        return
    if blind and smoke.left_alone:
        not_applicable("every GPU was left alone")
    seen = ", ".join(device.name for device in devices) or "no device"
    release = smoke.version.partition("+")[0] if isinstance(smoke.version, str) else ""
    title = f"Reinstall {spec_of(smoke.framework).title} with the CUDA libraries that it was built with"
    message = (
        f"{smoke.framework} lists no GPU{f', only {seen}' if devices else ''}."
        if blind
        else f"{smoke.framework} was asked to train on {strayed[0].device} and computed on {', '.join(strayed[0].placed_on)}."
    )
    sign = _sign(smoke)
    yield Problem(
        message=f"{message}{_points_to(sign)}",
        evidence=(Evidence("devices", seen, smoke.framework), *_signed(smoke, sign), *_log(smoke)),
        fixes=(*_explained(sign), _READ_LOG, *_again(machine, smoke.framework, release, title)),
    )


def _again(machine: MachineView, framework: str, release: str, title: str) -> tuple[Fix, ...]:
    """The same release with its libraries, over what is there; what to change where that does not work here."""
    found = pick(machine, framework, prefer=release)
    if found is None or found.release != release:
        return install_framework(machine, framework)
    return (install(machine, framework, found, title=title, options=("--force-reinstall",)),)


def _contradicted(smoke: Smoke, hardware: Hardware, snapshot: Snapshot) -> Iterator[Problem]:
    """One problem a GPU on which the framework says that it trained, and NVML saw nothing of it."""
    for training in {one.address: one for one in smoke.trainings}.values():
        gpu = next((gpu for gpu in hardware if gpu.key == training.address), None)
        load = next((one for one in loads_of(snapshot, gpu.key) if one.framework == smoke.framework), None) if gpu else None
        if gpu is None or load is None or not unseen(load):
            continue
        watched = f"NVML, {sum(stage.samples for stage in load.stages)} samples during the training"
        yield Problem(
            message=f"{smoke.framework} says that it trained on {training.device}, and NVML saw nothing of it on {gpu.label}: "
            "none of its processes, no memory taken, no kernel run.",
            confidence=Confidence.LIKELY,
            evidence=(
                Evidence("where it says that it trained", ", ".join(training.placed_on), smoke.framework),
                Evidence("its processes among those on the GPU", "none", watched),
                Evidence("memory in use before, at most", f"{load.memory_before}, {load.memory_most} bytes", watched),
                Evidence("utilisation at most", f"{load.utilization} %", watched),
            ),
            fixes=(
                Fix("Watch the GPU while it trains, to settle it", f"nvidia-smi -i {gpu.key} -l 1", kind=FixKind.CHECK),
                _READ_LOG,
            ),
        )
