"""Puts differences that come from one change on one line: a new driver renames its libraries, a moved GPU keeps its UUID."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from gpudoctor.changes.walk import Difference, is_unread
from gpudoctor.changes.words import GPU_LISTS, HEADS, quantity, subject, values, what
from gpudoctor.snapshot import Cause

_DRIVER: Final = frozenset({("KernelDriver", "version"), ("Nvml", "driver_version")})
CUDA_OF_THE_DRIVER: Final = frozenset({("Nvml", "cuda_served"), ("Libcuda", "cuda_served")})
_NUMBERS: Final = frozenset({("NvmlGpu", "index"), ("CudaDevice", "ordinal"), ("CudaContext", "ordinal")})
"""How GPUs are counted, which shifts if one comes or goes."""
_TELLING = 4
"""Characters of a version or path that do not occur by chance in another value."""


class Line(msgspec.Struct):
    """A difference in words, and those that follow from it."""

    leader: Difference
    subject: str
    what: str
    quantity: str
    """The same for a fact and its maximum: "PCIe link" for both it and "maximum PCIe link"."""
    before: str
    after: str
    also: list[Difference]

    @property
    def silences(self) -> str:
        """On which side several facts of this subject could not be read, "before" or "after"; "" for anything else."""
        silence = (
            _silence(self.leader) if self.also and all(_silence(self.leader) == _silence(difference) for difference in self.also) else None
        )
        return silence[0] if silence else ""

    def explains(self, other: Line) -> bool:
        """Return whether another difference is the same change, or follows from this one."""
        difference, two = self.leader, other.leader
        names = tuple(step.name for step in two.steps)
        if any(names[: len(thing)] == thing for thing in _things(difference)):
            return True
        return (
            self._is_the_same_as(other)
            or self._took_along(other)
            or (_is_driver(difference) and (two.owner in CUDA_OF_THE_DRIVER or _ends_with(difference, two)))
            or self._renames(other)
        )

    def _is_the_same_as(self, other: Line) -> bool:
        """Return whether both say the same in words, or both that a thing of this name came or went."""
        difference, two = self.leader, other.leader
        if self.subject != other.subject:
            return False
        came_or_went = (difference.before is None and two.before is None) or (difference.after is None and two.after is None)
        return came_or_went or (self.what, self.before, self.after) == (other.quantity, other.before, other.after)

    def _took_along(self, other: Line) -> bool:
        """Return whether the other fact is one of a GPU that came or went, or of a thing that cannot be read any more."""
        presence = _presence(self.leader)
        if presence:
            return other.leader.owner in _NUMBERS or any(step.item and presence in step.name for step in other.leader.steps)
        return self.subject != "" and self.subject == other.subject and _silence(self.leader) == _silence(other.leader) is not None

    def _renames(self, other: Line) -> bool:
        """Return whether the other value is this one, or contains it as a part: libcuda.so.550.163.01."""
        one, two = (self.before, self.after), (other.before, other.after)
        telling = all(len(value) >= _TELLING and ("." in value or "/" in value) for value in one)
        return telling and _turns_into(one, two) and _turns_into(one[::-1], two[::-1])


def lines(differences: Iterable[Difference], gpus: dict[str, str]) -> list[Line]:
    """Return a line for each change, in the order of the snapshot's fields; `gpus` names GPUs by address."""
    found = [_worded(difference, gpus) for difference in differences]
    order = {id(line): place for place, line in enumerate(found)}
    leaders: list[Line] = []
    for line in sorted(found, key=lambda line: (_rank(line.leader), order[id(line)])):
        leader = next((other for other in leaders if other.leader.volatile == line.leader.volatile and other.explains(line)), None)
        if leader is None:
            leaders.append(line)
        else:
            leader.also.append(line.leader)
    return sorted(leaders, key=lambda line: order[id(line)])


def _worded(difference: Difference, gpus: dict[str, str]) -> Line:
    about, begin = subject(difference, gpus)
    named = ("driver", "driver") if _is_driver(difference) else (what(difference, begin), quantity(difference, begin))
    return Line(difference, about, *named, *values(difference), [])


def _rank(difference: Difference) -> int:
    """Return how early a difference is tried as the cause of others."""
    if _is_driver(difference):
        return 0
    if _presence(difference):
        return 1
    return 2 if any(_is_head(difference, place) for place in range(len(difference.steps))) else 3


def _is_driver(difference: Difference) -> bool:
    return difference.owner in _DRIVER or (difference.owner == ("Fact", "value") and difference.steps[0].name == "kernel_driver")


def _ends_with(driver: Difference, other: Difference) -> bool:
    """Return whether the other fact is the version of the driver's NVML, 12.550.163.01, that belongs to the same driver."""
    if other.owner != ("Nvml", "nvml_version"):
        return False
    before, after = zip(values(driver), values(other), strict=True)
    return before[1].endswith(before[0]) and after[1].endswith(after[0])


def _silence(difference: Difference) -> tuple[str, Cause] | None:
    """Return on which side a fact could not be read, and why; None if neither or both could be."""
    unread = [(side, value.cause) for side, value in (("before", difference.before), ("after", difference.after)) if is_unread(value)]
    return unread[0] if len(unread) == 1 else None


def _turns_into(values: tuple[str, str], others: tuple[str, str]) -> bool:
    """Return whether the first of the others becomes the second if the one value in it is replaced by the other."""
    return values[0] in others[0] and others[0].replace(*values) == others[1]


def _presence(difference: Difference) -> str:
    """Return the address of a GPU that only one of the snapshots has; "" for anything else."""
    last = difference.steps[-1]
    only_one = difference.before is None or difference.after is None
    return last.name if last.item and only_one and type(last.holder).__name__ in GPU_LISTS else ""


def _is_head(difference: Difference, place: int) -> bool:
    head = HEADS.get(type(difference.steps[place].holder).__name__)
    return head is not None and tuple(step.name for step in difference.steps[place + 1 :]) == head


def _things(difference: Difference) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the things that this difference names."""
    for place in range(len(difference.steps)):
        if _is_head(difference, place):
            yield tuple(step.name for step in difference.steps[: place + 1])
