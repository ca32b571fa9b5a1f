"""Device files by name, and what denies them: permission bits, or a control group behind their back."""

from __future__ import annotations

import pytest

from gpudoctor.derive.device_nodes import are_all_withheld, is_gpu_node, is_plain_file, is_used_to_compute, is_withheld
from gpudoctor.snapshot import Cause, DeviceNodes, Host, Missing, Node

ME = Host(uid=1000, gids=(1000, 44))
UNREAD = Missing(Cause.DENIED, "permission denied")


def node(mode: str | Missing, uid: int = 0, gid: int = 0, *, accessible: bool | Missing = False, path: str = "/dev/nvidia0") -> Node:
    return Node(path, mode=mode, uid=uid, gid=gid, accessible=accessible, major=195)


@pytest.mark.parametrize(
    ("mode", "uid", "gid", "allowed"),
    [
        ("0666", 0, 0, True),
        ("0660", 0, 0, False),
        ("0660", 0, 44, True),
        ("0606", 0, 44, False),
        ("0640", 0, 44, False),
        ("0620", 0, 44, False),
        ("0600", 1000, 0, True),
        ("0066", 1000, 44, False),
        ("0060", 0, 1000, True),
        ("0006", 0, 0, True),
        ("0004", 0, 0, False),
        ("0002", 0, 0, False),
        ("0777", 1000, 1000, True),
        ("none", 0, 0, False),
    ],
)
def test_a_file_is_withheld_if_its_bits_allow_what_the_kernel_denies(mode: str, uid: int, gid: int, allowed: bool) -> None:
    """The bits of the owner count for the owner alone, those of the group for its members, the last for everyone else."""
    assert is_withheld(node(mode, uid, gid), ME) is allowed
    assert not is_withheld(node(mode, uid, gid, accessible=True), ME)
    assert not is_withheld(node(mode, uid, gid, accessible=UNREAD), ME)


def test_an_unknown_mode_user_or_number_is_no_sign_of_withholding() -> None:
    assert not is_withheld(node(UNREAD), ME)
    assert not is_withheld(node("0666"), UNREAD)
    assert not is_withheld(Node("/dev/nvidia0", mode="0666", uid=0, gid=0, accessible=False, major=UNREAD), ME)
    assert is_withheld(node("0666"), Host(uid=1000, gids=UNREAD))
    assert not is_withheld(node("0660", gid=44), Host(uid=1000, gids=UNREAD))


def test_all_are_withheld_only_if_there_are_any_and_each_gpu_s_own_is() -> None:
    def all_of(*some: Node) -> bool:
        return are_all_withheld(DeviceNodes(some), ME)

    denied, given = node("0666"), node("0666", accessible=True, path="/dev/nvidia1")
    control = node("0666", accessible=True, path="/dev/nvidiactl")
    assert all_of(denied, node("0666", path="/dev/nvidia1"), control)
    assert not all_of(denied, given)
    assert not all_of(control)
    assert not are_all_withheld(UNREAD, ME)


@pytest.mark.parametrize(
    ("path", "own", "used"),
    [
        ("/dev/nvidia0", True, True),
        ("/dev/nvidia15", True, True),
        ("/dev/nvidiactl", False, True),
        ("/dev/nvidia-uvm", False, True),
        ("/dev/dxg", False, True),
        ("/dev/nvidia-uvm-tools", False, False),
        ("/dev/nvidia-modeset", False, False),
        ("/dev/nvidia", False, False),
    ],
)
def test_which_files_a_program_opens_to_compute(path: str, own: bool, used: bool) -> None:
    assert (is_gpu_node(path), is_used_to_compute(node("0666", path=path))) == (own, used)


def test_a_plain_file_is_no_device() -> None:
    assert is_plain_file(Node("/dev/nvidia0", major=Missing(Cause.ABSENT, "a plain file")))
    assert not is_plain_file(Node("/dev/nvidia0", major=UNREAD))
    assert not is_plain_file(node("0666"))
