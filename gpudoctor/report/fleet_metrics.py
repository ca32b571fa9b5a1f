"""A fleet as metrics for node_exporter's textfile collector: https://github.com/prometheus/node_exporter#textfile-collector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timezone
from itertools import groupby
from typing import NamedTuple

from gpudoctor.findings import Verdict
from gpudoctor.report.fleet import Fleet, Links

_HELP_TEXTS = {
    "gpudoctor_fleet_info": "Version of gpudoctor that made the diagnosis; always 1.",
    "gpudoctor_fleet_timestamp_seconds": "Time of the newest report, Unix time.",
    "gpudoctor_fleet_exit_code": "Exit code: 0 ready or degraded, 1 broken, 3 unknown.",
    "gpudoctor_fleet_verdict": "1 for the verdict of the fleet, 0 for the others.",
    "gpudoctor_fleet_nodes": "Number of nodes with this verdict.",
    "gpudoctor_fleet_node_usable": "1 if the node is usable, else 0.",
    "gpudoctor_fleet_finding_nodes": "Number of nodes with this root cause.",
    "gpudoctor_fleet_deviating_nodes": "Number of nodes on which this fact differs from most nodes or from the reference.",
    "gpudoctor_fleet_slow_gpus": "Number of GPUs whose figure is worse than that of the others of their model.",
    "gpudoctor_fleet_all_reduce_bytes_per_second": "Bus bandwidth of all-reduce among all good nodes.",
    "gpudoctor_fleet_bad_links": "Number of nodes and links whose all-reduce is slow or broken.",
    "gpudoctor_fleet_unread_reports": "Number of inputs that could not be read or were not used.",
}
_LABEL_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
"""https://prometheus.io/docs/instrumenting/exposition_formats/#comments-help-text-and-type-information"""


class MetricSample(NamedTuple):
    """One value of a metric."""

    metric: str
    labels: dict[str, str]
    value: float


def render(fleet: Fleet) -> Iterator[str]:
    """Yield the metrics in Prometheus' text format, without timestamps."""
    for metric, samples in groupby(_fleet_samples(fleet), key=lambda sample: sample.metric):
        yield f"# HELP {metric} {_HELP_TEXTS[metric]}\n# TYPE {metric} gauge\n"
        yield from (f"{metric}{_label_text(sample.labels)} {sample.value:.15g}\n" for sample in samples)


def _label_text(labels: dict[str, str]) -> str:
    pairs = ",".join(f'{name}="{value.translate(_LABEL_ESCAPES)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _fleet_samples(fleet: Fleet) -> Iterator[MetricSample]:
    yield MetricSample("gpudoctor_fleet_info", {"version": fleet.tool.version}, 1)
    with suppress(ValueError):  # the time comes from a report, which may say anything
        created = datetime.strptime(fleet.created[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
        yield MetricSample("gpudoctor_fleet_timestamp_seconds", {}, created.timestamp())
    yield MetricSample("gpudoctor_fleet_exit_code", {}, fleet.exit_code)
    for verdict in Verdict:
        yield MetricSample("gpudoctor_fleet_verdict", {"verdict": verdict.value}, fleet.verdict == verdict.value)
    for count in fleet.verdicts:
        yield MetricSample("gpudoctor_fleet_nodes", {"verdict": count.verdict}, count.nodes.count)
    for node in fleet.nodes:
        yield MetricSample("gpudoctor_fleet_node_usable", {"node": node.name}, node.usable)
    yield from _check_samples(fleet)
    if fleet.links is not None:
        yield from _link_samples(fleet.links)
    yield MetricSample("gpudoctor_fleet_unread_reports", {}, len(fleet.unread))


def _check_samples(fleet: Fleet) -> Iterator[MetricSample]:
    for finding in fleet.findings:
        if finding.root:
            labels = {"code": finding.code, "rule": finding.name, "severity": finding.severity}
            yield MetricSample("gpudoctor_fleet_finding_nodes", labels, finding.nodes.count)
    for drift in fleet.drifts:
        labels = {"fact": drift.path, "hardware": drift.hardware}
        yield MetricSample("gpudoctor_fleet_deviating_nodes", labels, sum(deviation.nodes.count for deviation in drift.deviations))
    for figure in fleet.figures:
        if figure.outliers:
            yield MetricSample("gpudoctor_fleet_slow_gpus", {"figure": figure.name, "model": figure.model}, figure.outliers)


def _link_samples(links: Links) -> Iterator[MetricSample]:
    if links.rate is not None:
        yield MetricSample("gpudoctor_fleet_all_reduce_bytes_per_second", {"backend": links.backend}, links.rate)
    kinds = Counter(fault.kind for fault in links.faults)
    for kind in ("broken", "slow"):
        yield MetricSample("gpudoctor_fleet_bad_links", {"kind": kind}, kinds[kind])
