"""GD701: cuda-visible-devices-masked."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from gpudoctor.derive import EnvironmentView, MachineView, Visibility
from gpudoctor.derive.visibility import VARIABLE
from gpudoctor.diagnose.advice.system import set_variable, unset
from gpudoctor.diagnose.rule import Explains, rule
from gpudoctor.diagnose.rules.effects import CUDA_FAILS
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.findings.actions import Action


@rule(
    "GD701",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    predicts=False,
    explains=(
        Explains(CUDA_FAILS, "A program finds no GPU that CUDA does not show it."),
        Explains(("uvm-not-loaded",), "With all GPUs hidden cuInit answers 100, as it does without nvidia_uvm."),
    ),
)
def cuda_visible_devices_masked(environment: EnvironmentView) -> Iterator[Problem]:
    """CUDA_VISIBLE_DEVICES hides GPUs from CUDA programs."""
    visibility = environment.machine.visibility
    named, shown, total = len(visibility.entries), visibility.shown, visibility.there
    if shown and shown >= named:
        return
    setting = f"{VARIABLE}={visibility.value!r}" if visibility.value else f"{VARIABLE} is set but empty"
    if shown:
        message = f"{setting} names {named} devices, CUDA shows {shown}: {visibility.entries[shown]!r} names none and ends the list."
    else:
        message = f"{setting}: CUDA shows none of {total} {'GPU' if total == 1 else 'GPUs'}."
    yield Problem(
        message=message,
        severity=Severity.WARNING if shown else None,
        evidence=(
            Evidence(VARIABLE, visibility.value or "empty", "environment"),
            Evidence("devices that CUDA shows", f"{shown}, without the variable {total}", "cuInit, cuDeviceGetCount"),
        ),
        fixes=(_fix(environment.machine, visibility),),
    )


def _fix(machine: MachineView, visibility: Visibility) -> Fix:
    scheduler = machine.site.scheduler
    if scheduler:
        return Fix(
            f"Ask {scheduler} for a GPU (in Slurm --gres=gpu:1); it sets this variable, so do not unset it.", action=Action.RESTART_JOB
        )
    if visibility.shown:
        valid = shlex.quote(",".join(visibility.entries[: visibility.shown]))
        return set_variable(
            VARIABLE, valid, f"Keep the entries that name a GPU, here and in the profile or service file that sets {VARIABLE}"
        )
    return unset(VARIABLE, "the profile or service file that sets it")
