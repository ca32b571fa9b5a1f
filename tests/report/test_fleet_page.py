"""The page about a fleet, read by a browser."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gpudoctor.report import heat_map
from gpudoctor.report.build import TOOL
from gpudoctor.report.fleet import Fleet, Node
from gpudoctor.report.fleet_page import render
from tests.browser import chromium
from tests.report.fleets import HOSTILE, fleet


class Tags(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def test_nothing_in_a_fleet_is_markup() -> None:
    tags = Tags("".join(render(fleet(60)))).seen
    assert not {"script", "img", "i", "link", "iframe"} & {tag for tag, _ in tags}
    assert not [attributes for _, attributes in tags for name in attributes if name.startswith("on") or name == "src"]
    assert {attributes["href"] for tag, attributes in tags if tag == "a"} <= {
        f"https://github.com/gpudoctor/gpudoctor/blob/main/{name}.md" for name in ("driver-too-old", "shm-small")
    }


def test_hostile_names_reach_the_screen_as_text_and_run_nothing(tmp_path: Path) -> None:
    page = tmp_path / "fleet.html"
    page.write_text("".join(render(fleet(1000))), encoding="utf-8")
    with chromium() as browser:
        browser.get(page.as_uri())
        assert browser.title == "BROKEN: 42 nodes are broken"
        shown = browser.find_element("tag name", "body").text
        assert HOSTILE[0] in browser.page_source.replace("&lt;", "<").replace("&gt;", ">")
        assert "42 of 998 nodes" in shown
        wide = browser.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0
        marks = browser.find_elements("css selector", "table.map rect.error")
        assert min(mark.size["width"] for mark in marks) >= 1


@pytest.mark.parametrize("count", [10, 1000, 10_000])
def test_every_node_with_trouble_is_marked(count: int) -> None:
    made = fleet(count, hostile=())
    rows = {row.label: row for row in heat_map.check_rows(made)}
    assert rows["driver-too-old"].number == made.findings[0].nodes.count
    for row in rows.values():
        assert len(row.pieces) <= heat_map.WIDTH
        for piece in row.pieces:
            assert 0 <= piece.x <= piece.x + piece.width <= heat_map.WIDTH + 0.1
    bad = [node.name for node in made.nodes if node.verdict == "broken"]
    marked = [piece.title for piece in rows["verdict"].pieces if piece.kind == "broken"]
    assert bool(bad) == bool(marked)
    if count <= 1000:
        numbers = [re.search(r": ([\d,]+) broken$", title) for title in marked]
        told = sum(int(number[1].replace(",", "")) if number else 1 for number in numbers)
        assert told == len(bad)


def test_a_fleet_without_nodes_and_one_with_new_words_can_be_drawn() -> None:
    empty = Fleet(tool=TOOL, created="", verdict="strange", because="", exit_code=3)
    odd = Fleet(tool=TOOL, created="", verdict="ready", because="", exit_code=0, nodes=(Node(name="a", verdict="odd"),))
    assert "STRANGE" in "".join(render(empty))
    assert "rect" in "".join(render(odd))


@pytest.mark.parametrize(("count", "told"), [(1, "1 node"), (2, "2 nodes"), (1000, "1,000 nodes")])
def test_the_page_counts_its_nodes(count: int, told: str) -> None:
    nodes = tuple(Node(name=f"n{number}", verdict="ready") for number in range(count))
    page = "".join(render(Fleet(tool=TOOL, created="", verdict="ready", because="", exit_code=0, nodes=nodes)))
    assert re.search(rf"\b{told}\b", page)
    assert count > 1 or "1 nodes" not in page
