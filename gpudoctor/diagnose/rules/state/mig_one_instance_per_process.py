from gpudoctor.derive import MachineView, Visibility, not_applicable, require_known
from gpudoctor.derive.visibility import MASK_VARIABLE
from gpudoctor.diagnose.advice.system import set_variable
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Evidence, Fix, Impact, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import MigInstance


@rule("GD707", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.PARTLY, predicts=False)
def mig_one_instance_per_process(machine: MachineView) -> Problems:
    """Process can use only one MIG instance."""
    gpus = [gpu for gpu in require_known(machine.nvml.gpus, Rung.NVML) if gpu.mig_enabled is True]
    if not gpus:
        not_applicable("MIG is off")
    instances = [instance for gpu in gpus for instance in require_known(gpu.mig_instances, Rung.NVML)]
    if len(instances) < 2:
        return
    mask = machine.visibility_or_missing
    named = [entry for entry in mask.entries if entry.startswith("MIG-")] if isinstance(mask, Visibility) else []
    evidence = [Evidence("MIG instances", str(len(instances)), "NVML")]
    message = f"This machine has {len(instances)} MIG instances"
    if len(named) > 1:
        evidence.append(Evidence(MASK_VARIABLE, ",".join(named), "environment"))
        message += f" and {MASK_VARIABLE} names {len(named)}"
    yield Problem(
        message=f"{message}, but a process uses only the first one visible to it.",
        severity=None if len(named) > 1 else Severity.NOTE,
        evidence=tuple(evidence),
        fixes=(_use_one_instance(instances, named),),
    )


def _use_one_instance(instances: list[MigInstance], named: list[str]) -> Fix:
    """Return the fix that gives the process one instance: the first that the variable names, else the first of all."""
    uuids = [*named, *(instance.uuid for instance in instances if isinstance(instance.uuid, str))]
    if not uuids:
        return Fix(f"Set {MASK_VARIABLE} to one instance's UUID for each process; nvidia-smi -L lists them.")
    return set_variable(MASK_VARIABLE, uuids[0], "Give each process one instance, here the first")
