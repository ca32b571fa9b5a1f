"""A sequence that is read again for each use behaves like the tuple of its items."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.report.lazy_sequence import LazySequence


@given(st.lists(st.integers(), max_size=6), st.slices(6))
def test_a_slice_is_that_of_a_tuple(items: list[int], part: slice) -> None:
    if (part.step or 1) > 0:
        assert LazySequence(len(items), lambda: iter(items))[part] == tuple(items)[part]


@given(st.lists(st.integers(), max_size=6), st.integers(-8, 8))
def test_an_item_is_that_of_a_tuple(items: list[int], place: int) -> None:
    some = LazySequence(len(items), lambda: iter(items))
    if -len(items) <= place < len(items):
        assert some[place] == items[place]
    else:
        with pytest.raises(IndexError):
            some[place]
    assert (len(some), bool(some), list(some), hash(some)) == (len(items), bool(items), items, hash(tuple(items)))


def test_items_are_read_again_for_each_use_and_no_further_than_asked() -> None:
    read: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(1000):
            read.append(number)
            yield number

    some = LazySequence(1000, numbers)
    assert some[:3] == (0, 1, 2)
    assert some[1] == 1
    assert read == [0, 1, 2, 0, 1]
    assert 4 in some


def test_it_equals_sequences_with_the_same_items_only() -> None:
    some = LazySequence(2, lambda: iter("ab"))
    assert some == ("a", "b") == some
    assert some == ["a", "b"]
    assert some != ("a",)
    assert some != ("b", "a")
    assert some != {"a", "b"}
