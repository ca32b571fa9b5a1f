from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.fleet.links import LinkResult, NodeNames, Trial, locate_faults, pair_rounds

FAST, SLOW = 10e9, 2e9


class Network:
    """Some of its links are broken or slow, and some of its nodes."""

    def __init__(
        self,
        broken: Sequence[NodeNames] = (),
        slow: Sequence[NodeNames] = (),
        dead: Sequence[str] = (),
        lame: Sequence[str] = (),
        most: int = 10**6,
    ) -> None:
        self.broken, self.slow = ({frozenset(link) for link in links} for links in (broken, slow))
        self.dead, self.lame, self.most = set(dead), set(lame), most
        self.runs = 0

    def run(self, groups: Sequence[NodeNames]) -> list[Trial]:
        self.runs += 1
        together = [node for group in groups for node in group]
        assert groups
        assert len(set(together)) == len(together), "a node is in two groups at a time"
        return [self.trial(group) for group in groups]

    def trial(self, group: NodeNames) -> Trial:
        assert len(group) > 1
        links = {frozenset(link) for link in combinations(group, 2)}
        if links & self.broken or self.dead & set(group) or len(group) > self.most:
            return Trial(group, "hangs")
        return Trial(group, rate=SLOW if links & self.slow or self.lame & set(group) else FAST)


def names(count: int) -> tuple[str, ...]:
    return tuple(f"n{number}" for number in range(count))


def blamed(found: LinkResult) -> set[tuple[str, frozenset[str]]]:
    return {(fault.kind, frozenset(fault.nodes)) for fault in found.faults}


COUNTS = st.integers(2, 70)


@given(COUNTS)
def test_a_healthy_network_has_no_faults(count: int) -> None:
    network = Network()
    found = locate_faults(names(count), network.run)
    assert not found.faults
    assert (found.whole is not None) == (count > 2)
    assert found.pairs


@given(st.data(), COUNTS)
@settings(max_examples=30, deadline=None)
def test_a_broken_link_is_located_and_nothing_else(data: st.DataObject, count: int) -> None:
    link = tuple(data.draw(st.permutations(names(count)))[:2])
    network = Network(broken=[link])
    assert blamed(locate_faults(names(count), network.run)) == {("broken", frozenset(link))}
    assert network.runs <= 25, count


@given(st.data(), st.integers(4, 70))
@settings(max_examples=30, deadline=None)
def test_a_broken_node_is_blamed_instead_of_its_links(data: st.DataObject, count: int) -> None:
    node = data.draw(st.sampled_from(names(count)))
    assert blamed(locate_faults(names(count), Network(dead=[node]).run)) == {("broken", frozenset([node]))}


@given(st.data(), st.integers(6, 40))
@settings(max_examples=60, deadline=None)
def test_two_broken_nodes_are_blamed_and_none_of_their_partners(data: st.DataObject, count: int) -> None:
    dead = data.draw(st.permutations(names(count)))[:2]
    assert blamed(locate_faults(names(count), Network(dead=dead).run)) == {("broken", frozenset([node])) for node in dead}


def test_a_node_with_two_broken_links_is_blamed_and_said_to_work_with_the_others() -> None:
    found = locate_faults(names(8), Network(broken=[("n2", "n3"), ("n2", "n5")]).run)
    assert blamed(found) == {("broken", frozenset(["n2"]))}
    assert found.faults[0].message == "all-reduce fails with 2 of 7 other nodes: hangs"
    assert found.whole


@given(st.data(), st.integers(5, 70))
@settings(max_examples=30, deadline=None)
def test_a_slow_node_is_blamed_instead_of_its_links(data: st.DataObject, count: int) -> None:
    node = data.draw(st.sampled_from(names(count)))
    assert blamed(locate_faults(names(count), Network(lame=[node]).run)) == {("slow", frozenset([node]))}


def test_a_slow_link_between_few_nodes_is_located() -> None:
    assert blamed(locate_faults(names(6), Network(slow=[("n1", "n4")]).run)) == {("slow", frozenset(["n1", "n4"]))}


@given(st.data(), st.integers(9, 40))
@settings(max_examples=30, deadline=None)
def test_two_broken_links_far_apart_are_both_located(data: st.DataObject, count: int) -> None:
    one, two, three, four = data.draw(st.permutations(names(count)))[:4]
    found = blamed(locate_faults(names(count), Network(broken=[(one, two), (three, four)]).run))
    assert found == {("broken", frozenset([one, two])), ("broken", frozenset([three, four]))}


def test_a_failure_of_all_nodes_together_alone_is_said_so() -> None:
    (fault,) = locate_faults(names(16), Network(most=12).run).faults
    assert fault.nodes == names(16)
    assert fault.message == "hangs, only with all 16 nodes together"


@given(st.integers(0, 40))
def test_rounds_are_disjoint_and_repeat_no_pair(count: int) -> None:
    every = [pair for pairs in pair_rounds(names(count)) for pair in pairs]
    assert len({frozenset(pair) for pair in every}) == len(every)
    for pairs in pair_rounds(names(count)):
        together = [node for pair in pairs for node in pair]
        assert len(set(together)) == len(together)


@given(st.integers(2, 8))
def test_among_few_nodes_every_pair_is_tried(count: int) -> None:
    every = {frozenset(pair) for pairs in pair_rounds(names(count)) for pair in pairs}
    assert every == {frozenset(pair) for pair in combinations(names(count), 2)}


def test_a_pair_that_is_slow_only_once_is_not_blamed() -> None:
    network, slow = Network(), iter([SLOW])

    def run(groups: Sequence[NodeNames]) -> list[Trial]:
        trials = network.run(groups)
        return [Trial(trials[0].nodes, rate=next(slow, FAST)), *trials[1:]]

    assert not locate_faults(names(8), run).faults
