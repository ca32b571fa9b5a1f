"""One child process: its description, start, reading and end."""

from __future__ import annotations

import contextlib
import enum
import os
import signal
import sys
import time
from collections.abc import Callable

import msgspec

from gpudoctor.process.confinement import start_confined
from gpudoctor.process.limits import LIMIT_BY_ERRNO
from gpudoctor.process.memory_kills import KillCount, kills_since, memory_kills

if sys.platform != "win32":  # as in confinement.py
    import fcntl

ANSWER_PLACEHOLDER = "{answer}"
"""Placeholder in `Spec.argv` for the number of the descriptor that the child answers on."""

MAX_LINE_BYTES = 1 << 20
"""Bytes; a longer answer line is dropped as noise."""
MAX_ANSWER_BYTES = 16 << 20
"""Bytes of the whole answer; 72 GPUs or 20,000 distributions take a tenth."""
MAX_ANSWER_LINES = 1 << 17
"""Lines of the whole answer, progress marks included."""
MAX_TAIL_BYTES = 32 << 10
"""Bytes of standard output and standard error to keep, from the end."""
MARK_BYTE = ord("@")
_SILENCE_SECONDS = 1.0
"""Seconds without a response that are worth mentioning."""
_PIPE_BYTES = 1 << 20
"""Bytes that a child can answer while we are busy: eight GPUs take a hundred thousand, an ordinary pipe 65,536. It is the most that the kernel grants every user."""
_MAX_PIPE_READS = 32
"""Reads of 64 KiB: enough to empty any pipe, and an end if somebody keeps filling it."""
_MAX_DIGITS = 8
"""Of a device's number; more are garbage."""


class ChildEnd(str, enum.Enum):
    """How a child ended."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    STALLED = "stalled"  # no response for too long
    OVERDUE = "overdue"  # its own deadline or the check's passed
    FLOODED = "flooded"  # its answer had too many lines or bytes
    STOPPED = "stopped"  # we were told to stop
    NOT_STARTED = "not started"


class ChildSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A child to start. Times are in seconds."""

    name: str
    argv: tuple[str, ...]
    environment: dict[str, str] | None = None
    """The whole environment; None passes on ours."""
    stall: float = 30.0
    """How long it may send no line on its answer descriptor."""
    deadline: float = 120.0
    """How long it may take in all."""
    shares: str = ""
    """How the paths of its shared memory begin; whatever is left of it is removed at the end."""
    keep: bool = True
    """Whether to keep its answer, up to a limit, for the outcome; one read only through `on_line` may be of any length."""


class ChildOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a child left behind."""

    name: str
    end: ChildEnd
    code: int = 0
    """Exit status, or the number of the signal that ended it."""
    lines: tuple[bytes, ...] = ()
    """The lines of its answer, without progress marks."""
    mark: str = ""
    """The last progress mark: what it was doing when it ended or was killed."""
    devices: tuple[int, ...] = ()
    """The numbers of the devices that it was asking then."""
    stdout: str = ""
    stderr: str = ""
    """The ends of its output, undecodable bytes escaped."""
    seconds: float = 0.0
    quiet: float = 0.0
    """Seconds since its last response."""
    stuck: bool = False
    """It was in an uninterruptible call (state D) when time was up, or survived SIGKILL: it was abandoned."""
    reason: str = ""
    """Why it could not be started."""
    error: int = 0
    """The errno of that; 0 if there is none."""
    pid: int = 0
    """Of the process that was started; 0 if none was."""
    memory_kills: KillCount | None = None
    """The kernel's out-of-memory kills while it ran, if it ended badly by itself; None if unknown."""

    @property
    def last_mark(self) -> str:
        """Its last mark, with the numbers of the devices."""
        return " ".join((self.mark, *map(str, self.devices)))

    @property
    def trouble(self) -> str:
        """How it ended in words; empty where it ended well."""
        doing = f" in {self.last_mark}" if self.mark else ""
        if self.end is ChildEnd.EXITED:
            return f"ended with status {self.code}{doing}" if self.code else ""
        if self.end is ChildEnd.SIGNALLED:
            return f"was killed by {_signal_name(self.code)}{doing}{self._signal_sender}"
        if self.end is ChildEnd.OVERDUE:
            silent = f", and did not respond for the last {self.quiet:.0f} s" if self.quiet >= _SILENCE_SECONDS else ""
            return f"was not finished after {self.seconds:.0f} s{doing}{silent}"
        return {
            ChildEnd.STALLED: f"did not respond for {self.quiet:.0f} s{doing}",
            ChildEnd.FLOODED: f"answered with over {MAX_ANSWER_LINES:,} lines or {MAX_ANSWER_BYTES >> 20} MiB{doing}",
            ChildEnd.STOPPED: f"was stopped{doing}",
            ChildEnd.NOT_STARTED: f"could not be started: {self.reason}{f' ({LIMIT_BY_ERRNO[self.error]})' if self.error in LIMIT_BY_ERRNO else ''}",
        }[self.end]

    @property
    def _signal_sender(self) -> str:
        """Who sent the signal, if it is one that comes from outside."""
        if self.code != signal.SIGKILL:
            return ""
        if self.memory_kills is None:
            return "; sender unknown, usually the kernel when out of memory"
        if self.memory_kills.count:
            return f"{', probably' if self.memory_kills.of_machine else ''} by the kernel, out of memory"
        return "; sender unknown: the kernel counted no out-of-memory kill"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def end_of_text(text: str, limit: int) -> str:
    """The last `limit` characters of a text, without a word cut in two: the rest of a token no longer looks like one."""
    if len(text) <= limit:
        return text
    kept = text[-limit:]
    cut = next((place for place, letter in enumerate(kept) if letter.isspace()), limit)
    return kept[cut + 1 :]


class StreamTail:
    """The last bytes of a stream of any length."""

    def __init__(self, limit: int = MAX_TAIL_BYTES) -> None:
        self._limit = limit
        self._kept = b""

    def add(self, data: bytes) -> None:
        """Take more of the stream."""
        self._kept = (self._kept + data)[-self._limit - 1 :]

    def text(self) -> str:
        """What is kept, undecodable bytes escaped."""
        whole = self._kept.decode("utf-8", "backslashreplace")
        return end_of_text(whole, self._limit) if len(self._kept) > self._limit else whole


class AnswerLines:
    """Splits an answer into lines and drops those that are too long. `flooded` once the answer is too long or has too many lines."""

    def __init__(self, limit: float = MAX_ANSWER_BYTES, most: float = MAX_ANSWER_LINES) -> None:
        self._bytes, self._lines = limit, most
        self._rest = b""
        self._dropping = False

    @property
    def flooded(self) -> bool:
        """Whether the answer has exceeded its limits."""
        return self._bytes < 0 or self._lines < 0

    def add(self, data: bytes) -> list[bytes]:
        """Take more of the answer; returns the lines that it completes."""
        self._bytes -= len(data)
        self._lines -= data.count(b"\n")
        if self.flooded:
            return []
        *whole, self._rest = (self._rest + data).split(b"\n")
        if self._dropping and whole:
            whole.pop(0)
            self._dropping = False
        if len(self._rest) > MAX_LINE_BYTES:
            self._rest, self._dropping = b"", True
        return [line for line in whole if line and len(line) <= MAX_LINE_BYTES]


class RunningChild:
    """A running child. `streams` maps each open descriptor to the method that takes its bytes."""

    def __init__(self, spec: ChildSpec, on_line: Callable[[bytes], None] | None) -> None:
        self.spec = spec
        self.stall = spec.stall
        self._on_line = on_line
        self._lines = AnswerLines() if spec.keep else AnswerLines(float("inf"), float("inf"))
        self._answer: list[bytes] = []
        self._stdout, self._stderr = StreamTail(), StreamTail()
        self._mark = ""
        self._devices: tuple[int, ...] = ()
        self._kills = memory_kills()
        self.started = self.last_sign = time.monotonic()
        reading, writing = os.pipe()
        with contextlib.suppress(OSError):  # a user's pipes have a budget; one of the usual size works, a child may only wait for us
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        try:
            confined = start_confined([part.replace(ANSWER_PLACEHOLDER, str(writing)) for part in spec.argv], spec.environment, writing)
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        self.process, self._lifeline = confined.process, confined.lifeline
        assert self.process.stdout is not None  # noqa: S101 -- for mypy
        assert self.process.stderr is not None  # noqa: S101 -- for mypy
        self._pipes = (self.process.stdout, self.process.stderr)
        self._reading = reading
        self.streams: dict[int, Callable[[bytes], None]] = {
            reading: self._take_answer,
            self.process.stdout.fileno(): self._stdout.add,
            self.process.stderr.fileno(): self._stderr.add,
        }
        for descriptor in self.streams:
            os.set_blocking(descriptor, False)

    @property
    def flooded(self) -> bool:
        """Whether its answer has exceeded the limits."""
        return self._lines.flooded

    def _take_answer(self, data: bytes) -> None:
        self.last_sign = time.monotonic()
        for line in self._lines.add(data):
            if line[0] == MARK_BYTE:
                what, *devices = line[1:].split(b"\t")
                self._mark = what.decode("utf-8", "backslashreplace")
                self._devices = tuple(int(device) for device in devices if device.isdigit() and len(device) <= _MAX_DIGITS)
            elif self.spec.keep:
                self._answer.append(line)
            if self._on_line:
                self._on_line(line)

    def read(self, descriptor: int) -> bool:
        """Read what is available; False if that is nothing."""
        try:
            data = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            del self.streams[descriptor]
            return False
        self.streams[descriptor](data)
        return True

    def read_rest(self) -> None:
        """Read what an ended child left in its pipes, even if others still hold them open."""
        for descriptor in list(self.streams):
            for _ in range(_MAX_PIPE_READS):
                if not self.read(descriptor):
                    break

    def kill(self) -> None:
        """Kill the child and everything it started."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self.process.kill()

    def state(self) -> str:
        """The process's state letter: D is an uninterruptible call. Empty if it cannot be read."""
        try:
            with open(f"/proc/{self.process.pid}/stat", "rb") as file:
                return file.read().rpartition(b")")[2].split()[0].decode()
        except (OSError, IndexError):
            return ""

    def outcome(self, end: ChildEnd | None, *, stuck: bool = False) -> ChildOutcome:
        """Close its pipes and return what it left, after its end."""
        now = time.monotonic()
        self.read_rest()
        for pipe in self._pipes:
            pipe.close()
        os.close(self._reading)
        os.close(self._lifeline)
        status = self.process.returncode
        code = abs(status) if status is not None else 0
        return ChildOutcome(
            name=self.spec.name,
            pid=self.process.pid,
            end=end or (ChildEnd.SIGNALLED if status is not None and status < 0 else ChildEnd.EXITED),
            code=code,
            lines=tuple(self._answer),
            mark=self._mark,
            devices=self._devices,
            stdout=self._stdout.text(),
            stderr=self._stderr.text(),
            seconds=now - self.started,
            quiet=now - self.last_sign,
            stuck=stuck,
            memory_kills=kills_since(self._kills, memory_kills()) if end is None and code else None,
        )
