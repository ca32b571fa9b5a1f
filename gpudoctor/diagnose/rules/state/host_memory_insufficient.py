"""GD713: host-memory-insufficient."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive.stages import stage_name
from gpudoctor.diagnose.advice.system import read_log
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Level, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Missing, Smoke, StageState


@rule(
    "GD713",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    predicts=False,
    seen_at=Level.TRAIN,
    explains=(Explains(TRAINING_FAILS, "", Join.FRAMEWORK),),
)
def host_memory_insufficient(smoke: Smoke) -> Iterator[Problem]:
    """The kernel killed the smoke training since the machine's memory did not suffice.

    ## Why it matters
    The machine, or the container or job that this runs in, had no memory left, and the kernel ended a process to get some. A framework
    with its CUDA libraries takes some GiB of the machine's memory before it trains anything, whatever its GPUs have. The
    process leaves no word when it is killed so; the kernel counts it.

    ## What to do
    Give the container or the job more memory, or end what else holds it. In the kernel's log the lines after "invoked oom-killer" list
    how much each process held.

    ## References
    - https://docs.kernel.org/admin-guide/cgroup-v2.html
    - https://docs.docker.com/engine/containers/resource_constraints/
    """
    kills = smoke.memory_kills
    ended = next((stage for stage in smoke.stages if stage.state in {StageState.CRASHED, StageState.FAILED}), None)
    if isinstance(kills, Missing) or not kills.count or ended is None:
        return
    whose = "on this machine" if kills.of_machine else "in this program's control group"
    count = "1 process" if kills.count == 1 else f"{kills.count} processes"
    yield Problem(
        message=f"{smoke.framework}: the stage “{stage_name(ended)}” {ended.state} while the kernel killed {count} {whose} for want of memory.",
        confidence=Confidence.LIKELY if kills.of_machine else Confidence.CERTAIN,
        evidence=(
            Evidence("processes killed for want of memory", str(kills.count), kills.where),
            Evidence("stage", stage_name(ended), smoke.framework),
        ),
        fixes=(
            Fix("See what is free, and who holds the rest", "free -h; ps -eo pid,rss,comm --sort=-rss | head", kind=FixKind.CHECK),
            read_log("oom|[Kk]illed process", "See what the kernel killed, and what each process held"),
            Fix("Give it more memory: docker run --memory, Kubernetes resources.limits.memory, sbatch --mem, systemd MemoryMax."),
        ),
    )
