"""Turns what a child left behind into a section of the snapshot: whole, in part, or missing with the reason."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import msgspec

from gpudoctor.probe.target import Target
from gpudoctor.process import End, Outcome, crash
from gpudoctor.snapshot import Cause, CudaContext, CudaDevice, Hang, Libcuda, Missing, Nvml, NvmlGpu, Python, normalise_address, readable

MOST_DEVICES = 1024
"""More than any machine has: a count beyond is garbage."""


class _Form(NamedTuple):
    """How the lines of an answer make a section: lines of type `item` bring fields of the device that they number under `number`."""

    who: str
    section: type
    devices: str
    item: type
    number: str


_NVML = _Form("the NVML probe", Nvml, "gpus", NvmlGpu, "index")
_LIBCUDA = _Form("the libcuda probe", Libcuda, "devices", CudaDevice, "ordinal")


class _Pieces:
    """The lines of an answer put together."""

    def __init__(self, outcome: Outcome, form: _Form) -> None:
        self.section: dict[str, Any] = {}
        self.items: dict[int, dict[str, Any]] = {}
        self.count: int | None = None
        self.missing: Missing | None = None
        self.unable = ""
        self.done = False
        for piece in _objects(outcome):
            self._take(piece, form)

    def _take(self, piece: dict[str, Any], form: _Form) -> None:
        kind = piece.pop("type", None)
        if kind == _tag(form.item) and isinstance(piece.get(form.number), int):
            self.items.setdefault(piece[form.number], {}).update(piece)
        elif kind == _tag(form.section):
            self.section.update(piece)
        elif kind == "count" and isinstance(piece.get("count"), int):
            self.count = max(0, min(piece["count"], MOST_DEVICES))
        elif kind == "missing":
            self.missing = _convert({**piece, "type": "missing"}, Missing)
        elif kind == "unable":
            self.unable = str(piece.get("reason"))
        elif kind == "done":
            self.done = True


def _objects(outcome: Outcome) -> list[dict[str, Any]]:
    """The lines that are JSON objects; a target that is no Python may write anything."""
    found = []
    for line in outcome.lines:
        try:
            value = msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def _tag(kind: type) -> str:
    return str(kind.__struct_config__.tag)  # type: ignore[attr-defined]  # msgspec's, on every struct


def _convert(value: Any, kind: type) -> Any:
    try:
        return msgspec.convert(value, kind)
    except (msgspec.MsgspecError, ValueError, TypeError) as error:
        return Missing(Cause.FAILED, f"the answer is damaged: {error}")


def _timed_out(outcome: Outcome) -> bool:
    return outcome.end in {End.STALLED, End.OVERDUE}


def gap(outcome: Outcome, who: str) -> Missing:
    """Why an answer ends before its end."""
    if broke := crash(outcome):
        return Missing(Cause.CRASHED, f"{who} has a defect: {broke}")
    reason = f"{who} {outcome.trouble or 'ended without a whole answer'}"
    if outcome.stuck:
        reason += ", in an uninterruptible call (state D)"
    words = outcome.stderr.strip().rpartition("\n")[2][:200]
    if _timed_out(outcome):
        return Missing(Cause.TIMED_OUT, reason)
    return Missing(Cause.FAILED, f"{reason} ({words})" if words else reason)


def _hang(outcome: Outcome, cut: Missing | None) -> Hang | Missing:
    if _timed_out(outcome) and outcome.mark and not outcome.mark.startswith("import "):
        return Hang(call=outcome.mark, seconds=round(outcome.quiet, 1), uninterruptible=outcome.stuck)
    return cut or Missing(Cause.ABSENT, "every call returned")


def _whole(known: dict[str, Any], kind: type, rest: Missing) -> Any:
    """A struct of what is known; the fields that nobody answered are missing as `rest` says."""
    fields = kind.__struct_fields__  # type: ignore[attr-defined]
    if isinstance(known.get("address"), str):
        known["address"] = normalise_address(known["address"]) or Missing(Cause.FAILED, f"{known['address']!r} is no PCI address")
    every = {field: known.get(field, rest) for field in fields}
    return _convert({**msgspec.to_builtins(every), "type": _tag(kind)}, kind)


def _devices(pieces: _Pieces, form: _Form, mark: str, rest: Missing) -> Any:
    """Every device that was counted, also those that were not reached: fewer would be another fact."""
    if pieces.count is None:
        return pieces.section.get(form.devices, rest)
    asked = mark.rpartition(" ")[2]
    last = int(asked) if asked.isdecimal() and len(asked) < 9 else max(pieces.items, default=0)
    beyond = Missing(rest.cause, f"not reached: {rest.reason}")
    return [
        _whole({form.number: number, **pieces.items.get(number, {})}, form.item, rest if number <= last else beyond)
        for number in range(pieces.count)
    ]


def _section(outcome: Outcome, form: _Form) -> Any:
    pieces = _Pieces(outcome, form)
    if pieces.missing is not None:
        return pieces.missing
    if pieces.unable:
        return Missing(Cause.FAILED, f"{form.who}: {pieces.unable}")
    cut = None if pieces.done and not outcome.trouble else gap(outcome, form.who)
    if cut is not None and _silent(outcome):
        return cut
    rest = cut or Missing(Cause.FAILED, f"{form.who} did not come to it")
    known = {**pieces.section, form.devices: _devices(pieces, form, outcome.mark, rest), "hang": _hang(outcome, cut)}
    return _whole(known, form.section, rest)


def nvml(outcome: Outcome) -> Nvml | Missing:
    """What the NVML child answered. After a hang or crash what it had said stays, and the rest says why it is missing."""
    section: Nvml | Missing = _section(outcome, _NVML)
    return section


def libcuda(outcome: Outcome) -> Libcuda | Missing:
    """What a libcuda child answered, likewise."""
    section: Libcuda | Missing = _section(outcome, _LIBCUDA)
    return section


def context(outcome: Outcome, ordinal: int, address: str) -> CudaContext:
    """What a context child showed of the device that it was given; what it had said before a hang or crash stays."""
    calls: list[dict[str, Any]] = []
    known: dict[str, Any] = {}
    done = False
    problem: dict[str, Any] | Missing | None = None
    for piece in _objects(outcome):
        kind = piece.pop("type", None)
        if kind == "cuda-call":
            calls.append({**piece, "type": kind})
        elif kind == "cuda-context":
            known.update(piece)
        elif kind == "missing":
            problem = {**piece, "type": kind}
        elif kind == "unable":
            problem = Missing(Cause.FAILED, f"the context probe: {piece.get('reason')}")
        done = done or kind == "done"
    cut = None if done and not outcome.trouble else gap(outcome, "the context probe")
    rest = cut or Missing(Cause.FAILED, "the context probe did not come to it")
    stopped = problem or known.pop("refused", None) or rest
    known = {
        "kernel_right": stopped,
        **known,
        "ordinal": ordinal,
        "address": address,
        "skipped": "",
        "calls": calls,
        "hang": _hang(outcome, cut),
    }
    whole = _whole(known, CudaContext, rest)
    return CudaContext(ordinal=ordinal, address=address, kernel_right=whole) if isinstance(whole, Missing) else whole


def _silent(outcome: Outcome) -> bool:
    """Whether nothing shows that our script ever ran."""
    return not outcome.mark and not _objects(outcome)


def unable(outcome: Outcome) -> str:
    """Why this interpreter could not ask libcuda at all; empty where it could."""
    if _silent(outcome):
        return outcome.trouble or "did not run the script"
    return _Pieces(outcome, _LIBCUDA).unable


def python(outcome: Outcome, target: Target) -> tuple[Python | Missing, tuple[str, ...]]:
    """What the target interpreter said of itself, and its sys.path as os.fsdecode would give it."""
    for said in _objects(outcome):
        if said.get("type") != "python":
            continue
        said["executable"] = said.get("executable") or readable(target.executable)
        if _went_away(outcome, said.pop("process", ())):
            return Missing(Cause.FAILED, f"{readable(target.executable)} goes into the background while it starts"), ()
        found = _convert({**said, "why": target.why, "named": target.named}, Python)
        if isinstance(found, Python) and isinstance(found.path, tuple):
            return found, _raw(said.get("path_hex")) or found.path
    return _silence(outcome, readable(target.executable)), ()


def _went_away(outcome: Outcome, process: Any) -> bool:
    """Whether the process that answered left the one that was started, as a sitecustomize does that makes it a daemon.

    `process` is its number, its parent's and its session's; a child of ours leads a session, and a wrapper stays in it and waits.
    """
    if not isinstance(process, list) or len(process) != 3 or outcome.pid in process[:2]:
        return False
    return process[2] != outcome.pid or process[1] in {1, os.getpid()}


def _silence(outcome: Outcome, name: str) -> Missing:
    """Why an interpreter did not say what it is."""
    trouble = gap(outcome, "the script that asks the interpreter" if crash(outcome) else "it")
    if trouble.cause is Cause.CRASHED:
        return trouble
    if outcome.end is End.STALLED:
        return Missing(Cause.TIMED_OUT, f"{name} did not start within {outcome.quiet:.0f} s; try `{name} -v -c pass`")
    return Missing(trouble.cause, f"{name} does not start: {trouble.reason}; try `{name} -v -c pass`")


def _raw(path: Any) -> tuple[str, ...]:
    try:
        return tuple(os.fsdecode(bytes.fromhex(entry)) for entry in path or ())
    except (TypeError, ValueError):
        return ()
