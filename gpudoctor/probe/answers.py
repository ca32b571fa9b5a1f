"""Turns a child's answer into a section of the snapshot: complete, partial, or missing with the reason."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from gpudoctor.children import events
from gpudoctor.children.channel import Heard
from gpudoctor.children.events import DeviceCount, KernelResult, PythonReport, Unable
from gpudoctor.probe.target import Target
from gpudoctor.process import ChildEnd, ChildOutcome
from gpudoctor.snapshot import (
    Cause,
    CudaCall,
    CudaContext,
    CudaDevice,
    Hang,
    Libcuda,
    Missing,
    Nvml,
    NvmlGpu,
    Python,
    normalise_address,
    printable_text,
)

_NVML_IMPORT = "import pynvml"
"""The mark of what is no call of the driver."""
MAX_DEVICES = 1024
"""More than any machine has: a higher count is garbage."""


class _AnswerForm(msgspec.Struct, frozen=True):
    """How a script's events make a section, with its devices numbered by `number`."""

    who: str
    events: tuple[Any, ...]
    """The limits of the section's own fields, then of a device's."""
    section: type
    devices: str
    item: type
    number: str


_NVML_FORM = _AnswerForm("the NVML probe", events.NVML, Nvml, "gpus", NvmlGpu, "index")
_LIBCUDA_FORM = _AnswerForm("the libcuda probe", events.LIBCUDA, Libcuda, "devices", CudaDevice, "ordinal")


def _hang_of_child(heard: Heard, cut: Missing | None) -> Hang | Missing:
    outcome = heard.outcome
    if heard.timed_out and outcome.mark and outcome.mark != _NVML_IMPORT:
        return Hang(call=outcome.last_mark, seconds=round(outcome.quiet, 1), uninterruptible=outcome.stuck)
    return cut or Missing(Cause.ABSENT, "every call returned")


def _struct_with_gaps(known: dict[str, Any], kind: type[msgspec.Struct], rest: Missing) -> Any:
    """A struct of what is known; `rest` says why the other fields are missing."""
    if isinstance(known.get("address"), str):
        known["address"] = normalise_address(known["address"]) or Missing(Cause.FAILED, f"{known['address']!r} is not a PCI address")
    return kind(**{field: known.get(field, rest) for field in kind.__struct_fields__})


def _counted_devices(heard: Heard, form: _AnswerForm, rest: Missing) -> Any:
    """Every device that was counted, including those not reached: their number is a fact too."""
    said: dict[int, list[Any]] = {}
    for event in heard.all(form.events[1]):
        said.setdefault(getattr(event, form.number), []).append(event)
    counts = heard.all(DeviceCount)
    if not counts:
        return rest
    last = (heard.outcome.devices or (max(said, default=0),))[-1]
    beyond = Missing(rest.cause, f"not reached: {rest.reason}")
    return tuple(
        _struct_with_gaps({form.number: number, **events.known(tuple(said.get(number, ())))}, form.item, rest if number <= last else beyond)
        for number in range(max(0, min(counts[-1].count, MAX_DEVICES)))
    )


def _section_of_answer(outcome: ChildOutcome, form: _AnswerForm) -> Any:
    heard = Heard(outcome, form.events, form.who)
    refusals = (*heard.all(Missing), *(Missing(Cause.FAILED, f"{form.who}: {event.reason}") for event in heard.all(Unable)))
    if heard.silent or (heard.strange and refusals):
        return heard.gap()
    if refusals:
        return refusals[0]
    cut = heard.cut
    rest = cut or Missing(Cause.FAILED, f"{form.who} ended before this")
    known = {
        form.devices: _counted_devices(heard, form, rest),
        **events.known(heard.all(form.events[0])),
        "hang": _hang_of_child(heard, cut),
    }
    return _struct_with_gaps(known, form.section, rest)


def nvml_answer(outcome: ChildOutcome) -> Nvml | Missing:
    """What the NVML child answered. After a hang or crash its earlier answers stay, and the rest is missing with the reason."""
    section: Nvml | Missing = _section_of_answer(outcome, _NVML_FORM)
    return section


def libcuda_answer(outcome: ChildOutcome) -> Libcuda | Missing:
    """What a libcuda child answered, in the same way."""
    section: Libcuda | Missing = _section_of_answer(outcome, _LIBCUDA_FORM)
    return section


def libcuda_failure(outcome: ChildOutcome) -> str:
    """Why this interpreter could not query libcuda at all; empty if it could."""
    heard = Heard(outcome, _LIBCUDA_FORM.events, _LIBCUDA_FORM.who)
    if heard.silent:
        return outcome.trouble or heard.strange or "did not run the script"
    return next((event.reason for event in heard.all(Unable)), "")


def context_answer(outcome: ChildOutcome, ordinal: int, address: str) -> CudaContext:
    """What a context child showed of its device; what it reported before a hang or crash stays."""
    heard = Heard(outcome, events.CONTEXT, "the context probe")
    known = events.known(heard.all(events.ContextPart) + heard.all(KernelResult))
    cut = heard.cut
    rest = cut or Missing(Cause.FAILED, "the context probe ended before this")
    refused = heard.first(events.Stopped)
    unable = next((Missing(Cause.FAILED, f"the context probe: {event.reason}") for event in heard.all(Unable)), None)
    stopped = heard.first(Missing) or unable or (refused and refused.refused) or rest
    result = rest if heard.strange else known.get("kernel_right", stopped)
    given = {"ordinal": ordinal, "address": address, "skipped": "", "calls": heard.all(CudaCall), "hang": _hang_of_child(heard, cut)}
    whole: CudaContext = _struct_with_gaps({**known, **given, "kernel_right": result}, CudaContext, rest)
    return whole


def python_answer(outcome: ChildOutcome, target: Target) -> tuple[Python | Missing, tuple[str, ...]]:
    """What the target interpreter reported about itself, and its sys.path as os.fsdecode gives it."""
    heard, name = Heard(outcome, events.PYTHON, "the script that asks the interpreter"), printable_text(target.executable)
    said = heard.first(PythonReport)
    if said is None:
        return _reason_for_silence(heard, name), ()
    if heard.strange:
        return Missing(Cause.FAILED, f"{name} {heard.strange}"), ()
    if _is_other_process(outcome, said.process):
        return Missing(Cause.FAILED, f"{name} moves to the background on start"), ()
    fields = {field: value for field, value in events.said(said).items() if field not in {"process", "path_hex"}}
    found = Python(**{**fields, "executable": said.executable or name}, why=target.why, named=target.named)
    return found, _decoded_path(said.path_hex) or said.path


def _is_other_process(outcome: ChildOutcome, process: tuple[int, int, int]) -> bool:
    """Whether the process that answered is not the one we started, as when a sitecustomize daemonises it.

    `process` is its pid, parent and session; our children lead a session, and a wrapper script stays in it and waits.
    """
    return outcome.pid not in process[:2] and (process[2] != outcome.pid or process[1] in {1, os.getpid()})


def _reason_for_silence(heard: Heard, name: str) -> Missing:
    """Why an interpreter did not report what it is."""
    if heard.crash:
        return heard.gap()
    if heard.outcome.end is ChildEnd.NOT_STARTED:
        return Missing(Cause.FAILED, f"{name} {heard.outcome.trouble}")
    if heard.outcome.end is ChildEnd.STALLED:
        return Missing(Cause.TIMED_OUT, f"{name} did not start within {heard.outcome.quiet:.0f} s; try `{name} -v -c pass`")
    trouble = heard.gap("it")
    return Missing(trouble.cause, f"{name} does not start: {trouble.reason}; try `{name} -v -c pass`")


def _decoded_path(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(os.fsdecode(bytes.fromhex(entry)) for entry in path)
