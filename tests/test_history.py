"""Since when a finding is there, over several merges."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from gpudoctor.cli.fleet_run import opened_history
from gpudoctor.errors import UsageError
from gpudoctor.history import History
from gpudoctor.report.build import TOOL
from gpudoctor.report.fleet import Fleet, Sighting

OLD = ("GD203", "driver-too-old", "error")
SHM = ("GD712", "shm-small", "warning")
FLEET = Fleet(tool=TOOL, created="", verdict="ready", because="", exit_code=0)


def day(number: int) -> str:
    return f"2026-11-{number:02}T04:00:00Z"


def merged(path: Path, *reports: tuple[str, int, tuple[tuple[str, str, str], ...]]) -> tuple[Sighting, ...]:
    with History(str(path)) as history:
        for node, number, causes in reports:
            history.add(node, day(number), causes)
        return history.told(FLEET).history


def test_a_finding_is_first_and_last_seen_over_several_merges(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    merged(path, ("gpu1", 1, (OLD,)), ("gpu2", 1, ()))
    (found,) = merged(path, ("gpu1", 2, (OLD,)), ("gpu2", 2, (OLD,)))
    assert found == Sighting(
        code="GD203", name="driver-too-old", severity="error", present=True, nodes=found.nodes, first=day(1), last=day(2), reports=3
    )
    assert found.nodes.names == ("gpu1", "gpu2")


def test_a_finding_that_is_gone_keeps_its_last_time(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    merged(path, ("gpu1", 1, (OLD, SHM)), ("gpu2", 1, (OLD,)))
    now, gone = merged(path, ("gpu1", 3, (SHM,)), ("gpu2", 3, (OLD,)))[1:], merged(path)[-1]
    assert [sighting.code for sighting in now if sighting.present] == ["GD712"]
    assert (gone.code, gone.present, gone.nodes.names, gone.last) == ("GD203", False, ("gpu1",), day(1))


def test_several_days_in_any_order_give_the_same_history(tmp_path: Path) -> None:
    reports = [("gpu1", 1, (OLD,)), ("gpu1", 2, (OLD,)), ("gpu1", 3, ())]
    assert merged(tmp_path / "one", *reports) == merged(tmp_path / "other", *reversed(reports))


def test_a_report_that_is_merged_twice_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    assert merged(path, ("gpu1", 1, (OLD,))) == merged(path, ("gpu1", 1, (OLD,)))


def test_hostile_names_are_kept_as_they_are(tmp_path: Path) -> None:
    name = "'; DROP TABLE seen; --"
    (found,) = merged(tmp_path / "history.db", (name, 1, (OLD,)))
    assert found.nodes.names == (name,)


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    merged(tmp_path / "history.db", ("gpu1", 1, ()))
    assert stat.S_IMODE((tmp_path / "history.db").stat().st_mode) == 0o600


def test_an_error_leaves_it_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    before = merged(path, ("gpu1", 1, (OLD,)))
    with suppress(ZeroDivisionError), History(str(path)) as history:
        history.add("gpu2", day(2), (OLD,))
        raise ZeroDivisionError
    assert merged(path) == before


def test_another_file_is_refused_and_not_changed(tmp_path: Path) -> None:
    text, other, link = tmp_path / "text", tmp_path / "other.db", tmp_path / "link"
    text.write_text("not a database, but longer than the header of one, which has a hundred bytes: " + "x" * 100)
    with sqlite3.connect(other) as made:
        made.execute("CREATE TABLE mine(x)")
    made.close()
    link.symlink_to(other)
    for path in (text, other, link, tmp_path, tmp_path / "no" / "folder", tmp_path / ("x" * 300)):
        before = path.read_bytes() if os.path.isfile(path) else b""  # noqa: PTH113 -- pathlib's raises for the long name
        with pytest.raises(UsageError) as caught:
            History(str(path))
        assert str(caught.value).startswith(f"--history: {path} ")
        assert str(caught.value).endswith(".")
        assert (path.read_bytes() if os.path.isfile(path) else b"") == before  # noqa: PTH113


def test_without_a_file_nothing_is_remembered() -> None:
    with opened_history(None) as memory:
        memory.add("gpu1", day(1), (OLD,))
        assert memory.told(FLEET) == FLEET
