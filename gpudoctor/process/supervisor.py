"""One select loop over all running children: reads them, keeps their deadlines, and leaves none behind."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterable
from types import TracebackType

from gpudoctor.process.child import ChildEnd, ChildOutcome, ChildSpec, RunningChild
from gpudoctor.process.orphans import adopt_orphans, child_pids, end_children_except
from gpudoctor.process.shared_memory import mapped_files, remove_files

GRACE_SECONDS = 1.0
"""Seconds that a killed child has to disappear before it is abandoned."""
_SUSPENDED_SECONDS = 1.0
"""Seconds that a wait lasts at most. It overruns by as much only if this process was suspended, or starved as its children were."""
_TICK_SECONDS = 0.05
"""Seconds between looks at a child for which the kernel provides no pidfd."""


class Supervisor:
    """Starts children and waits for them. Leaving the context kills those still running and anything they left.

    `deadline` is the time.monotonic() by which everything must be over, including children started later.
    """

    def __init__(self, deadline: float = float("inf")) -> None:
        self._deadline = deadline
        self._running: dict[str, RunningChild] = {}
        self._ended: dict[str, ChildOutcome] = {}
        self._pidfds: dict[int, RunningChild] = {}
        self._known = child_pids()
        self._adopts = False

    def __enter__(self) -> Supervisor:  # noqa: PYI034 -- typing.Self is newer than Python 3.10
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        if self._adopts:
            adopt_orphans(yes=False)

    def start(self, spec: ChildSpec, on_line: Callable[[bytes], None] | None = None) -> None:
        """Start a child; `wait` passes each line of its answer, progress marks included, to `on_line`."""
        if not self._adopts:  # before anything can be orphaned
            self._adopts = True
            adopt_orphans(yes=True)
        try:
            child = RunningChild(spec, on_line)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            number = getattr(error, "errno", None) or 0
            self._ended[spec.name] = ChildOutcome(name=spec.name, end=ChildEnd.NOT_STARTED, reason=reason, error=number)
            return
        self._running[spec.name] = child
        self._known.add(child.process.pid)
        if hasattr(os, "pidfd_open"):
            try:
                self._pidfds[os.pidfd_open(child.process.pid)] = child
            except OSError:  # an old kernel or a strict sandbox: `wait` then looks every _TICK
                return

    def wait(self, names: Iterable[str], until: float = float("inf")) -> dict[str, ChildOutcome]:
        """The outcomes of the named children once all have ended; those still running at `until` (monotonic) are overdue."""
        wanted = set(names)
        while pending := wanted & set(self._running):
            until += self._handle_next_event(until)
            for name in pending & set(self._running):
                self._enforce_limits(self._running[name], until)
        return {name: self._ended[name] for name in wanted if name in self._ended}

    def has_ended(self, name: str, until: float) -> bool:
        """Whether a child has ended, or ends before `until` (monotonic); otherwise it runs on, unlike after `wait`."""
        while name in self._running and time.monotonic() < until:
            until += self._handle_next_event(until)
        return name not in self._running

    def set_stall_limit(self, name: str, stall: float) -> None:
        """Set how long a running child may stay silent from now on; for `on_line`, which knows where the child is."""
        if name in self._running:
            self._running[name].stall = stall

    def stop(self, names: Iterable[str] | None = None) -> None:
        """Kill the named children, or all, that still run."""
        wanted = set(self._running if names is None else names)
        for child in [child for name, child in self._running.items() if name in wanted]:
            self._end(child, ChildEnd.STOPPED)

    def _handle_next_event(self, until: float) -> float:
        """Wait for one event and handle it; returns for how long we were suspended meanwhile, which moves all deadlines."""
        poll = select.poll()
        readers: dict[int, RunningChild] = {}
        for child in self._running.values():
            for descriptor in child.streams:
                readers[descriptor] = child
                poll.register(descriptor, select.POLLIN)
        for descriptor in self._pidfds:
            poll.register(descriptor, select.POLLIN)
        pause, before = min(max(0.0, self._seconds_to_deadline(until)), _SUSPENDED_SECONDS), time.monotonic()
        ready = [descriptor for descriptor, _ in poll.poll(pause * 1000)]
        suspended = self._extend_deadlines(time.monotonic() - before - pause)
        for descriptor in ready:
            if descriptor in readers:
                readers[descriptor].read(descriptor)
        watched = self._pidfds.values()
        perhaps_ended = [self._pidfds[descriptor] for descriptor in ready if descriptor in self._pidfds]
        perhaps_ended += [child for child in self._running.values() if child not in watched]
        for child in perhaps_ended:
            if child.process.poll() is not None:
                self._end(child, None)
        return suspended

    def _extend_deadlines(self, late: float) -> float:
        """Move the deadlines if we woke up much too late: a suspended machine or a paused container stops the children too."""
        if late < _SUSPENDED_SECONDS:
            return 0.0
        self._deadline += late
        for child in self._running.values():
            child.started += late
            child.last_sign += late
        return late

    def _seconds_to_deadline(self, until: float) -> float:
        """Seconds until the next deadline of any child."""
        now = time.monotonic()
        watched = {id(child) for child in self._pidfds.values()}
        due = [until, self._deadline]
        for child in self._running.values():
            due += [child.last_sign + child.stall, child.started + child.spec.deadline]
            if id(child) not in watched:
                due.append(now + _TICK_SECONDS)
        return min(due) - now

    def _enforce_limits(self, child: RunningChild, until: float) -> None:
        now = time.monotonic()
        if now >= min(child.started + child.spec.deadline, until, self._deadline):
            self._end(child, ChildEnd.OVERDUE)
        elif child.flooded:
            self._end(child, ChildEnd.FLOODED)
        elif now >= child.last_sign + child.stall:
            self._end(child, ChildEnd.STALLED)

    def _end(self, child: RunningChild, end: ChildEnd | None) -> None:
        """Kill the child's group, which may outlive the child, and whatever it left in other groups; keep the outcome."""
        stuck = end is not None and child.state() == "D"
        left = mapped_files(child.process.pid, child.spec.shares)
        child.kill()
        stuck = not self._gone(child) or stuck
        remove_files(left)
        for descriptor in [fd for fd, owner in self._pidfds.items() if owner is child]:
            del self._pidfds[descriptor]
            os.close(descriptor)
        del self._running[child.spec.name]
        end_children_except(self._known, GRACE_SECONDS)
        self._ended[child.spec.name] = child.outcome(end, stuck=stuck)

    @staticmethod
    def _gone(child: RunningChild) -> bool:
        """Whether the killed child disappears in time."""
        give_up = time.monotonic() + GRACE_SECONDS
        while child.process.poll() is None:
            if time.monotonic() > give_up:
                return False
            time.sleep(0.002)
        return True
