"""The usable nodes of a fleet as schedulers take them: a hostfile, a Slurm node list, labels for Kubernetes. Text only; nothing is run."""

from __future__ import annotations

import re

import msgspec

from gpudoctor.report.fleet import Fleet, Node

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
LABEL = "gpudoctor/verdict"


def hostfile(fleet: Fleet) -> str:
    """Return one usable node a line, as mpirun, torchrun launchers and pdsh read it."""
    return "".join(f"{name}\n" for name in fleet.usable.names if is_plain(name))


def node_list(fleet: Fleet) -> str:
    """Return the usable nodes in one line, as `srun --nodelist` and `scontrol` take them."""
    return f"{fleet.usable.folded}\n" if all(map(is_plain, fleet.usable.names)) else hostfile(fleet).strip().replace("\n", ",") + "\n"


def labels(fleet: Fleet) -> str:
    """Return a patch for each node as YAML documents, for `kubectl apply --server-side -f FILE`."""
    return "".join(_patch(node) for node in fleet.nodes if is_plain(node.name))


def _patch(node: Node) -> str:
    wanted = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": {LABEL: node.verdict, "gpudoctor/usable": "true" if node.usable else "false"}},
    }
    return f"---\n{msgspec.json.format(msgspec.json.encode(wanted), indent=2).decode()}\n"


def is_plain(name: str) -> bool:
    """Return whether a hostlist, a shell and a scheduler all take a name as it is."""
    return _NAME.fullmatch(name) is not None
