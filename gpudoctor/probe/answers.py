"""Turns a child's answer into a section of the snapshot: complete, partial, or missing with the reason."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from gpudoctor.children import events
from gpudoctor.children.channel import Heard
from gpudoctor.children.events import DeviceCount, KernelResult, PythonReport, Unable
from gpudoctor.probe.target import Target
from gpudoctor.process import End, Outcome
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
    readable,
)

_OUR_IMPORT = "import pynvml"
"""The mark of what is no call of the driver."""
MOST_DEVICES = 1024
"""More than any machine has: a higher count is garbage."""


class _Form(msgspec.Struct, frozen=True):
    """How a script's events make a section, with its devices numbered by `number`."""

    who: str
    events: tuple[Any, ...]
    """The limits of the section's own fields, then of a device's."""
    section: type
    devices: str
    item: type
    number: str


_NVML = _Form("the NVML probe", events.NVML, Nvml, "gpus", NvmlGpu, "index")
_LIBCUDA = _Form("the libcuda probe", events.LIBCUDA, Libcuda, "devices", CudaDevice, "ordinal")


def _hang(heard: Heard, cut: Missing | None) -> Hang | Missing:
    outcome = heard.outcome
    if heard.timed_out and outcome.mark and outcome.mark != _OUR_IMPORT:
        return Hang(call=outcome.doing, seconds=round(outcome.quiet, 1), uninterruptible=outcome.stuck)
    return cut or Missing(Cause.ABSENT, "every call returned")


def _whole(known: dict[str, Any], kind: type[msgspec.Struct], rest: Missing) -> Any:
    """A struct of what is known; `rest` says why the other fields are missing."""
    if isinstance(known.get("address"), str):
        known["address"] = normalise_address(known["address"]) or Missing(Cause.FAILED, f"{known['address']!r} is not a PCI address")
    return kind(**{field: known.get(field, rest) for field in kind.__struct_fields__})


def _devices(heard: Heard, form: _Form, rest: Missing) -> Any:
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
        _whole({form.number: number, **events.known(tuple(said.get(number, ())))}, form.item, rest if number <= last else beyond)
        for number in range(max(0, min(counts[-1].count, MOST_DEVICES)))
    )


def _section(outcome: Outcome, form: _Form) -> Any:
    heard = Heard(outcome, form.events, form.who)
    refusals = (*heard.all(Missing), *(Missing(Cause.FAILED, f"{form.who}: {event.reason}") for event in heard.all(Unable)))
    if heard.silent or (heard.strange and refusals):
        return heard.gap()
    if refusals:
        return refusals[0]
    cut = heard.cut
    rest = cut or Missing(Cause.FAILED, f"{form.who} ended before this")
    known = {form.devices: _devices(heard, form, rest), **events.known(heard.all(form.events[0])), "hang": _hang(heard, cut)}
    return _whole(known, form.section, rest)


def nvml(outcome: Outcome) -> Nvml | Missing:
    """What the NVML child answered. After a hang or crash its earlier answers stay, and the rest is missing with the reason."""
    section: Nvml | Missing = _section(outcome, _NVML)
    return section


def libcuda(outcome: Outcome) -> Libcuda | Missing:
    """What a libcuda child answered, in the same way."""
    section: Libcuda | Missing = _section(outcome, _LIBCUDA)
    return section


def unable(outcome: Outcome) -> str:
    """Why this interpreter could not query libcuda at all; empty if it could."""
    heard = Heard(outcome, _LIBCUDA.events, _LIBCUDA.who)
    if heard.silent:
        return outcome.trouble or heard.strange or "did not run the script"
    return next((event.reason for event in heard.all(Unable)), "")


def context(outcome: Outcome, ordinal: int, address: str) -> CudaContext:
    """What a context child showed of its device; what it reported before a hang or crash stays."""
    heard = Heard(outcome, events.CONTEXT, "the context probe")
    known = events.known(heard.all(events.ContextPart) + heard.all(KernelResult))
    cut = heard.cut
    rest = cut or Missing(Cause.FAILED, "the context probe ended before this")
    refused = heard.first(events.Stopped)
    unable = next((Missing(Cause.FAILED, f"the context probe: {event.reason}") for event in heard.all(Unable)), None)
    stopped = heard.first(Missing) or unable or (refused and refused.refused) or rest
    result = rest if heard.strange else known.get("kernel_right", stopped)
    given = {"ordinal": ordinal, "address": address, "skipped": "", "calls": heard.all(CudaCall), "hang": _hang(heard, cut)}
    whole: CudaContext = _whole({**known, **given, "kernel_right": result}, CudaContext, rest)
    return whole


def python(outcome: Outcome, target: Target) -> tuple[Python | Missing, tuple[str, ...]]:
    """What the target interpreter reported about itself, and its sys.path as os.fsdecode gives it."""
    heard, name = Heard(outcome, events.PYTHON, "the script that asks the interpreter"), readable(target.executable)
    said = heard.first(PythonReport)
    if said is None:
        return _silence(heard, name), ()
    if heard.strange:
        return Missing(Cause.FAILED, f"{name} {heard.strange}"), ()
    if _went_away(outcome, said.process):
        return Missing(Cause.FAILED, f"{name} moves to the background on start"), ()
    fields = {field: value for field, value in events.said(said).items() if field not in {"process", "path_hex"}}
    found = Python(**{**fields, "executable": said.executable or name}, why=target.why, named=target.named)
    return found, _raw(said.path_hex) or said.path


def _went_away(outcome: Outcome, process: tuple[int, int, int]) -> bool:
    """Whether the process that answered is not the one we started, as when a sitecustomize daemonises it.

    `process` is its pid, parent and session; our children lead a session, and a wrapper script stays in it and waits.
    """
    return outcome.pid not in process[:2] and (process[2] != outcome.pid or process[1] in {1, os.getpid()})


def _silence(heard: Heard, name: str) -> Missing:
    """Why an interpreter did not report what it is."""
    if heard.crash:
        return heard.gap()
    if heard.outcome.end is End.NOT_STARTED:
        return Missing(Cause.FAILED, f"{name} {heard.outcome.trouble}")
    if heard.outcome.end is End.STALLED:
        return Missing(Cause.TIMED_OUT, f"{name} did not start within {heard.outcome.quiet:.0f} s; try `{name} -v -c pass`")
    trouble = heard.gap("it")
    return Missing(trouble.cause, f"{name} does not start: {trouble.reason}; try `{name} -v -c pass`")


def _raw(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(os.fsdecode(bytes.fromhex(entry)) for entry in path)
