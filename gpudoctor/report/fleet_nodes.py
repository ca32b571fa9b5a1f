"""The usable nodes of a fleet as schedulers take them: a hostfile, a Slurm node list, labels for Kubernetes. Text only; nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from gpudoctor.report.fleet import Fleet, Node

_PLAIN_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
VERDICT_LABEL = "gpudoctor/verdict"


def hostfile(fleet: Fleet) -> Iterator[str]:
    """Yield one usable node a line, as mpirun, torchrun launchers and pdsh read it."""
    return (f"{name}\n" for name in fleet.usable.names if is_plain_name(name))


def node_list(fleet: Fleet) -> Iterator[str]:
    """Yield the usable nodes in one line, as `srun --nodelist` and `scontrol` take them."""
    names = fleet.usable.names
    yield fleet.usable.folded if all(map(is_plain_name, names)) else ",".join(filter(is_plain_name, names))
    yield "\n"


def labels(fleet: Fleet) -> Iterator[str]:
    """Yield a patch for each node as a YAML document, for `kubectl apply --server-side -f FILE`."""
    return (_node_patch(node) for node in fleet.nodes if is_plain_name(node.name))


def _node_patch(node: Node) -> str:
    wanted = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": {VERDICT_LABEL: node.verdict, "gpudoctor/usable": "true" if node.usable else "false"}},
    }
    return f"---\n{msgspec.json.format(msgspec.json.encode(wanted), indent=2).decode()}\n"


def is_plain_name(name: str) -> bool:
    """Return whether a hostlist, a shell and a scheduler all take a name as it is."""
    return _PLAIN_NAME.fullmatch(name) is not None
