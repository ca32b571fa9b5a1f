from gpudoctor.derive import FrameworkView, require_applicable
from gpudoctor.diagnose.advice.hardware import GIB
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import Action, Evidence, Fix, Problem, Problems, Rung, Severity

_RAISE_LIMIT = Fix("Raise the limit in the shell or script that starts the training", "ulimit -v unlimited", action=Action.CHANGE_SETTING)
_START_ELSEWHERE = Fix(
    "Start it where the limit is higher: in a job with more memory, or on a compute node instead of a login node.",
    action=Action.RESTART_JOB,
)


@rule("GD744", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
@explains(TRAINING_FAILS, "The loader cannot map the framework's libraries.", Join.FRAMEWORK)
def address_space_limited(framework: FrameworkView) -> Problems:
    """Limit of address space is too low for the framework's libraries."""
    limits = framework.machine.limits
    limit = require_applicable(limits.address_space)
    needed = framework.xray.mapped
    if not isinstance(limit, int) or needed <= limit:
        return
    yield Problem(
        message=f"The libraries of {framework.label} take {_gib_text(needed)} of address space, but `ulimit -v` allows {_gib_text(limit)}.",
        only_for=framework.name,
        evidence=(
            Evidence("limit of address space", _gib_text(limit), "/proc/self/limits"),
            Evidence("address space of its libraries", _gib_text(needed), "segments of the files that its import loads"),
        ),
        fixes=(_RAISE_LIMIT if limits.address_space_hard == "unlimited" else _START_ELSEWHERE,),
    )


def _gib_text(size: int) -> str:
    return f"{size / GIB:.1f} GiB"
