"""The files under /dev through which programs use the driver, and whether this user may open them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from gpudoctor.probe import files, host
from gpudoctor.snapshot import Cause, DeviceNodes, Missing, Node, printable_text

NODE_PREFIXES = ("nvidia", "nvhost", "nvmap", "nvgpu")
"""nvhost, nvmap and nvgpu are Jetson's; nvidia-caps holds the nodes of MIG instances."""
NODE_NAMES = ("dxg",)
"""How WSL programs use the Windows driver."""


def device_nodes(root: str) -> DeviceNodes | Missing:
    """The nodes by name; absent if there are none."""
    present = files.list_folder("/dev", root)
    if isinstance(present, Missing):
        return present
    paths = [f"/dev/{name}" for name in present if name.startswith(NODE_PREFIXES) or name in NODE_NAMES]
    if not paths:
        return Missing(Cause.ABSENT, "/dev has no nvidia*, nvhost* or dxg")
    groups = host.names_by_id(root, "group")
    return DeviceNodes(nodes=tuple(_device_node(root, path, groups) for path in _paths_without_folders(root, paths)))


def _paths_without_folders(root: str, paths: list[str]) -> Iterator[str]:
    """The paths, with each folder replaced by its content."""
    for path in paths:
        place = files.path_in_tree(root, path)
        if os.path.isdir(place) and not os.path.islink(place):
            yield from (f"{path}/{name}" for name in files.entries_or_empty(place))
        else:
            yield path


def _device_node(root: str, path: str, groups: dict[int, str]) -> Node:
    place = files.path_in_tree(root, path)
    try:
        status = os.stat(place)
    except OSError as error:
        gone = files.missing_file(path, error)
        return Node(path=printable_text(path), mode=gone, uid=gone, gid=gone, group=gone, major=gone, minor=gone, accessible=gone)
    is_device = stat.S_ISCHR(status.st_mode)
    plain = Missing(Cause.ABSENT, "not a character device")
    return Node(
        path=printable_text(path),
        mode=f"{stat.S_IMODE(status.st_mode):04o}",
        uid=status.st_uid,
        gid=status.st_gid,
        group=groups.get(status.st_gid) or Missing(Cause.ABSENT, f"/etc/group has no group {status.st_gid}"),
        major=os.major(status.st_rdev) if is_device else plain,
        minor=os.minor(status.st_rdev) if is_device else plain,
        # the kernel's answer, which includes access lists, capabilities and device control groups
        accessible=os.access(place, os.R_OK | os.W_OK, effective_ids=True),
    )
