"""Turns what a child left behind into a section of the snapshot: whole, in part, or missing with the reason."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import msgspec

from gpudoctor.children import events
from gpudoctor.children.channel import Heard
from gpudoctor.children.events import Count, KernelResult, PythonSaid, Unable
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

MOST_DEVICES = 1024
"""More than any machine has: a count beyond is garbage."""


class _Form(NamedTuple):
    """How the events of a script make a section, which numbers its devices under `number`."""

    who: str
    events: tuple[Any, ...]
    """That of the section's own fields first, then that of a device's."""
    section: type
    devices: str
    item: type
    number: str


_NVML = _Form("the NVML probe", events.NVML, Nvml, "gpus", NvmlGpu, "index")
_LIBCUDA = _Form("the libcuda probe", events.LIBCUDA, Libcuda, "devices", CudaDevice, "ordinal")


def _hang(heard: Heard, cut: Missing | None) -> Hang | Missing:
    outcome = heard.outcome
    if heard.timed_out and outcome.mark and not outcome.mark.startswith("import "):
        return Hang(call=outcome.mark, seconds=round(outcome.quiet, 1), uninterruptible=outcome.stuck)
    return cut or Missing(Cause.ABSENT, "every call returned")


def _whole(known: dict[str, Any], kind: type[msgspec.Struct], rest: Missing) -> Any:
    """A struct of what is known; the fields that nobody answered are missing as `rest` says."""
    if isinstance(known.get("address"), str):
        known["address"] = normalise_address(known["address"]) or Missing(Cause.FAILED, f"{known['address']!r} is no PCI address")
    return kind(**{field: known.get(field, rest) for field in kind.__struct_fields__})


def _devices(heard: Heard, form: _Form, rest: Missing) -> Any:
    """Every device that was counted, also those that were not reached: fewer would be another fact."""
    said: dict[int, list[Any]] = {}
    for event in heard.all(form.events[1]):
        said.setdefault(getattr(event, form.number), []).append(event)
    counts = heard.all(Count)
    if not counts:
        return rest
    asked = heard.outcome.mark.rpartition(" ")[2]
    last = int(asked) if asked.isdecimal() and len(asked) < 9 else max(said, default=0)
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
    rest = cut or Missing(Cause.FAILED, f"{form.who} did not come to it")
    known = {form.devices: _devices(heard, form, rest), **events.known(heard.all(form.events[0])), "hang": _hang(heard, cut)}
    return _whole(known, form.section, rest)


def nvml(outcome: Outcome) -> Nvml | Missing:
    """What the NVML child answered. After a hang or crash what it had said stays, and the rest says why it is missing."""
    section: Nvml | Missing = _section(outcome, _NVML)
    return section


def libcuda(outcome: Outcome) -> Libcuda | Missing:
    """What a libcuda child answered, likewise."""
    section: Libcuda | Missing = _section(outcome, _LIBCUDA)
    return section


def unable(outcome: Outcome) -> str:
    """Why this interpreter could not ask libcuda at all; empty where it could."""
    heard = Heard(outcome, _LIBCUDA.events, _LIBCUDA.who)
    if heard.silent:
        return outcome.trouble or heard.strange or "did not run the script"
    return next((event.reason for event in heard.all(Unable)), "")


def context(outcome: Outcome, ordinal: int, address: str) -> CudaContext:
    """What a context child showed of the device that it was given; what it had said before a hang or crash stays."""
    heard = Heard(outcome, events.CONTEXT, "the context probe")
    known = events.known(heard.all(events.ContextPart) + heard.all(KernelResult))
    cut = heard.cut
    rest = cut or Missing(Cause.FAILED, "the context probe did not come to it")
    refused = heard.first(events.Stopped)
    unable = next((Missing(Cause.FAILED, f"the context probe: {event.reason}") for event in heard.all(Unable)), None)
    stopped = heard.first(Missing) or unable or (refused and refused.refused) or rest
    result = rest if heard.strange else known.get("kernel_right", stopped)
    given = {"ordinal": ordinal, "address": address, "skipped": "", "calls": heard.all(CudaCall), "hang": _hang(heard, cut)}
    whole: CudaContext = _whole({**known, **given, "kernel_right": result}, CudaContext, rest)
    return whole


def python(outcome: Outcome, target: Target) -> tuple[Python | Missing, tuple[str, ...]]:
    """What the target interpreter said of itself, and its sys.path as os.fsdecode would give it."""
    heard, name = Heard(outcome, events.PYTHON, "the script that asks the interpreter"), readable(target.executable)
    said = heard.first(PythonSaid)
    if said is None:
        return _silence(heard, name), ()
    if heard.strange:
        return Missing(Cause.FAILED, f"{name} {heard.strange}"), ()
    if _went_away(outcome, said.process):
        return Missing(Cause.FAILED, f"{name} goes into the background while it starts"), ()
    fields = {field: value for field, value in events.said(said).items() if field not in {"process", "path_hex"}}
    found = Python(**{**fields, "executable": said.executable or name}, why=target.why, named=target.named)
    return found, _raw(said.path_hex) or said.path


def _went_away(outcome: Outcome, process: tuple[int, int, int]) -> bool:
    """Whether the process that answered left the one that was started, as a sitecustomize does that makes it a daemon.

    `process` is its number, its parent's and its session's; a child of ours leads a session, and a wrapper stays in it and waits.
    """
    return outcome.pid not in process[:2] and (process[2] != outcome.pid or process[1] in {1, os.getpid()})


def _silence(heard: Heard, name: str) -> Missing:
    """Why an interpreter did not say what it is."""
    if heard.crash:
        return heard.gap()
    if heard.outcome.end is End.STALLED:
        return Missing(Cause.TIMED_OUT, f"{name} did not start within {heard.outcome.quiet:.0f} s; try `{name} -v -c pass`")
    trouble = heard.gap("it")
    return Missing(trouble.cause, f"{name} does not start: {trouble.reason}; try `{name} -v -c pass`")


def _raw(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(os.fsdecode(bytes.fromhex(entry)) for entry in path)
