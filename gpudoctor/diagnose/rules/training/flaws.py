"""Flaws of smoke training runs that completed."""

from gpudoctor.derive import Flaw, FrameworkView, training_flaw
from gpudoctor.derive.visibility import MASK_VARIABLE
from gpudoctor.diagnose.advice.installing import install_another_release
from gpudoctor.diagnose.advice.system import set_variable
from gpudoctor.diagnose.rules.training.framework_output import READ_OUTPUT
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Problems
from gpudoctor.snapshot import Training


def flawed_training_problems(framework: FrameworkView, *flaws: Flaw) -> Problems:
    """Return a problem for each device on which training has one of these flaws."""
    devices: dict[str, list[Evidence]] = {}
    for training in framework.smoke.trainings:
        seen = training_flaw(training)
        if seen is not None and seen.flaw in flaws:
            devices.setdefault(training.device, []).append(Evidence(_training_text(training), seen.detail, training.device))
    for device, evidence in devices.items():
        details = dict.fromkeys(row.value for row in evidence)
        yield Problem(
            message=f"{framework.label} on {device}: {'; '.join(details)}.",
            evidence=tuple(evidence),
            fixes=avoid_device(device, framework),
        )


def _training_text(training: Training) -> str:
    return "training" if training.network == "dense" else f"training of the {training.network} network"


def avoid_device(device: str, framework: FrameworkView) -> tuple[Fix, ...]:
    """Return what to do about a device with wrong results: train on the other GPUs; if there are none, install another release."""
    gpus = {training.device for training in framework.smoke.trainings if training.device.startswith("GPU")}
    others = sorted(gpu.partition(":")[2] for gpu in gpus - {device}) if device in gpus else []
    release = install_another_release(framework.machine, framework.name, kind=FixKind.ELSE if others else FixKind.FIX)
    if not others:
        return READ_OUTPUT, release
    return READ_OUTPUT, set_variable(MASK_VARIABLE, ",".join(others), f"Train without {device}"), release
