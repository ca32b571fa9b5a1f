from gpudoctor.derive import FrameworkView
from gpudoctor.derive.stages import stage_name
from gpudoctor.diagnose.advice.system import read_log
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import Action, Confidence, Evidence, Fix, FixKind, Level, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import count_with_noun
from gpudoctor.snapshot import Missing, StageState

_SHOW_MEMORY = Fix(
    "Check how much memory is free and which processes use it", "free -h; ps -eo pid,rss,comm --sort=-rss | head", kind=FixKind.CHECK
)
_RAISE_LIMIT = Fix(
    "Raise the memory limit: docker run --memory, Kubernetes resources.limits.memory, sbatch --mem, systemd MemoryMax.",
    action=Action.RESTART_JOB,
)


@rule("GD713", severity=Severity.ERROR, breaks=Rung.TRAINED, predicts=False, seen_at=Level.TRAIN)
@explains(TRAINING_FAILS, "The kernel killed the training run.", Join.FRAMEWORK)
def host_memory_insufficient(framework: FrameworkView) -> Problems:
    """Out of host memory: the kernel killed the training run."""
    smoke = framework.smoke
    kills = smoke.memory_kills
    ended = next((stage for stage in smoke.stages if stage.state in {StageState.CRASHED, StageState.FAILED}), None)
    if isinstance(kills, Missing) or not kills.count or ended is None:
        return
    scope = "on this machine" if kills.of_machine else "in this program's cgroup"
    count = count_with_noun(kills.count, "process", "processes")
    yield Problem(
        message=f"{smoke.framework} ran out of host memory: stage “{stage_name(ended)}” {ended.state} while the kernel killed {count} {scope}.",
        confidence=Confidence.LIKELY if kills.of_machine else Confidence.CERTAIN,
        evidence=(
            Evidence("processes killed for lack of memory", str(kills.count), kills.where),
            Evidence("stage", stage_name(ended), smoke.framework),
        ),
        fixes=(
            _SHOW_MEMORY,
            read_log("oom|[Kk]illed process", "Read which process the kernel killed and how much memory each used"),
            _RAISE_LIMIT,
        ),
    )
