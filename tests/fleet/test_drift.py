"""Who differs from most nodes, in any fact that does not change by itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gpudoctor.changes.walk import SnapshotWalk
from gpudoctor.findings.summary import GpuModel, Summary
from gpudoctor.fleet.steady_facts import SteadyWalk
from gpudoctor.report.fleet import Fleet
from gpudoctor.snapshot import Cpu, Details, Fact, KernelDriver, Memory, Nvml, Snapshot, Variables, decode_snapshot, encode_snapshot
from gpudoctor.snapshot.values import Cause, Missing
from tests.builders import machine
from tests.fleet.generated import HEALTHY
from tests.fleet.reports import merged, report
from tests.machines import store

DRIVERS = ("550.163.01", "550.54.15", "535.104.05")


def with_driver(version: str, snapshot: Snapshot | None = None) -> Snapshot:
    return replace(snapshot or machine(), kernel_driver=KernelDriver(version=Fact(version, "/proc/driver/nvidia/version")))


def minority(fleet: Fleet, path: str) -> dict[str, str]:
    """The nodes that differ in a fact, with their values."""
    return {
        name: deviation.value
        for drift in fleet.drifts
        if drift.path == path
        for deviation in drift.deviations
        for name in deviation.nodes.names
    }


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(DRIVERS), min_size=3, max_size=12))
def test_the_minority_differs_whoever_comes_first(drivers: list[str]) -> None:
    fleet = merged({f"n{number}": report(with_driver(driver)) for number, driver in enumerate(drivers)})
    (most, count), *others = Counter(drivers).most_common()
    found = {name: value.partition(" ")[0] for name, value in minority(fleet, "kernel_driver.version.value").items()}
    if 2 * count > len(drivers):
        assert found == {f"n{number}": driver for number, driver in enumerate(drivers) if driver != most}
    splits = [drift.split for drift in fleet.drifts]
    assert splits == (
        [] if not others or (2 * len({*drivers}) > len(drivers) and 2 * count <= len(drivers)) else [2 * count <= len(drivers)]
    )


def _leaves(node: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from _leaves(value, (*way, key))
    else:
        yield way, node


def _changed(document: Any, way: tuple[Any, ...]) -> Any:
    """A copy with another value at one place; None if the form allows no other."""
    copy = json.loads(json.dumps(document))
    holder = copy
    for key in way[:-1]:
        holder = holder[key]
    value = holder[way[-1]]
    holder[way[-1]] = (not value) if isinstance(value, bool) else value + 1 if isinstance(value, int | float) else f"{value}x"
    return copy


def test_every_fact_of_a_snapshot_is_compared_unless_it_changes_by_itself() -> None:
    base = store.recorded(HEALTHY)
    document = json.loads(encode_snapshot(base))
    compared = 0
    for way, _ in _leaves(document):
        if way[-1] in {"type", "cause", "reason"} or way[0] in {"version", "created", "origin", "remarks"}:
            continue
        other = decode_snapshot(msgspec.json.encode(_changed(document, way)))
        walked = [difference for difference in SnapshotWalk(base, other).differences() if not difference.volatile]
        assert [difference.path for difference in SteadyWalk(base, other).differences()] == [difference.path for difference in walked], way
        compared += bool(walked)
    assert compared > 100


MACHINES = (
    "healthy-eight",
    "eight-one-lost",
    "gpu-trains",
    "eight-cuda-lists-seven",
    "kernel-ran-on-eight",
    "driver-not-loaded",
    "two-models",
)


@pytest.mark.parametrize("name", MACHINES)
def test_the_fast_walk_finds_what_the_walk_of_diff_finds(name: str) -> None:
    before = store.recorded(name)
    for other in MACHINES:
        after = store.recorded(other)
        walked = [difference for difference in SnapshotWalk(before, after).differences() if not difference.volatile]
        assert {(difference.path, repr(difference.after)) for difference in SteadyWalk(before, after).differences()} == {
            (difference.path, repr(difference.after)) for difference in walked
        }


def test_what_belongs_to_a_node_is_no_drift() -> None:
    def node(number: int) -> Snapshot:
        whole = machine()
        assert isinstance(whole.nvml, Nvml)
        assert isinstance(whole.nvml.gpus, tuple)
        gpus = tuple(replace(gpu, uuid=f"GPU-{number:08d}", temperature=30 + number) for gpu in whole.nvml.gpus)
        return replace(whole, nvml=replace(whole.nvml, gpus=gpus))

    assert merged({f"n{number}": report(node(number)) for number in range(9)}).drifts == ()


def test_a_value_that_could_not_be_read_is_no_drift_and_one_that_is_not_there_is() -> None:
    denied, absent = (replace(machine(), kernel_driver=Missing(cause, "said so")) for cause in (Cause.DENIED, Cause.ABSENT))
    most = {f"n{number}": report(with_driver(DRIVERS[0])) for number in range(5)}
    fleet = merged({"blind": report(denied), "without": report(absent), **most})
    assert {name for drift in fleet.drifts for deviation in drift.deviations for name in deviation.nodes.names} == {"without"}


def test_gpus_of_different_models_are_not_compared() -> None:
    h100 = Summary(gpus=(GpuModel("NVIDIA H100 80GB HBM3", 1),))
    old = {f"a{number}": report(with_driver(DRIVERS[2])) for number in range(3)}
    new = {f"h{number}": report(with_driver(DRIVERS[0]), summary=h100) for number in range(3)}
    fleet = merged({**old, **new})
    assert fleet.drifts == ()
    assert [hardware.name for hardware in fleet.hardware] == ["1 × NVIDIA A100-SXM4-80GB", "1 × NVIDIA H100 80GB HBM3"]  # noqa: RUF001 -- typography


def test_golden_is_what_counts_even_if_most_nodes_differ_from_it() -> None:
    sent = {f"n{number}": report(with_driver(DRIVERS[1])) for number in range(5)} | {"as-golden": report(with_driver(DRIVERS[0]))}
    fleet = merged(sent, golden=("golden.json", with_driver(DRIVERS[0])))
    assert set(minority(fleet, "kernel_driver.version.value")) == {f"n{number}" for number in range(5)}
    assert fleet.golden == "golden.json"


def test_an_ignored_field_is_not_compared() -> None:
    sent = {f"n{number}": report(with_driver(DRIVERS[number == 2])) for number in range(5)}
    assert len(merged(sent).drifts) == 1
    assert merged(sent, ignore=("kernel_driver.*",)).drifts == ()


def test_a_drift_that_rules_read_degrades_the_fleet() -> None:
    sent = {f"n{number}": report(with_driver(DRIVERS[number == 2])) for number in range(5)}
    fleet = merged(sent)
    assert (fleet.verdict, fleet.exit_code, fleet.usable.count) == ("degraded", 0, 5)
    strict = merged(sent, strict=True)
    assert (strict.verdict, strict.exit_code, strict.unusable.names) == ("degraded", 1, ("n2",))


def test_a_missing_gpu_is_told_even_if_its_node_comes_first_and_no_rule_sees_it() -> None:
    sent = {name: report(machine(gpus)) for name, gpus in (("n0", 3), ("n1", 4), ("n2", 4), ("n3", 4))}
    (drift,) = [one for one in merged(sent).drifts if one.path == "pci.devices.*"]
    assert [(deviation.line, deviation.nodes.names, deviation.gpus) for deviation in drift.deviations] == [("GPU: missing", ("n0",), 1)]


def test_sizes_within_one_percent_are_the_same() -> None:
    sizes = [(1 << 40) + kilobytes * 1024 for kilobytes in (0, 0, 0, 8, 12)] + [1 << 39]
    sent = {
        f"n{number}": report(replace(machine(), details=Details(cpu=Cpu(), memory=Memory(total=size)))) for number, size in enumerate(sizes)
    }
    assert set(minority(merged(sent), "details.memory.total")) == {"n5"}


def test_a_variable_of_one_node_is_told_by_its_name() -> None:
    sent = {f"n{number}": report(replace(machine(), variables=Variables({}))) for number in range(4)}
    sent["odd"] = report(replace(machine(), variables=Variables({"NCCL_P2P_DISABLE": "1"})))
    assert minority(merged(sent), "variables.values.NCCL_P2P_DISABLE") == {"odd": "1"}
