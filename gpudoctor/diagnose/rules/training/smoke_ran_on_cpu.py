from gpudoctor.derive import FrameworkView, GpuView, is_on_device, not_applicable, require_known
from gpudoctor.derive.telemetry import is_training_unseen
from gpudoctor.diagnose.advice.installing import install_framework, install_pick
from gpudoctor.diagnose.advice.releases import pick_release
from gpudoctor.diagnose.rule import Join, explains, rule
from gpudoctor.diagnose.rules.training.framework_output import READ_OUTPUT, read_output
from gpudoctor.findings import Confidence, Domain, Evidence, Fix, FixKind, Level, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import GpuLoad, Training


@rule("GD901", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, domain=Domain.ENVIRONMENT, predicts=False, seen_at=Level.TRAIN)
@explains(("smoke-crashed",), "Stages that need a GPU fail if the framework uses none.", Join.FRAMEWORK)
@explains(("gpu-slower-than-expected", "gpu-not-faster-than-cpu"), "Training on the CPU is no faster than the CPU.")
@explains(("required-gpus-missing",), "A GPU that no framework uses is not usable.")
def smoke_ran_on_cpu(framework: FrameworkView) -> Problems:
    """Training runs on the CPU although the machine has a GPU."""
    strayed = next(filter(_has_strayed, framework.smoke.trainings), None)
    framework.machine.need_gpu()
    devices = require_known(framework.smoke.devices, Rung.FRAMEWORK)
    names = ", ".join(device.name for device in devices) or "no device"
    if any(device.kind == "gpu" for device in devices):
        if strayed is None:
            yield from _unseen_trainings(framework)
            return
        fault = f"was asked to train on {strayed.device} but computed on {', '.join(strayed.placed_on)}"
    elif framework.smoke.left_alone:
        not_applicable("no GPU was used for the smoke training")
    else:
        fault = f"lists no GPU{f', only {names}' if devices else ''}"
    output = read_output(framework)
    yield Problem(
        message=f"{framework.label} {fault}.{output.hint}",
        evidence=(Evidence("devices", names, framework.name), *output.evidence),
        fixes=(*output.checks, *_reinstall(framework)),
    )


def _has_strayed(training: Training) -> bool:
    """Whether a training run that was asked for a GPU did not use it."""
    return training.device.startswith("GPU") and not is_on_device(training.device, training.placed_on)


def _reinstall(framework: FrameworkView) -> tuple[Fix, ...]:
    """Return how to reinstall the same release with its libraries; if that does not work here, what does."""
    machine, version = framework.machine, framework.smoke.version
    release = version.partition("+")[0] if isinstance(version, str) else ""
    found = pick_release(machine, framework.name, near=release)
    if found is None or found.release != release:
        return install_framework(machine, framework.name)
    title = f"Reinstall {framework.spec.title} with its CUDA libraries"
    return (install_pick(machine, framework.name, found, title=title, options=("--force-reinstall",)),)


def _unseen_trainings(framework: FrameworkView) -> Problems:
    """Return a problem for each GPU on which the framework reports training but NVML saw nothing of it."""
    trainings = {training.address: training for training in framework.smoke.trainings}
    for gpu in framework.machine.gpus:
        load = next((load for load in gpu.loads if load.framework == framework.name), None)
        if gpu.key in trainings and load is not None and is_training_unseen(load):
            yield _unseen_problem(framework, trainings[gpu.key], gpu, load)


def _unseen_problem(framework: FrameworkView, training: Training, gpu: GpuView, load: GpuLoad) -> Problem:
    sampled = f"NVML, {sum(stage.samples for stage in load.stages)} samples during the training run"
    return Problem(
        message=f"{framework.label} reports training on {training.device}, but NVML saw no process, memory or kernel of it on {gpu.label}.",
        confidence=Confidence.LIKELY,
        evidence=(
            Evidence("reported device", ", ".join(training.placed_on), framework.name),
            Evidence("its processes on the GPU", "none", sampled),
            Evidence("memory in use before, maximum", f"{load.memory_before}, {load.memory_most} bytes", sampled),
            Evidence("highest utilisation", f"{load.utilization}%", sampled),
        ),
        fixes=(
            Fix("Watch the GPU while it trains", f"nvidia-smi -i {gpu.selector} -l 1", kind=FixKind.CHECK),
            READ_OUTPUT,
        ),
    )
