"""What a fleet keeps of each node: the newest report, outside the memory."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.errors import OutputError
from gpudoctor.fleet.places import PlaceSet, membership_bits, place_bits, places_in_set
from gpudoctor.fleet.roster import Roster
from gpudoctor.report.fleet import Unread
from gpudoctor.struct_store import StructStore


@given(st.sets(st.integers(0, 5000)))
def test_a_set_of_places_yields_them_in_order(places: set[int]) -> None:
    some = place_bits(places)
    assert list(places_in_set(some)) == sorted(places)
    assert some.bit_count() == sum(membership_bits(some)) == len(places)


def test_more_nodes_need_no_more_memory() -> None:
    """A row with its name and file is 300 bytes and more."""
    tracemalloc.start()
    try:
        sizes = []
        for count in (2_000, 12_000):
            roster = Roster()
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            for number in range(count):
                roster.silent(f"gpu{number:06}", f"/shared/reports/gpu{number:06}.json", "no answer in 600 s")
            roster.settle()
            assert roster.nodes(roster.everyone).folded == f"gpu[000000-{count - 1:06}]"
            sizes.append(tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
    assert sizes[1] - sizes[0] < 10_000 * 5


@given(st.lists(st.integers(0, 200)))
def test_runs_are_the_set_of_the_places_that_were_added(places: list[int]) -> None:
    runs = PlaceSet()
    for place in sorted(places):
        runs.add(place)
    assert runs.as_set() == place_bits(places)


def test_a_full_disk_is_one_sentence() -> None:
    shelf = StructStore(Unread)
    shelf._file.execute("PRAGMA max_page_count = 2")
    with pytest.raises(OutputError, match="TMPDIR"):
        shelf.add(0, Unread(source="x" * 50_000, kind="broken", reason=""))
