"""GD9: what the smoke training showed that nothing below it explains."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Flaw, Hardware, MachineView, judge, on_device
from gpudoctor.derive.load import loads_of, unseen
from gpudoctor.derive.log import telling_lines
from gpudoctor.derive.training import kernel_right, within
from gpudoctor.diagnose.fixes import explained
from gpudoctor.diagnose.installing import CALLED, another_release, install, install_framework
from gpudoctor.diagnose.releases import pick
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.signatures import Recognised, recognise
from gpudoctor.snapshot import Cause, Missing, Real, Smoke, Snapshot, StageState, Training

_READ_LOG = Fix(
    "Read the framework's own log: the report holds its end as snapshot.smoke[].output",
    "gpudoctor check --format json -o report.json",
    kind=FixKind.CHECK,
)


@rule("GD901", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK, predicts=False)
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
    if blind and smoke.skipped:
        not_applicable("every GPU was left alone")
    seen = ", ".join(device.name for device in devices) or "no device"
    release = smoke.version.partition("+")[0] if isinstance(smoke.version, str) else ""
    title = f"Reinstall {CALLED.get(smoke.framework, smoke.framework)} with the CUDA libraries that it was built with"
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


def _sign(smoke: Smoke, *words: str) -> Recognised | None:
    """The most telling known sign in what the framework wrote and raised."""
    output = smoke.output if isinstance(smoke.output, str) else ""
    return next(iter(recognise("\n".join((output, *words)))), None)


def _points_to(sign: Recognised | None) -> str:
    return f" Its words point to {' or '.join(sign.signature.causes)}: {sign.signature.meaning}." if sign else ""


def _signed(smoke: Smoke, sign: Recognised | None) -> tuple[Evidence, ...]:
    return (Evidence(f"a sign of {sign.signature.causes[0]}", sign.line, f"{smoke.framework}'s output"),) if sign else ()


def _explained(sign: Recognised | None) -> tuple[Fix, ...]:
    return tuple(explained(cause) for cause in (sign.signature.causes if sign else ()))


def _without(device: str, smoke: Smoke, machine: MachineView) -> tuple[Fix, ...]:
    """What to do about a device that computes wrong: train on the others, where these were right; else take another release."""
    gpus = {one.device for one in smoke.trainings if one.device.startswith("GPU")}
    others = sorted(one.partition(":")[2] for one in gpus - {device})
    release = another_release(machine, smoke.framework, kind=FixKind.ELSE if others and device in gpus else FixKind.FIX)
    if not others or device not in gpus:
        return _READ_LOG, release
    return _READ_LOG, Fix(f"Train without {device}", f"export CUDA_VISIBLE_DEVICES={','.join(others)}"), release


def _log(smoke: Smoke) -> tuple[Evidence, ...]:
    if isinstance(smoke.output, Missing):
        return ()
    return tuple(Evidence("log", line, f"{smoke.framework}'s output") for line in telling_lines(smoke.output))


def _measured(smoke: Smoke) -> Iterator[tuple[str, str, Real, float]]:
    """Everything measured that has an error: what, where, the error and what rounding explains of it."""
    for product in smoke.products:
        yield f"a product in {product.precision.upper()}", product.device, product.error, product.tolerance
    for step in smoke.compiled:
        if _finite(step.loss_difference):
            yield f"the loss of a step compiled by {step.compiler}", step.device, step.loss_difference, step.loss_tolerance


def _finite(number: Real) -> bool:
    return isinstance(number, int | float)


def _flawed(smoke: Smoke, flaws: set[Flaw], machine: MachineView) -> Iterator[Problem]:
    """One problem a device, with what is wrong of each of its networks."""
    wrong: dict[str, list[tuple[str, str]]] = {}
    for training in smoke.trainings:
        judgement = judge(training)
        if judgement is not None and judgement.flaw in flaws:
            wrong.setdefault(training.device, []).append((_training(training), judgement.detail))
    for device, details in wrong.items():
        yield Problem(
            message=f"{smoke.framework} on {device}: {'; '.join(dict.fromkeys(detail for _, detail in details))}.",
            evidence=tuple(Evidence(what, detail, device) for what, detail in details),
            fixes=_without(device, smoke, machine),
        )


def _training(training: Training) -> str:
    return "training" if training.network == "dense" else f"training of the {training.network} network"


@rule("GD902", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK, predicts=False)
def smoke_wrong_result(smoke: Smoke, machine: MachineView) -> Iterator[Problem]:
    """The arithmetic on the device is wrong.

    ## Why it matters
    A product differed from its float64 reference, or the first steps of a training from the same steps on the CPU, by more than
    rounding explains. Whatever is trained here cannot be trusted.

    ## What to do
    Run the check again on each GPU alone. One bad GPU among good ones is a hardware fault: take it out of service. All bad points
    to the framework or a library: try another release.

    ## References
    - https://docs.nvidia.com/deploy/xid-errors/
    """
    for kernel in smoke.kernels:
        if on_device(kernel.device, (kernel.ran_on,)) and not kernel_right(kernel):
            yield Problem(
                message=f"{smoke.framework}: a product on {kernel.device} is off by {kernel.error}, rounding explains {kernel.tolerance:.2g}.",
                evidence=(Evidence("largest relative error", str(kernel.error), kernel.device),),
                fixes=_without(kernel.device, smoke, machine),
            )
    for what, device, error, tolerance in _measured(smoke):
        if not within(error, tolerance):
            yield Problem(
                message=f"{smoke.framework}: {what} on {device} is off by {error}, rounding explains {tolerance:.2g}.",
                evidence=(Evidence(f"error of {what}", str(error), device),),
                fixes=_without(device, smoke, machine),
            )
    yield from _flawed(smoke, {Flaw.DISAGREES}, machine)


@rule("GD903", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK, predicts=False)
def smoke_did_not_learn(smoke: Smoke, machine: MachineView) -> Iterator[Problem]:
    """The smoke training ran and did not learn.

    ## Why it matters
    The images are generated so that their classes are separable and the network is known to learn them. Where loss does not fall or
    accuracy stays low although no product was seen to be wrong, gradients or updates are.

    ## What to do
    Run the check again; if it repeats, try another release of the framework.

    ## References
    - https://www.tensorflow.org/guide/core/mlp_core
    """
    yield from _flawed(smoke, {Flaw.DID_NOT_LEARN, Flaw.NO_STEPS}, machine)


@rule("GD911", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK, predicts=False)
def smoke_loss_not_finite(smoke: Smoke, machine: MachineView) -> Iterator[Problem]:
    """The loss of the smoke training became infinite or not a number.

    ## Why it matters
    Images, first weights and learning rate are known to train without such a value. It spreads to every weight with the next update, so
    a model that meets it is lost, and mostly nothing says so but the loss.

    ## What to do
    Run the check again on each GPU alone. One bad GPU among good ones is a hardware fault: take it out of service. All bad points to
    an operator of the framework or a library: try another release, and without settings of your own for precision and compilation.

    ## References
    - https://docs.nvidia.com/deeplearning/performance/mixed-precision-training/index.html
    - https://www.tensorflow.org/api_docs/python/tf/debugging/enable_check_numerics
    """
    yield from _flawed(smoke, {Flaw.NOT_FINITE}, machine)
    for step in smoke.compiled:
        if not _finite(step.loss_difference):
            what = f"loss of a step compiled by {step.compiler}, less that of the same step uncompiled"
            yield Problem(
                message=f"{smoke.framework} on {step.device}: the {what}, is {step.loss_difference}.",
                evidence=(Evidence(what, str(step.loss_difference), step.device),),
                fixes=_without(step.device, smoke, machine),
            )


_BESIDES = ("copies", "memory", "products", "compiled step", "speed")
"""Stages that measure: where one fails the trainings before it have passed."""


def _ended(smoke: Smoke, states: set[StageState], machine: MachineView) -> Iterator[Problem]:
    for stage in smoke.stages:
        if stage.state in states:
            why = stage.error if isinstance(stage.error, str) else "no reason given"
            sign = _sign(smoke, why)
            yield Problem(
                message=f"{smoke.framework}: the stage “{stage.name}” {stage.state}: {why}{_points_to(sign)}",
                severity=Severity.WARNING if stage.name.startswith(_BESIDES) else None,
                evidence=(Evidence("stage", stage.name, smoke.framework), *_signed(smoke, sign), *_log(smoke)),
                fixes=(*_explained(sign), _READ_LOG, another_release(machine, smoke.framework)),
            )


@rule("GD904", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK, predicts=False)
def smoke_crashed(smoke: Smoke, machine: MachineView) -> Iterator[Problem]:
    """The smoke training ended in an error or a crash.

    ## Why it matters
    The framework raised, or its process died, in the stage named here. The same will happen to any training.

    ## What to do
    The stage and the framework's last words say where to look: import points to the installation, devices to driver and libraries,
    the first kernel to code for this GPU, the training to memory or libraries.

    ## References
    - https://www.tensorflow.org/install/errors
    """
    yield from _ended(smoke, {StageState.FAILED, StageState.CRASHED}, machine)


@rule("GD905", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK, predicts=False)
def smoke_hung(smoke: Smoke, machine: MachineView) -> Iterator[Problem]:
    """The smoke training stopped making progress.

    ## Why it matters
    A stage gave no sign of life for far longer than any machine needs for it. A driver that does not answer, a library that
    compiles for minutes, or a deadlock between GPUs look like this.

    ## What to do
    Look for processes that cannot be interrupted (state D) and at the kernel's log; then try again with more time.

    ## References
    - https://docs.nvidia.com/deploy/xid-errors/
    """
    yield from _ended(smoke, {StageState.HUNG}, machine)
    for stage in smoke.stages:
        if stage.state is StageState.STOPPED:
            need(Missing(Cause.TIMED_OUT, f"{smoke.framework}: the stage “{stage.name}” {stage.error}"), Rung.TRAINED)


RULES = (smoke_ran_on_cpu, smoke_wrong_result, smoke_did_not_learn, smoke_crashed, smoke_hung, smoke_loss_not_finite)
