from collections.abc import Iterator

import msgspec

from gpudoctor.derive import CouldNotTell, FrameworkView, require_applicable
from gpudoctor.derive.all_reduce import AllReduceResult, all_reduce_result, result_detail
from gpudoctor.derive.framework_log import relevant_lines
from gpudoctor.diagnose.advice.remedies import remedy
from gpudoctor.diagnose.advice.system import DISABLE_P2P, read_page
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.training.framework_output import log_pointer
from gpudoctor.findings import DOWNLOAD, Evidence, Fix, FixKind, Impact, Level, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import joined_words
from gpudoctor.snapshot import AllReduce, Cause, Missing, Variables

_RERUN = "gpudoctor smoke --level full"


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
    first, *controls = require_applicable(framework.smoke.all_reduces, Rung.TRAINED)
    if all_reduce_result(first) is AllReduceResult.RIGHT:
        return
    if all_reduce_result(first) is AllReduceResult.UNKNOWN:
        raise CouldNotTell(Missing(Cause.FAILED, result_detail(first)), Rung.TRAINED)
    log = first.output if isinstance(first.output, str) else ""
    found = log_pointer(framework, log, result_detail(first))
    sign = found.sign if found else None
    control = next((f" With NCCL_P2P_DISABLE=1 it {all_reduce_result(run).value}." for run in controls), "")
    meaning = f" Its log says: {sign.signature.meaning}." if sign else ""
    devices = joined_words(first.devices)
    yield Problem(
        message=f"{framework.name}: all-reduce across {devices} {all_reduce_result(first).value} ({result_detail(first)}).{control}{meaning}",
        evidence=(
            *_run_evidence(framework.name, first, *controls),
            *_log_evidence(framework.name, first, sign.line if sign else ""),
            *_nccl_variables(framework),
        ),
        fixes=tuple(_workarounds(framework.name, first, controls, tuple(rule.name for rule in found.rules) if found else ())),
    )


def _run_evidence(name: str, *runs: AllReduce) -> Iterator[Evidence]:
    for run in runs:
        yield Evidence("all-reduce" if run.p2p else "without P2P", f"{all_reduce_result(run).value}: {result_detail(run)}", name)


def _log_evidence(name: str, run: AllReduce, relevant: str) -> Iterator[Evidence]:
    if relevant:
        yield Evidence("relevant log line", relevant, f"{name}'s output")
        return
    for line in relevant_lines(run.output) if isinstance(run.output, str) else ():
        yield Evidence("log", line, f"{name}'s output")


def _nccl_variables(framework: FrameworkView) -> Iterator[Evidence]:
    variables = framework.machine.observed.variables
    for name, value in variables.values.items() if isinstance(variables, Variables) else ():
        if name.startswith("NCCL_"):
            yield Evidence(name, value, "environment")


def _workarounds(name: str, run: AllReduce, controls: list[AllReduce], causes: tuple[str, ...]) -> Iterator[Fix]:
    """Return what cures the cause that the log names, else how to avoid the path that fails, or to train on one GPU or with another release."""
    yield from map(read_page, causes)
    named = [msgspec.structs.replace(fix, action=None) for cause in causes[:1] for fix in remedy(cause)]
    yield from named
    device, _, ordinal = run.devices[0].partition(":")
    on_gpus = device == "GPU"
    if on_gpus:
        again = f"NCCL_DEBUG=INFO {_RERUN} --framework {name} --format json"
        yield Fix("Repeat it with NCCL's log; the report holds the end of the log", again, kind=FixKind.CHECK)
    if any(all_reduce_result(control) is AllReduceResult.RIGHT for control in controls):
        yield DISABLE_P2P
    elif on_gpus:
        kind = FixKind.ELSE if named else FixKind.FIX
        yield Fix("Train on one GPU until it works", f"export CUDA_VISIBLE_DEVICES={ordinal}", kind=kind)
    else:
        yield Fix(f"Install another release of {name}; on the CPU only the framework can be at fault.", needs=(DOWNLOAD,))
