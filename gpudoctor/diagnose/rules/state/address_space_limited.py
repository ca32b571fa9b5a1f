from gpudoctor.derive import FrameworkView, applicable
from gpudoctor.diagnose.advice.hardware import GIB
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import Action, Evidence, Fix, Problem, Problems, Rung, Severity

_RAISE = Fix("Raise the limit in the shell or script that starts the training", "ulimit -v unlimited", action=Action.CHANGE_SETTING)
_ELSEWHERE = Fix(
    "Start it where the limit is higher: in a job with more memory, or on a compute node instead of a login node.",
    action=Action.RESTART_JOB,
)


@rule("GD744", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
@explains(TRAINING_FAILS, "The loader cannot map the framework's libraries.", Join.FRAMEWORK)
def address_space_limited(framework: FrameworkView) -> Problems:
    """Limit of address space is too low for the framework's libraries."""
    limits = framework.machine.limits
    limit = applicable(limits.address_space)
    needed = framework.xray.mapped
    if not isinstance(limit, int) or needed <= limit:
        return
    yield Problem(
        message=f"The libraries of {framework.label} take {_gib(needed)} of address space, but `ulimit -v` allows {_gib(limit)}.",
        only_for=framework.name,
        evidence=(
            Evidence("limit of address space", _gib(limit), "/proc/self/limits"),
            Evidence("address space of its libraries", _gib(needed), "segments of the files that its import loads"),
        ),
        fixes=(_RAISE if limits.address_space_hard == "unlimited" else _ELSEWHERE,),
    )


def _gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB"
