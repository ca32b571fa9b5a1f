"""The driver's device files: their names, and what denies the user access, permission bits or a control group."""

from __future__ import annotations

from gpudoctor.snapshot import DeviceNodes, Host, Missing, Node, is_absent

CONTROL_FILE, UVM_FILE = "/dev/nvidiactl", "/dev/nvidia-uvm"
_SHARED_BY_GPUS = (CONTROL_FILE, UVM_FILE, "/dev/dxg")


def is_gpu_node(path: str) -> bool:
    """Whether a device file is one GPU's own, /dev/nvidiaN."""
    return path.removeprefix("/dev/nvidia").isdecimal()


def is_used_to_compute(node: Node) -> bool:
    """Whether a program opens this device file to compute on a GPU."""
    return node.path in _SHARED_BY_GPUS or is_gpu_node(node.path)


def is_plain_file(node: Node) -> bool:
    """Whether this is an ordinary file, in spite of its name."""
    return is_absent(node.major)


def is_withheld(node: Node, host: Host | Missing) -> bool:
    """Whether the kernel refuses a device file that the permission bits allow.

    The kernel's answer to access(2) includes device control groups, which container runtimes and schedulers use to deny what they did not
    allocate; the permission bits do not.
    """
    if node.accessible is not False or not isinstance(node.mode, str) or isinstance(node.major, Missing) or isinstance(host, Missing):
        return False
    try:
        mode = int(node.mode, 8)
    except ValueError:
        return False
    groups = host.gids if isinstance(host.gids, tuple) else ()
    shift = 6 if node.uid == host.uid else 3 if node.gid in groups else 0
    return mode >> shift & 0o6 == 0o6


def are_all_withheld(nodes: DeviceNodes | Missing, host: Host | Missing) -> bool:
    """Whether GPUs have device files and the kernel refuses every one of them in this way."""
    own = [node for node in nodes.nodes if is_gpu_node(node.path)] if isinstance(nodes, DeviceNodes) else []
    return bool(own) and all(is_withheld(node, host) for node in own)
