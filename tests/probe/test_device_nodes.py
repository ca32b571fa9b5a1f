"""The files under /dev."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from gpudoctor.probe.device_nodes import device_nodes
from gpudoctor.snapshot import Cause, DeviceNodes, Missing
from tests.probe.places import plant


def at(root: str) -> DeviceNodes:
    found = device_nodes(root)
    assert isinstance(found, DeviceNodes)
    return found


def test_files_that_count(tmp_path: Path) -> None:
    names = ("nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-caps/nvidia-cap1", "dxg", "nvhost-gpu", "null", "sda")
    found = at(plant(tmp_path, {f"/dev/{name}": "" for name in names}))
    assert [node.path for node in found.nodes] == [
        "/dev/dxg", "/dev/nvhost-gpu", "/dev/nvidia-caps/nvidia-cap1", "/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidiactl",
    ]  # fmt: skip


def test_mode_owner_and_group(tmp_path: Path) -> None:
    root = plant(tmp_path, {"/dev/nvidia0": "", "/etc/group": f"broken\nvideo:x:{os.getegid()}:alice\n"})
    (tmp_path / "dev/nvidia0").chmod(0o660)
    (node,) = at(root).nodes
    assert (node.mode, node.uid, node.gid, node.group, node.accessible) == ("0660", os.geteuid(), os.getegid(), "video", True)
    assert isinstance(node.major, Missing)


def test_a_real_character_device_has_numbers(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidiactl").symlink_to("/dev/null")
    (node,) = at(str(tmp_path)).nodes
    assert (node.major, node.minor) == (1, 3)


def test_a_dangling_link_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidia0").symlink_to("nowhere")
    (tmp_path / "dev/nvidia1").symlink_to("nvidia1")
    gone, loop = at(str(tmp_path)).nodes
    assert isinstance(gone.accessible, Missing)
    assert gone.accessible.cause is Cause.ABSENT
    assert isinstance(loop.accessible, Missing)
    assert loop.accessible.cause is Cause.FAILED


def test_files_that_an_ordinary_user_may_open() -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own is closed to others
        root = plant(Path(folder), {"/dev/nvidia0": "", "/dev/nvidia1": ""})
        for path, mode in ((".", 0o755), ("dev", 0o755), ("dev/nvidia0", 0o000), ("dev/nvidia1", 0o666)):
            (Path(folder) / path).chmod(mode)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            nodes = at(root).nodes
        finally:
            os.seteuid(user)
    assert [node.accessible for node in nodes] == [False, True]


def test_no_device_file_is_absent(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    found = device_nodes(str(tmp_path))
    assert isinstance(found, Missing)
    assert found.cause is Cause.ABSENT
