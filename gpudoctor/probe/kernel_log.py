"""GPU-related lines of the kernel log (Xid, SXid, NVRM), from /dev/kmsg or, if that is not readable, from the journal."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator

from gpudoctor.probe import files
from gpudoctor.process import ChildEnd, ChildOutcome, ChildSpec, Supervisor
from gpudoctor.snapshot import Cause, KernelLog, Missing, XidEvent, normalise_address, printable_text

KMSG_DEVICE = "/dev/kmsg"
MAX_BYTES = 16 << 20
"""Bytes; the largest kernel buffer seen."""
PATIENCE_SECONDS = 0.1
"""Seconds; a full buffer takes a tenth of that."""
MAX_LINES, MAX_EVENTS, MAX_SAME_EVENTS = 200, 200, 5
"""How many events to keep in all, and of similar ones."""
MAX_LENGTH = 400

RELEVANT_WORDS = (
    "NVRM", "nvidia", "NVSwitch", "nouveau", "vfio-pci", "PCIe Bus Error", "AER:", "blocked for more than", "unsigned module",
    "module verification failed", "Key was rejected", "PKCS#7", "Lockdown",
    "can't assign; no space", "no space for", "failed to assign",
)  # fmt: skip
"""Words that select a line."""
_XID_LINE = r"NVRM: Xid \((?:PCI:)?([0-9A-Fa-f:.]{1,20})[^)]{0,100}\): (\d+)(?:, *(.*))?"
_SXID_LINE = r"SXid \((?:PCI:)?([0-9A-Fa-f:.]{1,20})\): (\d+)(?:, *(.*))?"
_JOURNAL_LINE = r"(?m)^\[ *(\d+\.\d+)\] (?:kernel: )?(.*)$"
_PRIVATE_WORDS = ("serial number", "uuid")


def kernel_log(root: str) -> KernelLog | Missing:
    """The log as /dev/kmsg gives it; a plain file in its place must have the same format (the kernel's ABI/testing/dev-kmsg)."""
    path = files.path_in_tree(root, KMSG_DEVICE)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        return files.missing_file(KMSG_DEVICE, error)
    try:
        content, cut = _read_log(descriptor)
    except OSError as error:
        return files.missing_file(KMSG_DEVICE, error)
    finally:
        os.close(descriptor)
    return _log_of_records(KMSG_DEVICE, _log_records(content, _seconds_since_boot(root)), cut=cut)


def _log_records(content: bytes, now: float) -> Iterator[tuple[float, str]]:
    """Age and text of the relevant records "priority,number,microseconds,flags;text", which lines beginning with a space continue.

    Searches the whole text at once: splitting a full buffer into lines takes twenty times as long.
    """
    for start in sorted(set(_relevant_places(content))):
        head, _, text = content[start : content.find(b"\n", start)].partition(b";")
        numbers = head.split(b",")
        if len(numbers) > 2 and numbers[2].isdigit():
            yield now - int(numbers[2]) / 1e6, text.decode("utf-8", "backslashreplace")


def _relevant_places(content: bytes) -> Iterator[int]:
    """Where lines that contain one of the words begin, without an unfinished last line."""
    for word in RELEVANT_WORDS:
        place = content.find(word.encode())
        while place >= 0:
            yield content.rfind(b"\n", 0, place) + 1
            place = content.find(word.encode(), content.find(b"\n", place) % (len(content) + 1))


def _read_log(descriptor: int) -> tuple[bytes, bool]:
    """The available content, and whether it was too much; each read of the device returns one record."""
    pieces: list[bytes] = []
    size, end = 0, time.monotonic() + PATIENCE_SECONDS
    while size < MAX_BYTES and time.monotonic() < end:
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


def _seconds_since_boot(root: str) -> float:
    """Seconds since boot on the log's clock, which stops while the machine sleeps."""
    if files.is_live(root):
        return time.monotonic()
    try:
        return float(files.text_or_empty("/proc/uptime", root, 64).split(" ")[0])
    except ValueError:
        return 0.0


def _log_of_records(where: str, found: Iterator[tuple[float, str]], *, cut: bool) -> KernelLog:
    events: dict[tuple[int, str, bool], list[tuple[int, XidEvent]]] = {}
    lines: dict[str, float] = {}
    for number, (age, raw) in enumerate(found):
        text = printable_text(raw.replace("\\x0aNVRM:", "").replace("\\x0a", " ").strip())[:MAX_LENGTH]
        event = _xid_event(text, age)
        if event is not None:
            alike = events.setdefault((event.code, str(event.address), event.switch), [])
            if len(alike) == MAX_SAME_EVENTS:
                del alike[2]  # keep the first two and the last ones
            alike.append((number, event))
        elif not any(word in text.lower() for word in _PRIVATE_WORDS):
            lines.pop(text, None)  # of equal lines the last counts
            lines[text] = round(max(0.0, age), 1)
    kept = [event for _, event in sorted((one for alike in events.values() for one in alike), key=lambda one: one[0])]
    too_many = len(kept) > MAX_EVENTS or len(lines) > MAX_LINES
    return KernelLog(
        where=where,
        events=tuple(kept[-MAX_EVENTS:]),
        lines=tuple(lines)[-MAX_LINES:],
        cut=cut or too_many,
        ages=tuple(lines.values())[-MAX_LINES:],
    )


def _xid_event(text: str, age: float) -> XidEvent | None:
    if "Xid" not in text:
        return None
    for pattern, switch in ((_XID_LINE, False), (_SXID_LINE, True)):
        found = re.search(pattern, text)
        if found:
            place, code, rest = found.groups()
            unclear = Missing(Cause.FAILED, f"{place} is not a PCI address")
            address = normalise_address(place) or unclear
            return XidEvent(code=int(code[:9]), address=address, text=rest or "", switch=switch, age=round(max(0.0, age), 1))
    return None


def log_from_journal(supervisor: Supervisor, program: str) -> KernelLog | Missing:
    """The same from the journal, which members of some groups can read when the kernel log itself is closed to them.

    `program` is the path of journalctl, empty if there is none.
    """
    if not program:
        return Missing(Cause.DENIED, f"no permission to read {KMSG_DEVICE}, and journalctl is not installed; run gpudoctor as root")
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
        str(MAX_LINES),
        f"--grep={'|'.join(RELEVANT_WORDS)}",
    )
    environment = {"LC_ALL": "C", "PATH": os.environ.get("PATH", os.defpath)}
    supervisor.start(ChildSpec(name="journal", argv=command, environment=environment, stall=3.0, deadline=3.0))
    outcome = supervisor.wait(["journal"])["journal"]
    if outcome.end is not ChildEnd.EXITED or not outcome.stdout:
        return Missing(
            Cause.DENIED,
            f"no permission to read {KMSG_DEVICE}, and the journal shows no kernel messages: {_journal_failure(outcome)}; run gpudoctor as root",
        )
    now = time.monotonic()
    found = ((now - float(stamp), text) for stamp, text in re.findall(_JOURNAL_LINE, outcome.stdout))
    return _log_of_records("journalctl -k", found, cut=False)


def _journal_failure(outcome: ChildOutcome) -> str:
    return (outcome.trouble or outcome.stderr.strip() or "no line about a GPU, or no permission")[:200]
