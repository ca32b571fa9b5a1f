"""Checks every node of a Ray cluster, then the links between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from gpudoctor.check.interrupts import Interrupts
from gpudoctor.errors import UsageError
from gpudoctor.findings.wording import count_with_noun
from gpudoctor.fleet.links import NodeNames, Trial, locate_faults
from gpudoctor.frameworks import SPANNING_NODES
from gpudoctor.on_ray.all_reduce import AllReduces
from gpudoctor.on_ray.cluster import Cluster, NodeAnswer, NodeTask, connected_cluster
from gpudoctor.progress import Event, Progress
from gpudoctor.report.fleet import LinkRate, Links
from gpudoctor.report.hostlist import nodes_of_names
from gpudoctor.typed_values import from_json

_CHECK_MODULE = "gpudoctor.__main__"
_MARGIN_SECONDS = 20.0
"""Seconds that a node's own check ends before we give up on the node: it can then say what took so long."""


class CheckPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What to do on a cluster."""

    address: str
    """Empty: the cluster of RAY_ADDRESS, or the one on this machine."""
    arguments: tuple[str, ...]
    """Of `gpudoctor check` on each node."""
    claims: bool
    """Whether a check claims the GPUs of its node."""
    links: bool
    """Whether to run all-reduce between nodes."""
    python: str
    """The interpreter to examine on each node; empty: that of the Ray worker."""
    runtime_env: Mapping[str, Any]
    timeout: float


def check(plan: CheckPlan, take: Callable[[str, bytes, str], None], progress: Progress) -> Links | None:
    """Give `take` each node's name, report and, if there is none, the reason, as they come; return what all-reduce between nodes showed.

    Raises UsageError if there is no cluster, and Interrupted after nodes that have not answered were given as well.
    """
    progress(Event("begin", "connecting to Ray"))
    with connected_cluster(plan.address, plan.runtime_env) as cluster, Interrupts() as interrupts:
        cluster.poll = interrupts.poll
        works = _check_tasks(plan, cluster)
        if not works:
            raise UsageError("The Ray cluster has no nodes; start one with `ray start --head`.")
        able = _check_nodes(works, cluster, plan.timeout, take, progress)
        return _check_links(plan, works, able, cluster, progress) if plan.links else None


def _check_tasks(plan: CheckPlan, cluster: Cluster) -> list[NodeTask]:
    limit = max(plan.timeout - _MARGIN_SECONDS, plan.timeout / 2)
    python = () if "--node" in plan.arguments else ("--python", plan.python or "{python}")
    arguments = ("check", "--format", "json", "--timeout", f"{limit:g}", *python, *plan.arguments)
    return [NodeTask(node, _CHECK_MODULE, arguments, node.gpus if plan.claims else 0.0) for node in cluster.nodes()]


def _check_nodes(
    works: Sequence[NodeTask], cluster: Cluster, timeout: float, take: Callable[[str, bytes, str], None], progress: Progress
) -> set[str]:
    """Return the nodes on which PyTorch trained."""
    waiting = {work.node.name for work in works}
    counts: Counter[str] = Counter()
    able = set()
    _show_progress(counts, waiting, progress)
    try:
        for answer in cluster.run(works, timeout):
            name, silence = answer.work.node.name, _missing_report_reason(answer)
            waiting.discard(name)
            counts["failed" if silence else "done"] += 1
            _show_progress(counts, waiting, progress)
            take(name, answer.output, silence)
            if _has_trained_for_links(answer.output):
                able.add(name)
    finally:
        for name in waiting:
            take(name, b"", "the check was stopped before this node answered")
    return able


def _show_progress(counts: Counter[str], waiting: set[str], progress: Progress) -> None:
    total = counts.total() + len(waiting)
    progress(Event("begin", f"{count_with_noun(total, 'node')}: {counts['done']} done, {counts['failed']} failed, {len(waiting)} waiting"))


def _missing_report_reason(answer: NodeAnswer) -> str:
    """Return why there is no report; empty if there is one, or an error document, which says it itself."""
    if answer.silence or answer.output:
        return answer.silence
    last = answer.errors.decode("utf-8", "backslashreplace").strip().rpartition("\n")[2]
    return f"gpudoctor ended with status {answer.code} and without a report{f' ({last})' if last else ''}"


class _Smoke(msgspec.Struct, frozen=True):
    framework: str = ""
    trainings: tuple[msgspec.Raw, ...] = ()


class _Snapshot(msgspec.Struct, frozen=True):
    smoke: tuple[_Smoke, ...] = ()


class _Report(msgspec.Struct, frozen=True):
    snapshot: _Snapshot = _Snapshot()


def _has_trained_for_links(report: bytes) -> bool:
    try:
        trained = from_json(report, _Report).snapshot.smoke
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return any(smoke.framework == SPANNING_NODES and smoke.trainings for smoke in trained)


def _check_links(plan: CheckPlan, works: Sequence[NodeTask], able: set[str], cluster: Cluster, progress: Progress) -> Links:
    """Return what all-reduce showed between the nodes that are able to run it."""
    taking = {work.node.name: work.node for work in works if work.node.name in able}
    all_reduces = AllReduces(cluster, taking, plan.python or "{python}")

    def run(groups: Sequence[NodeNames]) -> Sequence[Trial]:
        what = count_with_noun(len(groups), "pair") if len(groups[0]) == 2 else count_with_noun(sum(map(len, groups)), "node")
        progress(Event("begin", f"all-reduce between nodes: {what}"))
        return all_reduces(groups)

    found = locate_faults(tuple(taking), run) if len(taking) > 1 else None
    return Links(
        backend=all_reduces.backend if taking else "",
        nodes=nodes_of_names(taking),
        left_out=nodes_of_names(work.node.name for work in works if work.node.name not in taking),
        pairs=tuple(LinkRate(pair.nodes, pair.rate or None) for pair in found.pairs) if found else (),
        rate=found.whole.rate if found and found.whole else None,
        faults=found.faults if found else (),
    )
