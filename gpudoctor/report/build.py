"""From an examination to its published report."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from gpudoctor import __version__, findings
from gpudoctor.diagnose.rules import FAMILY_OF
from gpudoctor.diagnose.steps import GuardedSteps
from gpudoctor.examination import Examination, Timing
from gpudoctor.exit_codes import CRASHED
from gpudoctor.findings import Diagnosis, OutcomeKind, Verdict
from gpudoctor.report import model
from gpudoctor.snapshot import Host, Missing, Python, Snapshot, TextLog
from gpudoctor.typed_values import convert_value

TOOL = model.Tool("gpudoctor", __version__)
Result = TypeVar("Result")
_PAGES = "https://github.com/gpudoctor/gpudoctor/blob/main/gpudoctor/diagnose/rules"


def rule_url(rule: str) -> str:
    """Return where the page of the rule of this name is."""
    return f"{_PAGES}/{FAMILY_OF[rule]}/{rule.replace('-', '_')}.md"


def build_report(examination: Examination, command: str = "check", argv: tuple[str, ...] = ()) -> model.Report:
    """Return the report of `examination`; pure, so the same examination gives the same report. Where our code crashes it holds what was observed."""
    try:
        return _complete_report(examination, command, argv)
    except Exception as crash:  # noqa: BLE001 -- any defect; what was observed can be diagnosed again
        return _report_without_diagnosis(examination, command, argv, f"gpudoctor crashed in the report: {type(crash).__name__}: {crash}")


def _report_without_diagnosis(examination: Examination, command: str, argv: tuple[str, ...], crash: str) -> model.Report:
    """Return the report that is left where the rest crashes: the verdict and the snapshot."""
    diagnosis = examination.diagnosis
    return model.Report(
        schema=model.SCHEMA,
        id="",
        tool=TOOL,
        command=command,
        created=examination.snapshot.created,
        examined=model.Examined(None, "", None),
        policy=_NO_POLICY,
        verdict=diagnosis.verdict.value,
        because="; ".join((*diagnosis.unproven, crash)),
        proved_to=model.ProvedTo(None, 0, 0, ""),
        exit_code=diagnosis.exit_code if diagnosis.verdict is Verdict.BROKEN else CRASHED,
        findings=(),
        could_not_tell=(),
        passed=(),
        ladder=(),
        matrix=model.Tables(examination.matrix_date),
        timings=(),
        snapshot=examination.snapshot,
        argv=argv,
    )


def _complete_report(examination: Examination, command: str, argv: tuple[str, ...]) -> model.Report:
    diagnosis, snapshot, steps = examination.diagnosis, examination.snapshot, GuardedSteps()
    return model.Report(
        schema=model.SCHEMA,
        id=steps(_report_id, "", examination),
        tool=TOOL,
        command=command,
        created=snapshot.created,
        examined=steps(_examined_environment, model.Examined(None, "", None), snapshot),
        policy=steps(_published_form, _NO_POLICY, model.Policy, examination.policy),
        verdict=diagnosis.verdict.value,
        because=steps(_verdict_reason, "", diagnosis),
        proved_to=steps(_proven_scope, model.ProvedTo(None, 0, 0, ""), diagnosis.proved_to, snapshot),
        findings=_published_items(steps, model.Finding, diagnosis.findings),
        passed=_published_items(steps, model.Passed, (outcome for outcome in diagnosis.outcomes if outcome.kind is OutcomeKind.PASSED)),
        ladder=_published_items(steps, model.LadderRow, () if snapshot.origin == model.ASSUMED_ORIGIN else diagnosis.ladder),
        matrix=model.Tables(examination.matrix_date),
        timings=tuple(Timing(timing.what, round(timing.seconds, 4)) for timing in examination.timings),
        snapshot=snapshot,
        skipped=tuple(_published_form(model.Skipped, rule) for rule in diagnosis.skipped),
        summary=diagnosis.summary,
        not_judged=_published_items(steps, model.NotJudged, diagnosis.unchecked),
        argv=argv,
        recognised=steps(_recognised_formats, None, snapshot.text_log),
        # last: what crashed above is in both
        could_not_tell=tuple(
            _published_form(model.CouldNotTell, outcome)
            for outcome in (*diagnosis.outcomes, *steps.crashed)
            if outcome.kind in _UNCHECKED_KINDS
        ),
        exit_code=_exit_code_of_check(examination, steps),
    )


def _verdict_reason(diagnosis: Diagnosis) -> str:
    return diagnosis.because


_UNCHECKED_KINDS = {OutcomeKind.COULD_NOT_TELL, OutcomeKind.CRASHED}
_NO_POLICY = model.Policy(level=None, allow_cpu=False, only=(), skip=(), fail_on="")


def _exit_code_of_check(examination: Examination, steps: GuardedSteps) -> int:
    if examination.interrupted:
        return 128 + examination.interrupted
    diagnosis = examination.diagnosis
    return CRASHED if steps.crashed and diagnosis.verdict is not Verdict.BROKEN else diagnosis.exit_code


def _published_items(steps: GuardedSteps, form: type[Result], items: Iterable[msgspec.Struct]) -> tuple[Result, ...]:
    """Return the published form of each item, without those where our code crashes."""
    return tuple(step for item in items if (step := steps(_published_form, None, form, item)) is not None)


def _published_form(form: type[Result], one: msgspec.Struct) -> Result:
    """Return the published form of a struct: its fields of the same names as JSON has them, checked against the form's types."""
    fields = msgspec.to_builtins(one)
    if isinstance(one, findings.Finding):
        fields["url"] = rule_url(one.name)
    return convert_value(fields, form)


def _recognised_formats(log: TextLog | Missing) -> model.Recognised | None:
    if isinstance(log, Missing):
        return None
    return model.Recognised(log.total, log.used, tuple(_published_form(model.Recognition, reading) for reading in log.readings))


def _report_id(examination: Examination) -> str:
    return digest(msgspec.json.encode((examination.snapshot, examination.policy), order="deterministic"))


def digest(data: bytes) -> str:
    """Return sixteen hexadecimal digits; hashlib would load OpenSSL, 3 ms, and nobody forges a report's id."""
    return f"{zlib.crc32(data):08x}{zlib.adler32(data):08x}"


def _examined_environment(snapshot: Snapshot) -> model.Examined:
    python = snapshot.python
    if snapshot.origin == model.ASSUMED_ORIGIN:
        return model.Examined(None, "nothing was examined: the machine and its packages were only described", None)
    host = snapshot.host if isinstance(snapshot.host, Host) else Host()
    user = None
    if isinstance(host.uid, int):
        user = "root" if host.uid == 0 else f"uid {host.uid}"
    if isinstance(host.username, str):
        user = host.username
    if isinstance(python, Python):
        return model.Examined(python.executable, python.why, user)
    return model.Examined(None, python.reason, user)


def _proven_scope(proved: findings.ProvedTo, snapshot: Snapshot) -> model.ProvedTo:
    if snapshot.origin == model.ASSUMED_ORIGIN:
        return model.ProvedTo(None, 0, proved.of, "no conflict is known; nothing was tried")
    return model.ProvedTo(proved.rung.value if proved.rung else None, proved.gpus, proved.of, proved.text)
