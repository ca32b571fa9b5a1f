"""Runs all-reduce among groups of nodes, each group with the target's own torch.distributed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from gpudoctor.fleet.links import NodeNames, Trial
from gpudoctor.on_ray.cluster import Cluster, NodeAnswer, NodeTask, RayNode
from gpudoctor.on_ray.rank import RankResult
from gpudoctor.typed_values import from_json

_RANK_MODULE = "gpudoctor.on_ray.rank"
STALL_SECONDS = 60.0
"""Seconds without a response after which an all-reduce hangs; connecting takes seconds."""
_START_SECONDS = 120.0
"""Seconds that a task and the import of PyTorch may take in addition."""


class AllReduces:
    """Runs all-reduces on some nodes of a cluster, with the interpreter `python`."""

    def __init__(self, cluster: Cluster, nodes: Mapping[str, RayNode], python: str, stall: float = STALL_SECONDS) -> None:
        self._cluster, self._nodes, self._python, self._stall = cluster, nodes, python, stall
        self._on_gpus = all(node.gpus for node in nodes.values())

    @property
    def backend(self) -> str:
        """The backend of torch.distributed: NCCL if all nodes have a GPU."""
        return "nccl" if self._on_gpus else "gloo"

    def __call__(self, groups: Sequence[NodeNames]) -> list[Trial]:
        """Run one all-reduce in each group, all at the same time."""
        ports = self._ports(groups)
        works = [work for group in groups if group in ports for work in self._ranks(group, ports[group])]
        answers: dict[NodeNames, list[NodeAnswer]] = defaultdict(list)
        group_of = {node: group for group in groups for node in group}
        for answer in self._cluster.run(works, self._stall + _START_SECONDS):
            answers[group_of[answer.work.node.name]].append(answer)
        return [
            _trial_of_answers(group, answers[group]) if group in ports else Trial(group, f"{group[0]} did not answer") for group in groups
        ]

    def _ports(self, groups: Sequence[NodeNames]) -> dict[NodeNames, int]:
        """Return for each group a port at which its first node can be met."""
        first = {group[0]: group for group in groups}
        works = [NodeTask(self._nodes[name], _RANK_MODULE, ("meet", self._nodes[name].address)) for name in first]
        found = self._cluster.run(works, _START_SECONDS)
        return {first[answer.work.node.name]: int(answer.output) for answer in found if not answer.silence and answer.output.isdigit()}

    def _ranks(self, group: NodeNames, port: int) -> list[NodeTask]:
        store, device = f"tcp://{_bracketed_host(self._nodes[group[0]].address)}:{port}", "0" if self._on_gpus else "cpu"
        return [
            NodeTask(
                node,
                _RANK_MODULE,
                (self._python, device, node.address, f"{number}/{len(group)}", store, str(self._stall)),
                gpus=1.0 if self._on_gpus else 0.0,
            )
            for number, node in enumerate(self._nodes[name] for name in group)
        ]


def _bracketed_host(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _trial_of_answers(group: NodeNames, answers: Sequence[NodeAnswer]) -> Trial:
    ranks = {answer.work.node.name: _rank_result(answer) for answer in answers}
    troubles = sorted((rank.hung, f"{name}: {rank.trouble}") for name, rank in ranks.items() if rank.trouble)
    if troubles:
        return Trial(group, troubles[0][1])  # one that failed says more than those that waited for it
    wrong = [name for name, rank in ranks.items() if any(error for part in rank.parts for error in part.errors.values())]
    if wrong:
        return Trial(group, f"wrong sums on {', '.join(sorted(wrong))}")
    size, seconds = max((part.size, float(part.seconds)) for rank in ranks.values() for part in rank.parts)
    return Trial(group, rate=2 * (len(group) - 1) / len(group) * size / seconds)


def _rank_result(answer: NodeAnswer) -> RankResult:
    if answer.silence:
        return RankResult(trouble=answer.silence, hung=True)
    try:
        found = from_json(answer.output, RankResult)
        return found if found.parts or found.trouble else RankResult(trouble="it ended without a result")
    except msgspec.MsgspecError:
        last = answer.errors.decode("utf-8", "backslashreplace").strip().rpartition("\n")[2]
        return RankResult(trouble=f"gpudoctor ended with status {answer.code} ({last})")
