"""The document gpudoctor.fleet/1: what the reports of many machines say together.

Fields are only ever added. Words (verdicts, kinds) are open: a reader must accept one that it does not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from gpudoctor.report.model import Code, Name, SeverityWord, Tool


def _text(meaning: str, *examples: object) -> msgspec.Meta:
    return msgspec.Meta(description=meaning, examples=list(examples) or None)


VerdictWord = Annotated[
    str, _text("Open: the node's own verdict; no-report if it sent none.", "ready", "degraded", "broken", "unknown", "no-report")
]


class Nodes(msgspec.Struct, frozen=True):
    """Some nodes of the fleet."""

    count: Annotated[int, _text("How many there are.")] = 0
    folded: Annotated[str, _text("All of them as a hostlist, which Slurm, pdsh and ClusterShell read.", "gpu[001-040,043]")] = ""
    names: Annotated[Sequence[str], _text("The same, one by one, in natural order.")] = ()


class NodeFinding(msgspec.Struct, frozen=True):
    """A root cause on one node."""

    id: Annotated[str, _text("The finding's id in the node's report.", "GD103:0000:1f:00.0")]
    name: Name
    severity: SeverityWord


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One node and what is known of it."""

    name: Annotated[str, _text("Its name: the report's host name, or the name of the file.", "gpu001")]
    verdict: VerdictWord
    exit_code: Annotated[int | None, _text("The exit code of its check; null if it sent no report.")] = None
    usable: Annotated[bool, _text("Whether it is among the usable nodes.")] = False
    hardware: Annotated[str, _text("The hardware group that it belongs to; empty if it sent no report.", "8 × NVIDIA H100 80GB HBM3")] = ""  # noqa: RUF001 -- typography
    created: Annotated[str, _text("When it was examined: UTC, ISO 8601; empty if it sent no report.", "2026-11-21T04:00:00Z")] = ""
    source: Annotated[str, _text("The file that the report was in.", "reports/gpu001.json")] = ""
    reason: Annotated[str, _text("Why there is no report; else empty.", "no answer in 600 s")] = ""
    findings: Annotated[tuple[NodeFinding, ...], _text("Its root causes, errors and warnings, the worst first.")] = ()
    drifts: Annotated[tuple[int, ...], _text("The drifts that it is in the minority of: their places in `drifts`.")] = ()
    outliers: Annotated[int, _text("How many of its figures are outliers.")] = 0


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """An input without a report in it, or whose report was not used."""

    source: Annotated[str, _text("The file, or the file and the member or line within it.", "all.tar.gz: gpu009.json")]
    kind: Annotated[str, _text("Open.", "broken", "duplicate", "too-large", "not-a-report", "no-report")]
    reason: Annotated[str, _text("One sentence.")]
    node: Annotated[str, _text("The node, if that is known.")] = ""


class Wording(msgspec.Struct, frozen=True):
    """One message of a finding and the nodes that have it."""

    message: Annotated[str, _text("What is wrong there, with the values that were seen.")]
    nodes: Nodes


class FindingGroup(msgspec.Struct, frozen=True, kw_only=True):
    """One finding on all nodes that have it."""

    code: Code
    name: Name
    severity: SeverityWord
    title: Annotated[str, _text("What is wrong, in general.")]
    root: Annotated[bool, _text("Whether no other finding of the node explains it.")]
    nodes: Nodes
    gpus: Annotated[int, _text("How many GPUs it is about; 0 if it is not about single GPUs.")] = 0
    exceptions: Annotated[Nodes, _text("The nodes without it, if most nodes have it.")] = Nodes()
    wordings: Annotated[
        tuple[Wording, ...], _text("Its messages, the most frequent first. Addresses and indexes of GPUs are left out.")
    ] = ()
    fix: Annotated[str, _text("The first step, in words, as most nodes have it.")] = ""
    command: Annotated[str, _text("That step as a command; empty if it is none.")] = ""
    fix_kind: Annotated[str, _text("What that step does. Open: check only gathers information.", "fix", "check")] = ""
    url: Annotated[str, _text("The rule's page.")] = ""


class Deviation(msgspec.Struct, frozen=True, kw_only=True):
    """A value that differs from what most nodes have, or from the reference."""

    value: Annotated[str, _text("In words; empty: not there.", "550.127.05")]
    line: Annotated[str, _text("All of it in one line.", "driver 550.163.01 → 550.127.05")]
    nodes: Nodes
    gpus: Annotated[int, _text("How many GPUs have it; 0 if it is not about single GPUs.")] = 0


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """A fact that is not the same on all nodes of the same hardware."""

    path: Annotated[str, _text("Its field in the snapshot, as --ignore takes it.", "kernel_driver.version.value")]
    hardware: Annotated[str, _text("The hardware group that is compared.")]
    what: Annotated[str, _text("The fact, in words.", "driver")]
    expected: Annotated[str, _text("What most nodes have, or the reference; empty: it is not there.", "550.163.01")]
    agreeing: Annotated[int, _text("How many nodes have that.")]
    of: Annotated[int, _text("How many nodes were compared.")]
    deviations: Annotated[tuple[Deviation, ...], _text("The other values, the most frequent first.")]
    read_by_rules: Annotated[bool, _text("Whether a rule reads it.")]
    split: Annotated[bool, _text("Whether no value is on more than half of the nodes; `expected` is then the most frequent one.")] = False
    also: Annotated[tuple[str, ...], _text("Paths of what differs because of this.")] = ()


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A measured figure over all GPUs of one model."""

    name: Annotated[str, _text("What was measured.", "torch matmul fp16, size 8192")]
    model: Annotated[str, _text("The GPUs that are compared.", "NVIDIA H100 80GB HBM3")]
    unit: Annotated[str, _text("Open.", "FLOP/s", "B/s", "images/s", "s")]
    count: Annotated[int, _text("How many GPUs have it.")]
    median: Annotated[float, _text("The median over these GPUs.")]
    spread: Annotated[float, _text("The standard deviation that the median absolute deviation stands for.")]
    limit: Annotated[float | None, _text("A GPU beyond this is an outlier; null if there are too few GPUs to compare.")]
    outliers: Annotated[int, _text("How many GPUs are beyond the limit.")] = 0


class Outlier(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU whose figure is worse than those of its siblings."""

    node: Annotated[str, _text("The node.", "gpu001")]
    gpu: Annotated[str, _text("Its PCI address; empty if the figure is one of the whole node.", "0000:1f:00.0")]
    figure: Annotated[int, _text("Its place in `figures`.")]
    value: Annotated[float, _text("What was measured, in the figure's unit.")]
    difference: Annotated[float, _text("From the median, as a part of the median.", -0.08)]
    cause: Annotated[str, _text("The id of the finding on the same node that explains it; empty if none does.", "GD712:0000:1f:00.0")] = ""
    message: Annotated[str, _text("That finding's title.")] = ""


class Hardware(msgspec.Struct, frozen=True):
    """Nodes with the same GPUs, which are compared with each other."""

    name: Annotated[str, _text("Its GPUs; the number is what most nodes have.", "8 × NVIDIA H100 80GB HBM3")]  # noqa: RUF001 -- typography
    nodes: Nodes
    gpus: Annotated[int, _text("How many GPUs these nodes have together.")]


class Requirement(msgspec.Struct, frozen=True):
    """What --require asked for."""

    text: Annotated[str, _text("As on the command line.", "nodes>=32", "same:driver")]
    met: Annotated[bool | None, _text("null: it could not be checked.")]
    reason: Annotated[str, _text("What was seen.", "31 nodes are usable")]


class ToolVersion(msgspec.Struct, frozen=True):
    """A version of gpudoctor and the nodes whose reports it wrote."""

    version: Annotated[str, _text("The version.", "0.1.0")]
    nodes: Nodes


class Count(msgspec.Struct, frozen=True):
    """How many nodes have a verdict."""

    verdict: VerdictWord
    nodes: Nodes


class LinkFault(msgspec.Struct, frozen=True, kw_only=True):
    """A node, or a link between two, whose all-reduce is slow or fails."""

    kind: Annotated[str, _text("Open. broken: it hangs, fails or gives wrong sums.", "broken", "slow")]
    nodes: Annotated[
        tuple[str, ...], _text("One node, the two ends of a link, or a group that fails although each part of it works alone.")
    ]
    message: Annotated[str, _text("What was seen, as a clause.")]
    rate: Annotated[float | None, _text("Bus bandwidth in bytes a second; null if there is no right result.")] = None


class LinkRate(msgspec.Struct, frozen=True):
    """The all-reduce of one pair."""

    nodes: Annotated[tuple[str, ...], _text("The two nodes.")]
    rate: Annotated[float | None, _text("Bus bandwidth in bytes a second; null if there is no right result.")] = None


class Links(msgspec.Struct, frozen=True, kw_only=True):
    """All-reduce between nodes."""

    backend: Annotated[str, _text("Of torch.distributed.", "nccl", "gloo")]
    nodes: Annotated[Nodes, _text("The nodes that took part.")]
    left_out: Annotated[Nodes, _text("Nodes that took no part, because PyTorch did not train there.")] = Nodes()
    pairs: Annotated[tuple[LinkRate, ...], _text("The pairs that were tried.")] = ()
    rate: Annotated[float | None, _text("Bus bandwidth among all nodes that are not to blame; null if there is no right result.")] = None
    faults: Annotated[tuple[LinkFault, ...], _text("What is slow or broken.")] = ()


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """A root cause in the history, over all nodes that have it, or that had it."""

    code: Code
    name: Name
    severity: SeverityWord
    present: Annotated[bool, _text("Whether it is in the newest reports of these nodes.")]
    nodes: Nodes
    first: Annotated[str, _text("When it was first seen: UTC, ISO 8601.", "2026-11-20T04:00:00Z")]
    last: Annotated[str, _text("When it was last seen: UTC, ISO 8601.", "2026-11-21T04:00:00Z")]
    reports: Annotated[int, _text("In how many reports.")]


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """What the reports of all nodes say together."""

    schema: Annotated[Literal["gpudoctor.fleet/1"], _text("The form of this document.")] = "gpudoctor.fleet/1"
    tool: Tool
    created: Annotated[str, _text("When the newest of the reports was made: UTC, ISO 8601; empty if there is none.")]
    verdict: Annotated[
        str, _text("Open: the worst verdict of a node, or what the requirements come to.", "ready", "degraded", "broken", "unknown")
    ]
    because: Annotated[str, _text("What decided it, in one sentence.")]
    exit_code: Annotated[int, _text("The exit code of the process.")]
    golden: Annotated[str, _text("The reference report that nodes were compared with; empty: the majority.")] = ""
    reports: Annotated[int, _text("How many reports were used.")] = 0
    verdicts: Annotated[tuple[Count, ...], _text("The nodes by verdict, the worst first.")] = ()
    hardware: Annotated[tuple[Hardware, ...], _text("The hardware groups, the largest first.")] = ()
    requirements: Annotated[tuple[Requirement, ...], _text("What --require asked for, in this order.")] = ()
    findings: Annotated[tuple[FindingGroup, ...], _text("Findings: roots first, then by severity and number of nodes.")] = ()
    drifts: Annotated[tuple[Drift, ...], _text("Facts that differ between nodes: those that rules read first.")] = ()
    figures: Annotated[tuple[Figure, ...], _text("Every measured figure.")] = ()
    outliers: Annotated[tuple[Outlier, ...], _text("Figures that are worse than those of their siblings, the worst first.")] = ()
    tools: Annotated[tuple[ToolVersion, ...], _text("The versions of gpudoctor that wrote the reports, the most frequent first.")] = ()
    unread: Annotated[Sequence[Unread], _text("What could not be read or was not used.")] = ()
    usable: Annotated[Nodes, _text("The nodes to train on.")] = Nodes()
    unusable: Annotated[Nodes, _text("The nodes to leave out.")] = Nodes()
    nodes: Annotated[Sequence[Node], _text("Every node, in natural order.")] = ()
    links: Annotated[Links | None, _text("All-reduce between nodes; null if it was not run.")] = None
    history: Annotated[
        tuple[Sighting, ...], _text("Since when each finding is there, then those that are gone; empty without --history.")
    ] = ()
