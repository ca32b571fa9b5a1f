"""Sets of nodes. The place of a node is the number of its report, so they are found in ascending order."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, compress, count


class PlaceSet:
    """A set in the making, as where each run of neighbours begins and ends: what nearly all nodes have in common takes a few bytes."""

    def __init__(self) -> None:
        self._bounds = array("I")

    def add(self, place: int) -> None:
        """Add a place that is not before the others."""
        if self._bounds and place <= self._bounds[-1]:
            self._bounds[-1] = place + 1
        else:
            self._bounds.extend((place, place + 1))

    def as_set(self) -> int:
        """Return the set."""
        bounds = iter(self._bounds)
        return place_bits(chain.from_iterable(map(range, bounds, bounds)))


def place_bits(places: Iterable[int]) -> int:
    """Return the set of some places as the bits of a number; 100,000 nodes take 12 kB. A place may come twice."""
    bits = bytearray()
    for place in places:
        if place >> 3 >= len(bits):
            bits.extend(bytes((place >> 3) + 1 - len(bits) + len(bits) // 8))
        bits[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(bits, "little")


def membership_bits(some: int) -> Iterator[int]:
    """Yield 1 or 0 for each place from the first: whether it is in the set."""
    for byte in some.to_bytes((some.bit_length() + 7) // 8, "little"):
        for bit in range(8):
            yield byte >> bit & 1


def membership_test(some: int) -> Callable[[int], int]:
    """Return what shows whether a place is in a set: 1 or 0."""
    bits = some.to_bytes(some.bit_length() // 8 + 1, "little")
    last = 8 * len(bits) - 1
    return lambda place: place <= last and bits[place >> 3] >> (place & 7) & 1


def places_in_set(some: int) -> Iterator[int]:
    """Yield the places of a set in order."""
    return compress(count(), membership_bits(some))
