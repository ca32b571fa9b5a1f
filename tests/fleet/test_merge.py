"""Whole fleets: what is planted is found and nothing else; broken and duplicate reports are told; the verdict and who is usable."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gpudoctor.errors import UsageError
from gpudoctor.findings.summary import GpuModel, Summary
from gpudoctor.fleet import FleetOptions, Merge
from gpudoctor.fleet.conditions import SHARED, parse_fleet_condition
from gpudoctor.report.fleet import Unread
from gpudoctor.report.fleet_nodes import is_plain_name
from gpudoctor.report.hostlist import folded_hostlist, nodes_of_names
from gpudoctor.snapshot import Host, Nvml, NvmlGpu
from tests.builders import machine
from tests.fleet import generated
from tests.fleet.reports import finding, merged, report
from tests.shipped import shared_matrix


@pytest.mark.parametrize(("size", "machine"), [(10, generated.HEALTHY), (300, generated.HEALTHY), (40, generated.EIGHT)])
def test_every_planted_fault_is_found_and_nothing_else(size: int, machine: str) -> None:
    names, planted = generated.plan(size, seed=size)
    if machine == generated.EIGHT:
        planted.slow.clear()  # it was not measured
    fleet = merged(dict(generated.reports(names, planted, size, machine)))
    found = {name for group in fleet.findings if group.severity != "note" for name in group.nodes.names}
    assert found == set(planted.faulty)
    assert {outlier.node for outlier in fleet.outliers} == planted.slow
    differing = {name for drift in fleet.drifts for deviation in drift.deviations for name in deviation.nodes.names}
    assert planted.drifting.keys() <= differing <= planted.every
    for name, kind in planted.drifting.items():
        assert any(kind in deviation.line for drift in fleet.drifts for deviation in drift.deviations if name in deviation.nodes.names), (
            name,
            kind,
        )


def test_a_finding_of_many_nodes_is_one_line_with_its_exceptions() -> None:
    sent = {f"gpu{number:02}": report(verdict="broken", findings=(finding(key=f"0000:0{number % 9}:00.0"),)) for number in range(20)}
    sent |= {"gpu50": report(), "gpu51": report(verdict="broken", findings=(finding("GD203", "torch"),))}
    fleet = merged(sent)
    lost, other = fleet.findings
    assert (lost.code, lost.nodes.folded, lost.gpus, lost.exceptions.folded) == ("GD103", "gpu[00-19]", 20, "gpu[50-51]")
    assert [wording.nodes.count for wording in lost.wordings] == [20]
    assert (other.code, other.nodes.folded, other.exceptions.count) == ("GD203", "gpu51", 0)


def test_a_consequence_is_no_root() -> None:
    fleet = merged({"n1": report(verdict="broken", findings=(finding(), finding("GD206", "", because_of=("GD103:0000:01:00.0",))))})
    assert [(group.code, group.root) for group in fleet.findings] == [("GD103", True), ("GD206", False)]
    assert [one.id for one in fleet.nodes[0].findings] == ["GD103:0000:01:00.0"]


TIMES = [("2026-11-21T04:00:00Z", "broken"), ("2026-11-21T05:00:00Z", "ready"), ("2026-11-21T03:00:00Z", "unknown")]


@pytest.mark.parametrize("order", list(permutations(TIMES)))
def test_the_newest_report_of_a_node_counts_in_any_order(order: tuple[tuple[str, str], ...]) -> None:
    merge = Merge(FleetOptions(), shared_matrix())
    for created, verdict in order:
        found = (finding(),) if verdict == "broken" else ()
        merge.add(report(created=created, verdict=verdict, findings=found), source=f"{verdict}.json", node="n1")
    fleet = merge.finish()
    assert [(node.name, node.verdict) for node in fleet.nodes] == [("n1", "ready")]
    assert fleet.findings == ()
    assert sorted(unread.source for unread in fleet.unread) == ["broken.json", "unknown.json"]
    assert {unread.kind for unread in fleet.unread} == {"duplicate"}


BROKEN = {
    "an exit code of 400 digits": report(exit_code=10**400),
    "a count of 400 digits": report(summary=Summary(gpus=(GpuModel("NVIDIA L4", 10**400),))),
    "a size of 400 digits": report(machine(nvml=Nvml(gpus=(NvmlGpu(0, memory_total=10**400),)))),
    "empty": b"",
    "torn": report()[:200],
    "text": b"Traceback (most recent call last):",
    "number": b"17",
    "deep": b'{"schema":' + b"[" * 100_000,
    "other words": report().replace(b'"ready"', b"7"),
    "without a snapshot": report().replace(b'"snapshot"', b'"snapshop"'),
    "snapshot of another form": report().replace(b'"snapshot":{', b'"snapshot":17,"x":{'),
    "not UTF-8": report().replace(b"ready", b"re\xff\xfey"),
    "the future": report().replace(b'"version":"1.', b'"version":"9.'),
    "error": b'{"schema":"gpudoctor.error/1","tool":{"name":"gpudoctor","version":"0.1.0"},"exit_code":2,"error":{"kind":"usage","message":"No."}}',
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_report_is_told_and_its_node_has_none(name: str) -> None:
    fleet = merged({"good": report(), "bad": BROKEN[name]})
    assert [(node.name, node.verdict) for node in fleet.nodes] == [("bad", "no-report"), ("good", "ready")]
    (told,) = fleet.unread
    assert (told.source, told.node) == ("bad.json", "bad")
    assert told.reason
    assert (fleet.verdict, fleet.exit_code) == ("unknown", 3)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (report()[:200], "it is cut off"),
        (b"<html>502 Bad Gateway</html>", "it is not JSON: invalid character (byte 0)"),
        (b"[" + report() + b"]", "it is a JSON list; write one report a line, as `jq -c '.[]'` does"),
        (report(exit_code=10**400), "a number in it has more than 64 bits"),
        (report(schema="gpudoctor.report/2"), "it is a gpudoctor.report/2 document; merge it with a newer gpudoctor"),
    ],
)
def test_a_broken_report_is_told_in_plain_words(sent: bytes, reason: str) -> None:
    fleet = merged({"bad": sent})
    assert ([unread.reason for unread in fleet.unread], [node.verdict for node in fleet.nodes]) == ([reason], ["no-report"])


def test_a_document_of_another_kind_is_no_node() -> None:
    fleet = merged({"good": report(), "fleet": report(schema="gpudoctor.fleet/1")})
    assert [node.name for node in fleet.nodes] == ["good"]
    assert [unread.kind for unread in fleet.unread] == ["not-a-report"]
    assert fleet.verdict == "ready"
    alone = merged({"fleet": report(schema="gpudoctor.fleet/1")})
    assert (alone.verdict, alone.because, alone.exit_code) == ("unknown", "no report could be used", 3)


@pytest.mark.parametrize(
    ("kind", "verdict", "because"), [("broken", "unknown", "1 input could not be read"), ("not-a-report", "ready", "all 2 nodes are ready")]
)
def test_an_input_that_may_have_been_a_report_leaves_the_fleet_unknown(kind: str, verdict: str, because: str) -> None:
    merge = Merge(FleetOptions(), shared_matrix())
    for name in ("n1", "n2"):
        merge.add(report(), source="", node=name)
    merge.unread(Unread(source="all.tar.gz", kind=kind, reason="it cannot be unpacked to its end"))
    fleet = merge.finish()
    assert (fleet.verdict, fleet.because, len(fleet.nodes)) == (verdict, because, 2)


@pytest.mark.parametrize(("host", "name"), [("gpu001", "gpu001"), ("9" * 253, "9" * 253), ("9" * 5000, "file"), ("<host>", "file")])
def test_a_host_name_is_one_that_a_host_can_have(host: str, name: str) -> None:
    merge = Merge(FleetOptions(), shared_matrix())
    merge.add(report(replace(machine(), host=Host(hostname=host))), source="file.json", stem="file")
    assert [node.name for node in merge.finish().nodes] == [name]


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 3000), st.binary(min_size=1, max_size=8))
def test_a_damaged_report_never_raises(place: int, damage: bytes) -> None:
    whole = report(findings=(finding(),), verdict="broken")
    fleet = merged({"n1": whole[:place] + damage + whole[place + len(damage) :]})
    assert fleet.nodes or fleet.unread
    assert (fleet.verdict, fleet.exit_code) != ("ready", 0)


def test_a_silent_node_has_no_report_unless_it_sends_one() -> None:
    merge = Merge(FleetOptions(), shared_matrix())
    merge.silent("n1", "no answer in 600 s")
    merge.silent("n2", "no answer in 600 s")
    merge.add(report(), source="", node="n2")
    fleet = merge.finish()
    assert [(node.name, node.verdict, node.reason) for node in fleet.nodes] == [
        ("n1", "no-report", "no answer in 600 s"),
        ("n2", "ready", ""),
    ]


def test_reports_of_several_versions_are_told() -> None:
    newer = report(tool={"name": "gpudoctor", "version": "0.2.0"})
    fleet = merged({"n1": report(), "n2": report(), "n3": newer})
    assert [(tool.version, tool.nodes.folded) for tool in fleet.tools] == [("0.1.0", "n[1-2]"), ("0.2.0", "n3")]


def test_no_report_at_all_is_an_error() -> None:
    with pytest.raises(UsageError, match="No report was found"):
        merged({})


VERDICTS = {
    ("ready", "ready"): ("ready", 0),
    ("ready", "degraded"): ("degraded", 0),
    ("ready", "unknown"): ("unknown", 3),
    ("unknown", "broken"): ("broken", 1),
    ("ready", "a word of 2031"): ("unknown", 3),
}


@pytest.mark.parametrize("verdicts", VERDICTS)
def test_the_worst_node_decides(verdicts: tuple[str, str]) -> None:
    fleet = merged({f"n{number}": report(verdict=verdict) for number, verdict in enumerate(verdicts)})
    assert (fleet.verdict, fleet.exit_code) == VERDICTS[verdicts]


FOUR = {f"n{number}": report(verdict=verdict) for number, verdict in enumerate(("ready", "ready", "degraded", "broken"))}


@pytest.mark.parametrize(
    ("require", "met", "verdict", "code"),
    [
        (("nodes>=3",), [True], "degraded", 0),
        (("nodes>=4",), [False], "broken", 1),
        (("nodes >= 3", "gpus==3"), [True, True], "degraded", 0),
        (("gpus>=4",), [False], "broken", 1),
        (("same:driver",), [True], "broken", 1),
        (("nodes>=3", "same:cuda"), [True, None], "unknown", 3),
    ],
)
def test_requirements_are_about_the_usable_nodes(require: tuple[str, ...], met: list[bool | None], verdict: str, code: int) -> None:
    fleet = merged(FOUR, require=tuple(map(parse_fleet_condition, require)))
    assert ([requirement.met for requirement in fleet.requirements], fleet.verdict, fleet.exit_code) == (met, verdict, code)
    assert fleet.usable.names == ("n0", "n1", "n2")


@pytest.mark.parametrize(
    ("require", "met"),
    [
        ("gpus>=2", True),
        ("gpus>2", None),
        ("gpus<2", False),
        ("gpus<=2", None),
        ("gpus==1", False),
        ("gpus==3", None),
        ("gpus!=1", True),
        ("gpus!=2", None),
    ],
)
def test_gpus_that_are_not_known_may_decide_a_requirement(require: str, met: bool | None) -> None:
    (found,) = merged(
        {"n0": report(), "n1": report(), "n2": report(summary=Summary())}, require=(parse_fleet_condition(require),)
    ).requirements
    assert (found.met, found.reason) == (met, "the usable nodes have 2 GPUs, without those of n2, which are not known")


def test_a_node_whose_gpus_are_not_known_is_not_among_those_without() -> None:
    none, unknown = report(summary=Summary(gpus=())), report(summary=Summary())
    fleet = merged({"n0": none, "n1": none, "n2": unknown})
    assert [(hardware.name, hardware.nodes.folded) for hardware in fleet.hardware] == [("no GPU", "n[0-1]"), ("GPUs not known", "n2")]


@pytest.mark.parametrize("subject", SHARED)
def test_the_same_is_required_of_any_fact_of_the_summary(subject: str) -> None:
    sent = {f"n{number}": report(summary=Summary()) for number in range(2)}
    assert merged(sent, require=(parse_fleet_condition(f"same:{subject}"),)).requirements[0].met is None


def test_different_drivers_are_named_with_their_nodes() -> None:
    gpus = (GpuModel("NVIDIA A100-SXM4-80GB", 1),)
    sent = {f"n{number}": report(summary=Summary(gpus=gpus, driver="550.163.01" if number else "535.104.05")) for number in range(4)}
    (found,) = merged(sent, require=(parse_fleet_condition("same:driver"),)).requirements
    assert (found.met, found.reason) == (False, "550.163.01 on most, 535.104.05 on n0")


@pytest.mark.parametrize(
    "text", ["", "nodes", "nodes>=", "nodes=3", "nodes>=-1", "nodes>=3.5", "same:", "same:weather", "same:drivr", "driver>=550"]
)
def test_what_cannot_be_required_is_one_sentence(text: str) -> None:
    with pytest.raises(UsageError, match="--require"):
        parse_fleet_condition(text)


@given(st.lists(st.from_regex(r"[a-z]{1,3}-?[0-9]{1,4}(-ib)?", fullmatch=True), unique=True, max_size=60))
def test_a_hostlist_holds_exactly_its_nodes(names: list[str]) -> None:
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet  # noqa: PLC0415 -- only here

    listed = nodes_of_names(names)
    assert set(NodeSet(listed.folded, resolver=RESOLVER_NOGROUP)) == set(names)
    assert (listed.count, set(listed.names)) == (len(names), set(names))
    assert listed.folded.count("[") <= listed.folded.count(",") + 1


@pytest.mark.parametrize("name", ["@all", "a[1-9]", "a,b", "a b", "$(reboot)", "-o", "a&b", "", "\x1b[2J", "ü1"])
def test_a_name_that_means_something_to_a_hostlist_or_shell_stands_in_quotes(name: str) -> None:
    assert not is_plain_name(name)
    assert folded_hostlist([name, "n1"]) == f'n1,"{name}"'
