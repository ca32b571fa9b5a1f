"""GD707: mig-one-instance-per-process."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Visibility
from gpudoctor.diagnose.advice.system import set_variable
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import Missing, Nvml


@rule("GD707", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", predicts=False)
def mig_one_instance_per_process(nvml: Nvml, visibility: Visibility | Missing | None) -> Iterator[Problem]:
    """CUDA gives a process one MIG instance, however many there are.

    ## Why it matters
    A process sees the first MIG instance that is visible to it and no other, nor a whole GPU beside it. A training over several
    instances needs a process for each, and they cannot talk by peer access.

    ## What to do
    Start a process for each instance, with its UUID alone in CUDA_VISIBLE_DEVICES. For one large training turn MIG off.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
    """
    gpus = [gpu for gpu in need(nvml.gpus, Rung.NVML) if gpu.mig_enabled is True]
    if not gpus:
        not_applicable("MIG is off")
    total = sum(len(need(gpu.mig_instances, Rung.NVML)) for gpu in gpus)
    if total < 2:
        return
    asked = [entry for entry in visibility.entries if entry.startswith("MIG-")] if isinstance(visibility, Visibility) else []
    more = len(asked) > 1
    yield Problem(
        message=f"There are {total} MIG instances"
        + (f" and CUDA_VISIBLE_DEVICES names {len(asked)}" if more else "")
        + ": a process uses only the first that it may see.",
        severity=None if more else Severity.NOTE,
        evidence=(
            Evidence("MIG instances", str(total), "NVML"),
            *((Evidence("CUDA_VISIBLE_DEVICES", ",".join(asked), "environment"),) if more else ()),
        ),
        fixes=(_one_instance([one.uuid for gpu in gpus if isinstance(gpu.mig_instances, tuple) for one in gpu.mig_instances], asked),),
    )


def _one_instance(there: list[str | Missing], asked: list[str]) -> Fix:
    """One instance to each process, the first of those that were asked for."""
    first = next(iter((*asked, *(uuid for uuid in there if isinstance(uuid, str)))), "")
    if not first:
        return Fix("Give each process the UUID of one instance in CUDA_VISIBLE_DEVICES; nvidia-smi -L lists them.")
    return set_variable("CUDA_VISIBLE_DEVICES", first, "Give each process one instance; for the first process")
