"""A fleet in a terminal and in the files for schedulers: groups in 80 columns, foreign text made harmless."""

from __future__ import annotations

import json

import pytest
import yaml
from msgspec.structs import replace

from gpudoctor.report.document import encode_document, encoded_pieces
from gpudoctor.report.fleet import Fleet
from gpudoctor.report.fleet_nodes import hostfile, labels, node_list
from gpudoctor.report.fleet_text import render
from gpudoctor.report.model import Subject
from gpudoctor.report.page import PageLook
from gpudoctor.snapshot import Host
from tests.builders import machine
from tests.fleet import generated
from tests.fleet.reports import finding, merged, report
from tests.report import fleets

EVIL = "\x1b[2J\x1b]0;owned\x07\u202egpu\n001"


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    names, planted = generated.plan(400, seed=4, faulty=0.2)
    return merged(dict(generated.reports(names, planted, 4)) | {"gpu900": b"{"})


@pytest.mark.parametrize("look", [PageLook(), PageLook(width=60), PageLook(verbose=True), PageLook(plain=True)])
def test_a_large_fleet_fits_the_width_and_a_page(fleet: Fleet, look: PageLook) -> None:
    shown = render(fleet, look)
    assert all(len(line) <= look.width or " " not in line.strip() for line in shown.splitlines())
    assert look.verbose or len(shown.splitlines()) < 80
    assert not look.plain or shown.isascii()


@pytest.mark.parametrize("size", [0, 10, 3000])
def test_a_document_is_the_same_as_a_whole_and_in_pieces(fleet: Fleet, size: int) -> None:
    every = fleet if size == 0 else fleets.fleet(size)
    pieces = list(encoded_pieces(every))
    assert b"".join(pieces) == encode_document(every)
    assert len(pieces) > 1 or size < 3000
    assert all(len(piece) > 16 << 10 for piece in pieces[:-1]), "a write for each few bytes is slow"
    assert max(map(len, pieces)) < 1 << 20, "the whole text in memory is what pieces avoid"


def test_it_says_who_is_broken_slow_different_and_usable(fleet: Fleet) -> None:
    shown = render(fleet, PageLook(width=200))
    for words in (
        "BROKEN",
        "GD203 error",
        "below the median in",
        "driver 550.163.01 → 550.54.15",
        "gpu900.json: it is cut off",
        "of 401 nodes",
    ):
        assert words in shown


def test_a_fleet_in_order_is_short() -> None:
    shown = render(merged({f"gpu{number:04}": report() for number in range(1000)}), PageLook())
    assert shown.startswith("✓ READY  All 1000 nodes are ready.")
    assert len(shown.splitlines()) < 10
    assert "gpu[0000-0999]" in shown


def test_a_finding_counts_its_gpus_if_it_is_about_any() -> None:
    two = (finding(), finding(key="0000:02:00.0"))
    of_node = finding("GD203", "", subject=Subject("machine", ""))
    shown = render(merged({"n1": report(verdict="broken", findings=two), "n2": report(verdict="broken", findings=(of_node,))}), PageLook())
    assert "GD103 error  GPU has fallen off the bus: 1 node (2 GPUs)\n" in shown
    assert "GD203 error  GPU has fallen off the bus: 1 node\n" in shown


def test_foreign_text_cannot_steer_a_terminal() -> None:
    evil = replace(machine(), host=Host(hostname=EVIL))
    wrong = finding(message=EVIL, title=EVIL)
    shown = render(merged({"n1": report(evil, verdict="broken", findings=(wrong,)), EVIL: b"{"}), PageLook(verbose=True))
    assert all(letter.isprintable() or letter == "\n" for letter in shown)


def test_schedulers_get_plain_names_only() -> None:
    fleet = merged({name: report() for name in ("gpu1", "gpu2", EVIL, "-o", "a b", "$(x)")})
    assert "".join(hostfile(fleet)) == "gpu1\ngpu2\n"
    assert "".join(node_list(fleet)) == "gpu1,gpu2\n"
    assert [one["metadata"]["name"] for one in yaml.safe_load_all("".join(labels(fleet)))] == ["gpu1", "gpu2"]


def test_labels_are_patches_of_nodes() -> None:
    sent = {"gpu1": report(), "gpu2": report(verdict="broken", findings=(finding(),)), "gpu3": b""}
    told = {one["metadata"]["name"]: one["metadata"]["labels"] for one in yaml.safe_load_all("".join(labels(merged(sent))))}
    assert told["gpu1"] == {"gpudoctor/verdict": "ready", "gpudoctor/usable": "true"}
    assert told["gpu2"] == {"gpudoctor/verdict": "broken", "gpudoctor/usable": "false"}
    assert told["gpu3"] == {"gpudoctor/verdict": "no-report", "gpudoctor/usable": "false"}
    assert json.loads(next(labels(merged({"gpu1": report()}))).removeprefix("---\n"))["kind"] == "Node"
