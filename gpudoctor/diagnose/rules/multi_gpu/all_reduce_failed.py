from collections.abc import Iterator

import msgspec

from gpudoctor.derive import CouldNotTell, FrameworkView, applicable
from gpudoctor.derive.all_reduce import Result, detail, result
from gpudoctor.derive.framework_log import telling_lines
from gpudoctor.diagnose.advice.remedies import remedy
from gpudoctor.diagnose.advice.system import DISABLE_P2P, read_page
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.training.framework_output import pointed
from gpudoctor.findings import DOWNLOAD, Evidence, Fix, FixKind, Impact, Level, Problem, Problems, Rung, Severity
from gpudoctor.findings.naming import joined
from gpudoctor.snapshot import AllReduce, Cause, Missing, Variables

_AGAIN = "gpudoctor smoke --level full"


@rule(
    "GD807",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    impact=Impact.PARTLY,
    predicts=False,
    seen_at=Level.FULL,
    bears_on_training=True,
)
def all_reduce_failed(framework: FrameworkView) -> Problems:
    """All-reduce across GPUs hangs, fails or returns wrong results."""
    first, *controls = applicable(framework.smoke.all_reduces, Rung.TRAINED)
    if result(first) is Result.RIGHT:
        return
    if result(first) is Result.UNKNOWN:
        raise CouldNotTell(Missing(Cause.FAILED, detail(first)), Rung.TRAINED)
    log = first.output if isinstance(first.output, str) else ""
    found = pointed(framework, log, detail(first))
    sign = found.sign if found else None
    control = next((f" With NCCL_P2P_DISABLE=1 it {result(run).value}." for run in controls), "")
    meaning = f" Its log says: {sign.signature.meaning}." if sign else ""
    devices = joined(first.devices)
    yield Problem(
        message=f"{framework.name}: all-reduce across {devices} {result(first).value} ({detail(first)}).{control}{meaning}",
        evidence=(
            *_runs(framework.name, first, *controls),
            *_log_lines(framework.name, first, sign.line if sign else ""),
            *_nccl_variables(framework),
        ),
        fixes=tuple(_ways_out(framework.name, first, controls, tuple(rule.name for rule in found.rules) if found else ())),
    )


def _runs(name: str, *runs: AllReduce) -> Iterator[Evidence]:
    for run in runs:
        yield Evidence("all-reduce" if run.p2p else "without P2P", f"{result(run).value}: {detail(run)}", name)


def _log_lines(name: str, run: AllReduce, relevant: str) -> Iterator[Evidence]:
    if relevant:
        yield Evidence("relevant log line", relevant, f"{name}'s output")
        return
    for line in telling_lines(run.output) if isinstance(run.output, str) else ():
        yield Evidence("log", line, f"{name}'s output")


def _nccl_variables(framework: FrameworkView) -> Iterator[Evidence]:
    variables = framework.machine.observed.variables
    for name, value in variables.values.items() if isinstance(variables, Variables) else ():
        if name.startswith("NCCL_"):
            yield Evidence(name, value, "environment")


def _ways_out(name: str, run: AllReduce, controls: list[AllReduce], causes: tuple[str, ...]) -> Iterator[Fix]:
    """Return what cures the cause that the log names, else how to avoid the path that fails, or to train on one GPU or with another release."""
    yield from map(read_page, causes)
    named = [msgspec.structs.replace(fix, action=None) for cause in causes[:1] for fix in remedy(cause)]
    yield from named
    device, _, ordinal = run.devices[0].partition(":")
    on_gpus = device == "GPU"
    if on_gpus:
        again = f"NCCL_DEBUG=INFO {_AGAIN} --framework {name} --format json"
        yield Fix("Repeat it with NCCL's log; the report holds the end of the log", again, kind=FixKind.CHECK)
    if any(result(control) is Result.RIGHT for control in controls):
        yield DISABLE_P2P
    elif on_gpus:
        kind = FixKind.ELSE if named else FixKind.FIX
        yield Fix("Train on one GPU until it works", f"export CUDA_VISIBLE_DEVICES={ordinal}", kind=kind)
    else:
        yield Fix(f"Install another release of {name}; on the CPU only the framework can be at fault.", needs=(DOWNLOAD,))
