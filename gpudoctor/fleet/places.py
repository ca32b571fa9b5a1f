"""Sets of nodes as the bits of a number. Bit 0 is the first node in the order of the names; 100,000 nodes take 12 kB."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import compress, count


def among(places: Iterable[int]) -> int:
    """Return the set of some places; one may come twice."""
    bits = bytearray()
    for place in places:
        if place >> 3 >= len(bits):
            bits.extend(bytes((place >> 3) + 1 - len(bits) + len(bits) // 8))
        bits[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(bits, "little")


def flags(some: int) -> Iterator[int]:
    """Yield 1 or 0 for each place from the first: whether it is in the set."""
    for byte in some.to_bytes((some.bit_length() + 7) // 8, "little"):
        for bit in range(8):
            yield byte >> bit & 1


def each(some: int) -> Iterator[int]:
    """Yield the places of a set in order."""
    return compress(count(), flags(some))
