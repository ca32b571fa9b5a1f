import shlex

from gpudoctor.derive import EnvironmentView, MachineView, Visibility
from gpudoctor.derive.visibility import MASK_VARIABLE
from gpudoctor.diagnose.advice.system import set_variable, unset_at_start, unset_variable
from gpudoctor.diagnose.rule import CUDA_FAILS, explains, rule
from gpudoctor.findings import Action, Evidence, Fix, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import singular_or_plural


@rule("GD701", severity=Severity.ERROR, breaks=Rung.LIBCUDA, impact=Impact.PARTLY, predicts=False)
@explains(CUDA_FAILS, "CUDA programs see only the GPUs that CUDA_VISIBLE_DEVICES names.")
@explains(("uvm-not-loaded",), "With all GPUs hidden, cuInit returns 100, as it does without nvidia_uvm.")
def cuda_visible_devices_masked(environment: EnvironmentView) -> Problems:
    """CUDA_VISIBLE_DEVICES hides GPUs from CUDA programs."""
    visibility = environment.machine.visibility
    named, shown, total = len(visibility.entries), visibility.shown, visibility.total
    if shown and shown >= named:
        return
    setting = f"{MASK_VARIABLE}={shlex.quote(visibility.value)}" if visibility.value else f"An empty {MASK_VARIABLE}"
    if shown:
        message = (
            f"{setting} names {named} devices, but CUDA shows {shown}: it stops at {visibility.entries[shown]}, which is no device here."
        )
    else:
        message = f"{setting} hides {singular_or_plural(total, 'the only GPU', f'all {total} GPUs')} from CUDA programs."
    yield Problem(
        message=message,
        severity=Severity.WARNING if shown else None,
        evidence=(
            Evidence(MASK_VARIABLE, visibility.value or "empty", environment.machine.variables.place(MASK_VARIABLE)),
            Evidence("devices that CUDA shows", f"{shown}; without the variable {total}", "cuInit, cuDeviceGetCount"),
        ),
        fixes=(_fix(environment.machine, visibility),),
    )


def _fix(machine: MachineView, visibility: Visibility) -> Fix:
    if at_start := unset_at_start(MASK_VARIABLE, machine):
        return at_start
    scheduler = machine.site.scheduler
    if scheduler:
        option = " (--gres=gpu:1)" if scheduler == "Slurm" else ""
        return Fix(f"Request a GPU from {scheduler}{option}. The scheduler sets this variable: do not unset it.", action=Action.RESTART_JOB)
    if visibility.shown:
        valid = shlex.quote(",".join(visibility.entries[: visibility.shown]))
        return set_variable(
            MASK_VARIABLE, valid, f"Keep only the valid entries, here and in the profile or service file that sets {MASK_VARIABLE}"
        )
    return unset_variable(MASK_VARIABLE, machine, "the profile or service file that sets it")
