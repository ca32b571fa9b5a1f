"""GD807: all-reduce-failed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive.all_reduce import Result, detail, result
from gpudoctor.derive.log import telling_lines
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.system import read_page
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.diagnose.rules.multi_gpu.all_reduce import _WITHOUT
from gpudoctor.findings import Evidence, Fix, FixKind, Level, Problem, Rung, Severity, SubjectKind
from gpudoctor.signatures import recognise
from gpudoctor.snapshot import AllReduce, Cause, Missing, Smoke, Variables

_AGAIN = "gpudoctor smoke --level full"


@rule(
    "GD807",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    predicts=False,
    seen_at=Level.FULL,
    of_training=True,
)
def all_reduce_failed(smoke: Smoke, variables: Variables | Missing) -> Iterator[Problem]:
    """Sums over several devices hang, fail or are wrong.

    ## Why it matters
    A training over several GPUs sums its gradients over all of them in every step, by an all-reduce. Arrays whose sum is exact were summed by
    the framework's own means. Trainings on one GPU are not concerned; those on several stop, or learn from wrong gradients.

    ## What to do
    Where it is right with NCCL_P2P_DISABLE=1, the way between the GPUs is at fault (`gpudoctor explain nccl-p2p-acs-iommu`). Where it is not,
    NCCL's own log says most: too little shared memory in a container, two releases of NCCL, a network interface
    that NCCL_SOCKET_IFNAME excludes.

    ## References
    - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    """
    if isinstance(smoke.all_reduces, Missing) and smoke.all_reduces.cause is Cause.ABSENT:
        not_applicable(smoke.all_reduces.reason)
    first, *controls = need(smoke.all_reduces, Rung.TRAINED)
    if result(first) is Result.RIGHT:
        return
    if result(first) is Result.UNKNOWN:
        need(Missing(Cause.FAILED, detail(first)), Rung.TRAINED)
    sign = next(iter(recognise("\n".join((first.output if isinstance(first.output, str) else "", detail(first))))), None)
    control = next((f" With NCCL_P2P_DISABLE=1 it {result(run).value}." for run in controls), "")
    points = f" Its words mean that {sign.signature.meaning}." if sign else ""
    set_by = variables.values.items() if isinstance(variables, Variables) else ()
    yield Problem(
        message=f"{smoke.framework}: an all-reduce over {', '.join(first.devices)} {result(first).value} ({detail(first)}).{control}{points}",
        evidence=(
            *(
                Evidence("without P2P" if not run.p2p else "all-reduce", f"{result(run).value}: {detail(run)}", smoke.framework)
                for run in (first, *controls)
            ),
            *((Evidence("a telling line", sign.line, f"{smoke.framework}'s output"),) if sign else _log(first, smoke.framework)),
            *(Evidence(name, value, "environment") for name, value in set_by if name.startswith("NCCL_")),
        ),
        fixes=tuple(_ways_out(smoke, first, controls, sign.signature.causes if sign else ())),
    )


def _log(run: AllReduce, framework: str) -> tuple[Evidence, ...]:
    lines = telling_lines(run.output) if isinstance(run.output, str) else ()
    return tuple(Evidence("log", line, f"{framework}'s output") for line in lines)


def _ways_out(smoke: Smoke, run: AllReduce, controls: list[AllReduce], causes: tuple[str, ...]) -> Iterator[Fix]:
    """Off the way that fails where another was seen to work; else to one process a GPU less, or another release."""
    yield from map(read_page, causes)
    on_gpus = run.devices[0].startswith("GPU")
    if on_gpus:
        again = f"NCCL_DEBUG=INFO {_AGAIN} --framework {smoke.framework} --format json"
        yield Fix("Let NCCL say what it does; where it does not end well, the report holds the end of that", again, kind=FixKind.CHECK)
    if any(result(one) is Result.RIGHT for one in controls):
        yield _WITHOUT
    elif on_gpus:
        only = run.devices[0].partition(":")[2]
        yield Fix("Train on one GPU until it works", f"export CUDA_VISIBLE_DEVICES={only}")
    else:
        yield Fix(f"Install another release of {smoke.framework}: on the CPU nothing else takes part.", needs=(DOWNLOAD,))
