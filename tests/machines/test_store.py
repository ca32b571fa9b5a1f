"""Recorded machines on disk: the difference between two documents, and what storing one does to others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.machines import delta, store

LEAVES = st.booleans() | st.integers(-3, 3) | st.floats(0, 2) | st.text("ab/~0", max_size=2)
DOCUMENTS = st.recursive(
    LEAVES, lambda parts: st.lists(parts, max_size=4) | st.dictionaries(st.text("ab/~1", max_size=2), parts, max_size=4)
)
OBJECTS = st.dictionaries(st.text("ab/~1", max_size=2), DOCUMENTS, max_size=4)


@given(OBJECTS, OBJECTS)
def test_a_difference_turns_one_document_into_the_other(old: dict[str, Any], new: dict[str, Any]) -> None:
    changes = json.loads(json.dumps(delta.difference(old, new)))
    document = json.loads(json.dumps(old))
    delta.apply(changes, document)
    assert _spelt(document) == _spelt(new)


def _spelt(document: object) -> str:
    return json.dumps(document, sort_keys=True)


def test_a_difference_names_what_differs() -> None:
    old = {"gpus": [{"name": "A100 of forty gigabytes", "hot": False}, {"name": "A100 of forty gigabytes", "hot": False}], "log": "none"}
    new = {"gpus": [{"name": "A100 of forty gigabytes", "hot": True}]}
    assert delta.difference(old, new) == {"/gpus/0/hot": True, "/gpus/1": None, "/log": None}


def machine(**snapshot: Any) -> dict[str, Any]:
    return {"about": "one", "made": "recorded", "snapshot": {"long": ["much that all of them have"] * 200, **snapshot}}


@pytest.fixture
def kept(tmp_path: Path) -> store.Store:
    """A machine stored whole, one that differs from it, and one that differs from that."""
    made = store.Store(tmp_path)
    for name, hot in (("whole", 1), ("of-whole", 2), ("of-that", 3)):
        made.keep(name, machine(hot=hot, log=["what the first does not have"] * 100 if hot > 1 else []))
    return made


def test_a_machine_is_stored_as_a_difference_from_the_nearest(kept: store.Store) -> None:
    assert [kept.file(name).get("base") for name in ("whole", "of-whole", "of-that")] == [None, "whole", "of-whole"]
    assert kept.file("of-that")["changes"] == {"/hot": 3}
    assert kept.load("of-that") == machine(hot=3, log=["what the first does not have"] * 100)


def test_a_machine_unlike_any_other_is_stored_whole(kept: store.Store) -> None:
    kept.keep("another", {"snapshot": {"nothing": "alike"}})
    assert kept.file("another") == {"snapshot": {"nothing": "alike"}}


@pytest.mark.parametrize("name", ["whole", "of-whole"])
def test_machines_based_on_another_survive_its_new_recording(kept: store.Store, name: str) -> None:
    before = {other: kept.load(other) for other in kept.names if other != name}
    kept.keep(name, machine(hot=9, more="than before"))
    read_again = store.Store(kept._folder)
    assert {other: read_again.load(other) for other in before} == before
    assert read_again.load(name) == machine(hot=9, more="than before")


def test_storing_a_machine_again_gives_the_same_file(kept: store.Store) -> None:
    before = [file.read_text() for file in sorted(kept._folder.iterdir())]
    for name in kept.names:
        kept.keep(name, kept.load(name))
    assert [file.read_text() for file in sorted(kept._folder.iterdir())] == before


def test_load_returns_a_private_copy() -> None:
    store.load("healthy-one")["snapshot"].clear()
    assert store.load("healthy-one")["snapshot"]["host"]
    assert msgspec.json.decode(store.RECORDED.snapshot("healthy-one"))["host"]
