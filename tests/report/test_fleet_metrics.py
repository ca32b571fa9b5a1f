"""The metrics of a fleet, read by Prometheus' own parser and linter."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gpudoctor.report.build import TOOL
from gpudoctor.report.fleet import Fleet
from gpudoctor.report.fleet_metrics import render
from tests.report.fleets import fleet

FLEET = fleet(100)


def samples(made: Fleet) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    found = [sample for family in text_string_to_metric_families("".join(render(made))) for sample in family.samples]
    told = {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for sample in found}
    assert len(told) == len(found), "a series is there twice"
    return told


def test_prometheus_reads_what_the_fleet_says() -> None:
    told = samples(FLEET)
    assert told["gpudoctor_fleet_verdict", (("verdict", "broken"),)] == 1
    assert told["gpudoctor_fleet_verdict", (("verdict", "ready"),)] == 0
    assert told["gpudoctor_fleet_nodes", (("verdict", "no-report"),)] == 2
    assert told["gpudoctor_fleet_timestamp_seconds", ()] == 1795402800
    assert told["gpudoctor_fleet_bad_links", (("kind", "slow"),)] == 1
    for node in FLEET.nodes:
        assert told["gpudoctor_fleet_node_usable", (("node", node.name),)] == node.usable


@pytest.mark.parametrize(
    ("created", "seconds"), [("1970-01-01T00:00:59Z", 59), ("1970-01-02T03:04:05.678Z", 97445), ("2026-11-23T03:04:05", 1795403045)]
)
def test_the_time_of_the_newest_report_is_right_to_the_second(created: str, seconds: int) -> None:
    told = samples(Fleet(tool=TOOL, created=created, verdict="ready", because="", exit_code=0))
    assert told["gpudoctor_fleet_timestamp_seconds", ()] == seconds


@pytest.mark.parametrize("created", ["", "yesterday", "2026-99-99T00:00:00Z"])
def test_a_time_that_is_none_is_left_out(created: str) -> None:
    told = samples(Fleet(tool=TOOL, created=created, verdict="ready", because="", exit_code=0))
    assert ("gpudoctor_fleet_timestamp_seconds", ()) not in told


def test_promtool_has_no_complaint() -> None:
    if shutil.which("promtool") is None:
        pytest.skip("needs promtool (Debian: prometheus)")
    checked = subprocess.run(["promtool", "check", "metrics"], input="".join(render(FLEET)), text=True, capture_output=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
