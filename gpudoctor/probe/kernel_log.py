"""GPU-related lines of the kernel log (Xid, SXid, NVRM), from /dev/kmsg or, if that is not readable, from the journal."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator

from gpudoctor.probe import files
from gpudoctor.process import End, Outcome, Spec, Supervisor
from gpudoctor.snapshot import Cause, KernelLog, Missing, XidEvent, normalise_address, readable

KMSG = "/dev/kmsg"
SIZE = 16 << 20
"""Bytes; the largest kernel buffer seen."""
PATIENCE = 0.1
"""Seconds; a full buffer takes a tenth of that."""
LINES, EVENTS, SAME = 200, 200, 5
"""How many events to keep in all, and of similar ones."""
LENGTH = 400

TELLING = (
    "NVRM", "nvidia", "NVSwitch", "nouveau", "vfio-pci", "PCIe Bus Error", "AER:", "blocked for more than", "unsigned module",
    "module verification failed", "Key was rejected", "PKCS#7", "Lockdown",
    "can't assign; no space", "no space for", "failed to assign",
)  # fmt: skip
"""Words that select a line."""
_XID = r"NVRM: Xid \((?:PCI:)?([0-9A-Fa-f:.]{1,20})[^)]{0,100}\): (\d+)(?:, *(.*))?"
_SXID = r"SXid \((?:PCI:)?([0-9A-Fa-f:.]{1,20})\): (\d+)(?:, *(.*))?"
_JOURNAL = r"(?m)^\[ *(\d+\.\d+)\] (?:kernel: )?(.*)$"
_PRIVATE = ("serial number", "uuid")


def kernel_log(root: str) -> KernelLog | Missing:
    """The log as /dev/kmsg gives it; a plain file in its place must have the same format (the kernel's ABI/testing/dev-kmsg)."""
    path = files.under(root, KMSG)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        return files.missing(KMSG, error)
    try:
        content, cut = _gather(descriptor)
    except OSError as error:
        return files.missing(KMSG, error)
    finally:
        os.close(descriptor)
    return _log(KMSG, _records(content, _now(root)), cut=cut)


def _records(content: bytes, now: float) -> Iterator[tuple[float, str]]:
    """Age and text of the relevant records "priority,number,microseconds,flags;text", which lines beginning with a space continue.

    Searches the whole text at once: splitting a full buffer into lines takes twenty times as long.
    """
    for start in sorted(set(_lines_with(content))):
        head, _, text = content[start : content.find(b"\n", start)].partition(b";")
        numbers = head.split(b",")
        if len(numbers) > 2 and numbers[2].isdigit():
            yield now - int(numbers[2]) / 1e6, text.decode("utf-8", "backslashreplace")


def _lines_with(content: bytes) -> Iterator[int]:
    """Where lines that contain one of the words begin, without an unfinished last line."""
    for word in TELLING:
        place = content.find(word.encode())
        while place >= 0:
            yield content.rfind(b"\n", 0, place) + 1
            place = content.find(word.encode(), content.find(b"\n", place) % (len(content) + 1))


def _gather(descriptor: int) -> tuple[bytes, bool]:
    """The available content, and whether it was too much; each read of the device returns one record."""
    pieces: list[bytes] = []
    size, end = 0, time.monotonic() + PATIENCE
    while size < SIZE and time.monotonic() < end:
        try:
            piece = os.read(descriptor, 8192)
        except BlockingIOError:
            return b"".join(pieces), False
        except BrokenPipeError:  # a record was overwritten before we read it
            continue
        if not piece:
            return b"".join(pieces), False
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces), True


def _now(root: str) -> float:
    """Seconds since boot on the log's clock, which stops while the machine sleeps."""
    if files.is_live(root):
        return time.monotonic()
    try:
        return float(files.text("/proc/uptime", root, 64).split(" ")[0])
    except ValueError:
        return 0.0


def _log(where: str, found: Iterator[tuple[float, str]], *, cut: bool) -> KernelLog:
    events: dict[tuple[int, str, bool], list[tuple[int, XidEvent]]] = {}
    lines: dict[str, float] = {}
    for number, (age, raw) in enumerate(found):
        text = readable(raw.replace("\\x0aNVRM:", "").replace("\\x0a", " ").strip())[:LENGTH]
        event = _event(text, age)
        if event is not None:
            alike = events.setdefault((event.code, str(event.address), event.switch), [])
            if len(alike) == SAME:
                del alike[2]  # keep the first two and the last ones
            alike.append((number, event))
        elif not any(word in text.lower() for word in _PRIVATE):
            lines.pop(text, None)  # of equal lines the last counts
            lines[text] = round(max(0.0, age), 1)
    kept = [event for _, event in sorted((one for alike in events.values() for one in alike), key=lambda one: one[0])]
    too_many = len(kept) > EVENTS or len(lines) > LINES
    return KernelLog(
        where=where, events=tuple(kept[-EVENTS:]), lines=tuple(lines)[-LINES:], cut=cut or too_many, ages=tuple(lines.values())[-LINES:]
    )


def _event(text: str, age: float) -> XidEvent | None:
    if "Xid" not in text:
        return None
    for pattern, switch in ((_XID, False), (_SXID, True)):
        found = re.search(pattern, text)
        if found:
            place, code, rest = found.groups()
            unclear = Missing(Cause.FAILED, f"{place} is not a PCI address")
            address = normalise_address(place) or unclear
            return XidEvent(code=int(code[:9]), address=address, text=rest or "", switch=switch, age=round(max(0.0, age), 1))
    return None


def journal(supervisor: Supervisor, program: str) -> KernelLog | Missing:
    """The same from the journal, which members of some groups can read when the kernel log itself is closed to them.

    `program` is the path of journalctl, empty if there is none.
    """
    if not program:
        return Missing(Cause.DENIED, f"no permission to read {KMSG}, and journalctl is not installed; run gpudoctor as root")
    command = (
        program,
        "-k",
        "-b",
        "-q",
        "--no-pager",
        "--no-hostname",
        "-o",
        "short-monotonic",
        "-n",
        str(LINES),
        f"--grep={'|'.join(TELLING)}",
    )
    environment = {"LC_ALL": "C", "PATH": os.environ.get("PATH", os.defpath)}
    supervisor.start(Spec(name="journal", argv=command, environment=environment, stall=3.0, deadline=3.0))
    outcome = supervisor.wait(["journal"])["journal"]
    if outcome.end is not End.EXITED or not outcome.stdout:
        return Missing(
            Cause.DENIED, f"no permission to read {KMSG}, and the journal shows no kernel messages: {_why(outcome)}; run gpudoctor as root"
        )
    now = time.monotonic()
    found = ((now - float(stamp), text) for stamp, text in re.findall(_JOURNAL, outcome.stdout))
    return _log("journalctl -k", found, cut=False)


def _why(outcome: Outcome) -> str:
    return (outcome.trouble or outcome.stderr.strip() or "no line about a GPU, or no permission")[:200]
