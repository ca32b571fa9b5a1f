"""Puts differences that come from one change on one line: a new driver renames its libraries, a moved GPU keeps its UUID."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from gpudoctor.changes.fact_words import GPU_LISTS, IDENTIFYING_FIELDS, fact_name, fact_subject, quantity_name, value_texts
from gpudoctor.changes.walk import Difference, is_unread
from gpudoctor.snapshot import Cause

_DRIVER_FACTS: Final = frozenset({("KernelDriver", "version"), ("Nvml", "driver_version")})
CUDA_OF_THE_DRIVER: Final = frozenset({("Nvml", "cuda_served"), ("Libcuda", "cuda_served")})
_GPU_NUMBERS: Final = frozenset({("NvmlGpu", "index"), ("CudaDevice", "ordinal"), ("CudaContext", "ordinal")})
"""How GPUs are counted, which shifts if one comes or goes."""
_LEAST_CHARACTERS = 4
"""Characters of a version or path that do not occur by chance in another value."""


class ChangeLine(msgspec.Struct):
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
    def unread_side(self) -> str:
        """On which side several facts of this subject could not be read, "before" or "after"; "" for anything else."""
        silence = (
            _unread_side_and_cause(self.leader)
            if self.also and all(_unread_side_and_cause(self.leader) == _unread_side_and_cause(difference) for difference in self.also)
            else None
        )
        return silence[0] if silence else ""

    def explains(self, other: ChangeLine) -> bool:
        """Return whether another difference is the same change, or follows from this one."""
        difference, two = self.leader, other.leader
        names = tuple(step.name for step in two.steps)
        if any(names[: len(thing)] == thing for thing in _named_things(difference)):
            return True
        return (
            self._is_same_change(other)
            or self._is_part_of_it(other)
            or (_is_driver(difference) and (two.owner in CUDA_OF_THE_DRIVER or _is_nvml_of_driver(difference, two)))
            or self._is_renaming(other)
        )

    def _is_same_change(self, other: ChangeLine) -> bool:
        """Return whether both say the same in words, or both that a thing of this name came or went."""
        difference, two = self.leader, other.leader
        if self.subject != other.subject:
            return False
        came_or_went = (difference.before is None and two.before is None) or (difference.after is None and two.after is None)
        return came_or_went or (self.what, self.before, self.after) == (other.quantity, other.before, other.after)

    def _is_part_of_it(self, other: ChangeLine) -> bool:
        """Return whether the other fact is one of a GPU that came or went, or of a thing that cannot be read any more."""
        presence = _gpu_on_one_side(self.leader)
        if presence:
            return other.leader.owner in _GPU_NUMBERS or any(step.item and presence in step.name for step in other.leader.steps)
        return (
            self.subject != ""
            and self.subject == other.subject
            and _unread_side_and_cause(self.leader) == _unread_side_and_cause(other.leader) is not None
        )

    def _is_renaming(self, other: ChangeLine) -> bool:
        """Return whether the other value is this one, or contains it as a part: libcuda.so.550.163.01."""
        one, two = (self.before, self.after), (other.before, other.after)
        telling = all(len(value) >= _LEAST_CHARACTERS and ("." in value or "/" in value) for value in one)
        return telling and _is_replacement(one, two) and _is_replacement(one[::-1], two[::-1])


def lines_of_changes(differences: Iterable[Difference], gpus: dict[str, str]) -> list[ChangeLine]:
    """Return a line for each change, in the order of the snapshot's fields; `gpus` names GPUs by address."""
    found = [_line_of_difference(difference, gpus) for difference in differences]
    order = {id(line): place for place, line in enumerate(found)}
    leaders: list[ChangeLine] = []
    for line in sorted(found, key=lambda line: (_leading_order(line.leader), order[id(line)])):
        leader = next((other for other in leaders if other.leader.volatile == line.leader.volatile and other.explains(line)), None)
        if leader is None:
            leaders.append(line)
        else:
            leader.also.append(line.leader)
    return sorted(leaders, key=lambda line: order[id(line)])


def _line_of_difference(difference: Difference, gpus: dict[str, str]) -> ChangeLine:
    about, begin = fact_subject(difference, gpus)
    named = ("driver", "driver") if _is_driver(difference) else (fact_name(difference, begin), quantity_name(difference, begin))
    return ChangeLine(difference, about, *named, *value_texts(difference), [])


def _leading_order(difference: Difference) -> int:
    """Return how early a difference is tried as the cause of others."""
    if _is_driver(difference):
        return 0
    if _gpu_on_one_side(difference):
        return 1
    return 2 if any(_is_identifying(difference, place) for place in range(len(difference.steps))) else 3


def _is_driver(difference: Difference) -> bool:
    return difference.owner in _DRIVER_FACTS or (difference.owner == ("Fact", "value") and difference.steps[0].name == "kernel_driver")


def _is_nvml_of_driver(driver: Difference, other: Difference) -> bool:
    """Return whether the other fact is the version of the driver's NVML, 12.550.163.01, that belongs to the same driver."""
    if other.owner != ("Nvml", "nvml_version"):
        return False
    before, after = zip(value_texts(driver), value_texts(other), strict=True)
    return before[1].endswith(before[0]) and after[1].endswith(after[0])


def _unread_side_and_cause(difference: Difference) -> tuple[str, Cause] | None:
    """Return on which side a fact could not be read, and why; None if neither or both could be."""
    unread = [(side, value.cause) for side, value in (("before", difference.before), ("after", difference.after)) if is_unread(value)]
    return unread[0] if len(unread) == 1 else None


def _is_replacement(values: tuple[str, str], others: tuple[str, str]) -> bool:
    """Return whether the first of the others becomes the second if the one value in it is replaced by the other."""
    return values[0] in others[0] and others[0].replace(*values) == others[1]


def _gpu_on_one_side(difference: Difference) -> str:
    """Return the address of a GPU that only one of the snapshots has; "" for anything else."""
    last = difference.steps[-1]
    only_one = difference.before is None or difference.after is None
    return last.name if last.item and only_one and type(last.holder).__name__ in GPU_LISTS else ""


def _is_identifying(difference: Difference, place: int) -> bool:
    head = IDENTIFYING_FIELDS.get(type(difference.steps[place].holder).__name__)
    return head is not None and tuple(step.name for step in difference.steps[place + 1 :]) == head


def _named_things(difference: Difference) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the things that this difference names."""
    for place in range(len(difference.steps)):
        if _is_identifying(difference, place):
            yield tuple(step.name for step in difference.steps[: place + 1])
