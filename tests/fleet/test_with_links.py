"""What bad links do to the verdict of a fleet."""

from __future__ import annotations

from gpudoctor.fleet.links import fleet_with_links
from gpudoctor.report.build import TOOL
from gpudoctor.report.fleet import Fleet, LinkFault, Links, Node
from gpudoctor.report.hostlist import nodes_of_names

NAMES = ("gpu1", "gpu2", "gpu3")
FLEET = Fleet(
    tool=TOOL,
    created="",
    verdict="ready",
    because="all 3 nodes are ready",
    exit_code=0,
    usable=nodes_of_names(NAMES),
    nodes=tuple(Node(name=name, verdict="ready", exit_code=0, usable=True) for name in NAMES),
)


def links(*faults: LinkFault) -> Links:
    return Links(backend="gloo", nodes=nodes_of_names(NAMES), faults=faults)


def test_good_links_change_no_verdict() -> None:
    found = fleet_with_links(FLEET, links())
    assert (found.verdict, found.exit_code, found.usable) == ("ready", 0, FLEET.usable)
    assert found.links is not None


def test_a_broken_link_costs_one_of_its_ends() -> None:
    found = fleet_with_links(FLEET, links(LinkFault(kind="broken", nodes=("gpu1", "gpu3"), message="hangs")))
    assert (found.verdict, found.exit_code) == ("broken", 1)
    assert found.because == "all-reduce fails between gpu1 and gpu3"
    assert found.usable.names == ("gpu1", "gpu2")
    assert found.unusable.names == ("gpu3",)
    assert [node.usable for node in found.nodes] == [True, True, False]


def test_a_slow_node_stays_usable() -> None:
    found = fleet_with_links(FLEET, links(LinkFault(kind="slow", nodes=("gpu2",), message="1 GB/s")))
    assert (found.verdict, found.exit_code, found.because) == ("degraded", 0, "all-reduce is slow on gpu2")
    assert found.usable == FLEET.usable
