"""The document gpudoctor.fleet/1: what the reports of many machines say together.

Fields are only ever added. Words (verdicts, kinds) are open: a reader must accept one that it does not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from gpudoctor.report.model import Code, Name, SeverityWord, Tool
from gpudoctor.schema_fields import FORM, means

VerdictWord = Annotated[
    str, means("Open: the node's own verdict; no-report if it sent none.", "ready", "degraded", "broken", "unknown", "no-report")
]


class Nodes(msgspec.Struct, frozen=True):
    """Some nodes of the fleet."""

    count: Annotated[int, means("How many there are.")] = 0
    folded: Annotated[str, means("All of them as a hostlist, which Slurm, pdsh and ClusterShell read.", "gpu[001-040,043]")] = ""
    names: Annotated[Sequence[str], means("The same, one by one, in natural order.")] = ()


class NodeFinding(msgspec.Struct, frozen=True):
    """A root cause on one node."""

    id: Annotated[str, means("The finding's id in the node's report.", "GD103:0000:1f:00.0")]
    name: Name
    severity: SeverityWord


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One node and what is known of it."""

    name: Annotated[str, means("Its name: the report's host name, or the name of the file.", "gpu001")]
    verdict: VerdictWord
    exit_code: Annotated[int | None, means("The exit code of its check; null if it sent no report.")] = None
    usable: Annotated[bool, means("Whether it is among the usable nodes.")] = False
    hardware: Annotated[str, means("The hardware group that it belongs to; empty if it sent no report.", "8 × NVIDIA H100 80GB HBM3")] = ""  # noqa: RUF001 -- typography
    created: Annotated[str, means("When it was examined: UTC, ISO 8601; empty if it sent no report.", "2026-11-21T04:00:00Z")] = ""
    source: Annotated[str, means("The file that the report was in.", "reports/gpu001.json")] = ""
    reason: Annotated[str, means("Why there is no report; else empty.", "no answer in 600 s")] = ""
    findings: Annotated[tuple[NodeFinding, ...], means("Its root causes, errors and warnings, the worst first.")] = ()
    drifts: Annotated[tuple[int, ...], means("The drifts that it is in the minority of: their places in `drifts`.")] = ()
    outliers: Annotated[int, means("How many of its figures are outliers.")] = 0


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """An input without a report in it, or whose report was not used."""

    source: Annotated[str, means("The file, or the file and the member or line within it.", "all.tar.gz: gpu009.json")]
    kind: Annotated[str, means("Open.", "broken", "duplicate", "too-large", "not-a-report", "no-report")]
    reason: Annotated[str, means("One sentence.")]
    node: Annotated[str, means("The node, if that is known.")] = ""


class Wording(msgspec.Struct, frozen=True):
    """One message of a finding and the nodes that have it."""

    message: Annotated[str, means("What is wrong there, with the values that were seen.")]
    nodes: Nodes


class FindingGroup(msgspec.Struct, frozen=True, kw_only=True):
    """One finding on all nodes that have it."""

    code: Code
    name: Name
    severity: SeverityWord
    title: Annotated[str, means("What is wrong, in general.")]
    root: Annotated[bool, means("Whether no other finding of the node explains it.")]
    nodes: Nodes
    gpus: Annotated[int, means("How many GPUs it is about; 0 if it is not about single GPUs.")] = 0
    exceptions: Annotated[Nodes, means("The nodes without it, if most nodes have it.")] = Nodes()
    wordings: Annotated[
        tuple[Wording, ...], means("Its messages, the most frequent first. Addresses and indexes of GPUs are left out.")
    ] = ()
    fix: Annotated[str, means("The first step, in words, as most nodes have it.")] = ""
    command: Annotated[str, means("That step as a command; empty if it is none.")] = ""
    fix_kind: Annotated[str, means("What that step does. Open: check only gathers information.", "fix", "check")] = ""
    url: Annotated[str, means("The rule's page.")] = ""


class Deviation(msgspec.Struct, frozen=True, kw_only=True):
    """A value that differs from what most nodes have, or from the reference."""

    value: Annotated[str, means("In words; empty: not there.", "550.127.05")]
    line: Annotated[str, means("All of it in one line.", "driver 550.163.01 → 550.127.05")]
    nodes: Nodes
    gpus: Annotated[int, means("How many GPUs have it; 0 if it is not about single GPUs.")] = 0


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """A fact that is not the same on all nodes of the same hardware."""

    path: Annotated[str, means("Its field in the snapshot, as --ignore takes it.", "kernel_driver.version.value")]
    hardware: Annotated[str, means("The hardware group that is compared.")]
    what: Annotated[str, means("The fact, in words.", "driver")]
    expected: Annotated[str, means("What most nodes have, or the reference; empty: it is not there.", "550.163.01")]
    agreeing: Annotated[int, means("How many nodes have that.")]
    of: Annotated[int, means("How many nodes were compared.")]
    deviations: Annotated[tuple[Deviation, ...], means("The other values, the most frequent first.")]
    read_by_rules: Annotated[bool, means("Whether a rule reads it.")]
    split: Annotated[bool, means("Whether no value is on more than half of the nodes; `expected` is then the most frequent one.")] = False
    also: Annotated[tuple[str, ...], means("Paths of what differs because of this.")] = ()


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A measured figure over all GPUs of one model."""

    name: Annotated[str, means("What was measured.", "torch matmul fp16, size 8192")]
    model: Annotated[str, means("The GPUs that are compared.", "NVIDIA H100 80GB HBM3")]
    unit: Annotated[str, means("Open.", "FLOP/s", "B/s", "images/s", "s")]
    count: Annotated[int, means("How many GPUs have it.")]
    median: Annotated[float, means("The median over these GPUs.")]
    spread: Annotated[float, means("The standard deviation that the median absolute deviation stands for.")]
    limit: Annotated[float | None, means("A GPU beyond this is an outlier; null if there are too few GPUs to compare.")]
    outliers: Annotated[int, means("How many GPUs are beyond the limit.")] = 0


class Outlier(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU whose figure is worse than those of its siblings."""

    node: Annotated[str, means("The node.", "gpu001")]
    gpu: Annotated[str, means("Its PCI address; empty if the figure is one of the whole node.", "0000:1f:00.0")]
    figure: Annotated[int, means("Its place in `figures`.")]
    value: Annotated[float, means("What was measured, in the figure's unit.")]
    difference: Annotated[float, means("From the median, as a part of the median.", -0.08)]
    cause: Annotated[str, means("The id of the finding on the same node that explains it; empty if none does.", "GD712:0000:1f:00.0")] = ""
    message: Annotated[str, means("That finding's title.")] = ""


class Hardware(msgspec.Struct, frozen=True):
    """Nodes with the same GPUs, which are compared with each other."""

    name: Annotated[str, means("Its GPUs; the number is what most nodes have.", "8 × NVIDIA H100 80GB HBM3")]  # noqa: RUF001 -- typography
    nodes: Nodes
    gpus: Annotated[int, means("How many GPUs these nodes have together.")]


class Requirement(msgspec.Struct, frozen=True):
    """What --require asked for."""

    text: Annotated[str, means("As on the command line.", "nodes>=32", "same:driver")]
    met: Annotated[bool | None, means("null: it could not be checked.")]
    reason: Annotated[str, means("What was seen.", "31 nodes are usable")]


class ToolVersion(msgspec.Struct, frozen=True):
    """A version of gpudoctor and the nodes whose reports it wrote."""

    version: Annotated[str, means("The version.", "0.1.0")]
    nodes: Nodes


class Count(msgspec.Struct, frozen=True):
    """How many nodes have a verdict."""

    verdict: VerdictWord
    nodes: Nodes


class LinkFault(msgspec.Struct, frozen=True, kw_only=True):
    """A node, or a link between two, whose all-reduce is slow or fails."""

    kind: Annotated[str, means("Open. broken: it hangs, fails or gives wrong sums.", "broken", "slow")]
    nodes: Annotated[
        tuple[str, ...], means("One node, the two ends of a link, or a group that fails although each part of it works alone.")
    ]
    message: Annotated[str, means("What was seen, as a clause.")]
    rate: Annotated[float | None, means("Bus bandwidth in bytes a second; null if there is no right result.")] = None


class LinkRate(msgspec.Struct, frozen=True):
    """The all-reduce of one pair."""

    nodes: Annotated[tuple[str, ...], means("The two nodes.")]
    rate: Annotated[float | None, means("Bus bandwidth in bytes a second; null if there is no right result.")] = None


class Links(msgspec.Struct, frozen=True, kw_only=True):
    """All-reduce between nodes."""

    backend: Annotated[str, means("Of torch.distributed.", "nccl", "gloo")]
    nodes: Annotated[Nodes, means("The nodes that took part.")]
    left_out: Annotated[Nodes, means("Nodes that took no part, because PyTorch did not train there.")] = Nodes()
    pairs: Annotated[tuple[LinkRate, ...], means("The pairs that were tried.")] = ()
    rate: Annotated[float | None, means("Bus bandwidth among all nodes that are not to blame; null if there is no right result.")] = None
    faults: Annotated[tuple[LinkFault, ...], means("What is slow or broken.")] = ()


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """A root cause in the history, over all nodes that have it, or that had it."""

    code: Code
    name: Name
    severity: SeverityWord
    present: Annotated[bool, means("Whether it is in the newest reports of these nodes.")]
    nodes: Nodes
    first: Annotated[str, means("When it was first seen: UTC, ISO 8601.", "2026-11-20T04:00:00Z")]
    last: Annotated[str, means("When it was last seen: UTC, ISO 8601.", "2026-11-21T04:00:00Z")]
    reports: Annotated[int, means("In how many reports.")]


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """What the reports of all nodes say together."""

    schema: Annotated[Literal["gpudoctor.fleet/1"], FORM] = "gpudoctor.fleet/1"
    tool: Tool
    created: Annotated[str, means("When the newest of the reports was made: UTC, ISO 8601; empty if there is none.")]
    verdict: Annotated[
        str, means("Open: the worst verdict of a node, or what the requirements come to.", "ready", "degraded", "broken", "unknown")
    ]
    because: Annotated[str, means("What decided it, in one sentence.")]
    exit_code: Annotated[int, means("The exit code of the process.")]
    golden: Annotated[str, means("The reference report that nodes were compared with; empty: the majority.")] = ""
    reports: Annotated[int, means("How many reports were used.")] = 0
    verdicts: Annotated[tuple[Count, ...], means("The nodes by verdict, the worst first.")] = ()
    hardware: Annotated[tuple[Hardware, ...], means("The hardware groups, the largest first.")] = ()
    requirements: Annotated[tuple[Requirement, ...], means("What --require asked for, in this order.")] = ()
    findings: Annotated[tuple[FindingGroup, ...], means("Findings: roots first, then by severity and number of nodes.")] = ()
    drifts: Annotated[tuple[Drift, ...], means("Facts that differ between nodes: those that rules read first.")] = ()
    figures: Annotated[tuple[Figure, ...], means("Every measured figure.")] = ()
    outliers: Annotated[tuple[Outlier, ...], means("Figures that are worse than those of their siblings, the worst first.")] = ()
    tools: Annotated[tuple[ToolVersion, ...], means("The versions of gpudoctor that wrote the reports, the most frequent first.")] = ()
    unread: Annotated[Sequence[Unread], means("What could not be read or was not used.")] = ()
    usable: Annotated[Nodes, means("The nodes to train on.")] = Nodes()
    unusable: Annotated[Nodes, means("The nodes to leave out.")] = Nodes()
    nodes: Annotated[Sequence[Node], means("Every node, in natural order.")] = ()
    links: Annotated[Links | None, means("All-reduce between nodes; null if it was not run.")] = None
    history: Annotated[
        tuple[Sighting, ...], means("Since when each finding is there, then those that are gone; empty without --history.")
    ] = ()
