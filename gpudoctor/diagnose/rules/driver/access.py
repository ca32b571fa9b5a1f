"""GD2: a driver that is there and cannot be used: permissions, hangs, failing initialisation."""

from __future__ import annotations

from gpudoctor.snapshot import Node

_NEEDED_NODES = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/dxg")


def is_needed(node: Node) -> bool:
    """Whether a program needs this device file to compute on a GPU."""
    return node.path in _NEEDED_NODES or node.path.removeprefix("/dev/nvidia").isdigit()
