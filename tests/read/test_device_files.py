"""`ls /dev/nvidia*`, `id` and `groups`, and the causes that they decide."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import DeviceNodes, Missing
from tests.read.mangled import mangled
from tests.read.reading import causes, is_read_or_refused, read

LS = """\
$ ls -l /dev/nvidia*
crw-rw-rw- 1 root root 195,   0 Mar  3 08:12 /dev/nvidia0
crw-rw-rw- 1 root root 195, 255 Mar  3 08:12 /dev/nvidiactl
crw-rw-rw- 1 root root 195, 254 Mar  3 08:12 /dev/nvidia-modeset
crw-rw-rw- 1 root root 508,   0 Mar  3 08:12 /dev/nvidia-uvm
crw-rw-rw- 1 root root 508,   1 Mar  3 08:12 /dev/nvidia-uvm-tools
"""
SHUT = LS.replace("rw-rw-rw- 1 root root ", "rw-rw---- 1 root video ")
STRANGER = "uid=1003(mia) gid=1003(mia) groups=1003(mia),27(sudo),998(docker)\n"
MEMBER = "uid=1003(mia) gid=1003(mia) groups=1003(mia),44(video)\n"
UNKNOWN = "RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment\n"
NO_DEVICE = "RuntimeError: No CUDA GPUs are available\n"
WITHOUT_UVM = "".join(line + "\n" for line in LS.splitlines() if "uvm" not in line)


def nodes(text: str, matrix: Matrix) -> DeviceNodes | Missing:
    return read(text, matrix).device_nodes


def test_both_forms_of_a_list_are_read(matrix: Matrix) -> None:
    long, short = nodes(LS, matrix), nodes("/dev/nvidia0  /dev/nvidiactl\n/dev/nvidia-uvm\n", matrix)
    assert isinstance(long, DeviceNodes)
    assert isinstance(short, DeviceNodes)
    assert [node.path for node in short.nodes] == ["/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidiactl"]
    first = next(node for node in long.nodes if node.path == "/dev/nvidia0")
    assert (first.mode, first.major, first.minor, first.group, first.accessible) == ("0666", 195, 0, "root", True)


def test_a_list_of_some_files_is_not_the_list_of_all(matrix: Matrix) -> None:
    assert isinstance(nodes("crw-rw-rw- 1 root root 195,   0 Mar  3 08:12 /dev/nvidia0\nPyTorch version: 2.5.1\n", matrix), Missing)
    contradicting = nodes(LS + "ls: cannot access '/dev/nvidia*': No such file or directory\n", matrix)
    assert isinstance(contradicting, Missing)
    assert nodes("ls: cannot access '/dev/nvidia*': No such file or directory\n", matrix) == DeviceNodes(())


CASES = (
    ("device-permission-denied", SHUT + STRANGER + NO_DEVICE),
    ("device-permission-denied", SHUT.replace("video", "render") + MEMBER + NO_DEVICE),
    ("device-permission-denied", "$ groups\nmia docker\n" + SHUT),
    ("device-permission-denied", SHUT + NO_DEVICE),
    ("device-permission-denied", "crw-r----- 1 root gpu 195, 255 Jan 5 10:11 /dev/nvidiactl; crw-r----- 1 root gpu 195, 0 Jan 5 10:11 /dev/nvidia0.\n" + NO_DEVICE),
    ("device-permission-denied", "$ stat -c '%A %U:%G %n' /dev/nvidia*\ncrw------- root:root /dev/nvidia0\ncrw------- root:root /dev/nvidiactl\n" + NO_DEVICE),
    ("uvm-not-loaded", WITHOUT_UVM + UNKNOWN),
)  # fmt: skip


@pytest.mark.parametrize(("cause", "text"), CASES)
def test_the_files_decide(cause: str, text: str, matrix: Matrix) -> None:
    assert causes(text, matrix)[:1] == [cause]


@pytest.mark.parametrize("text", [LS, SHUT, SHUT + MEMBER, LS + STRANGER, WITHOUT_UVM, "$ groups\nmia video\n" + SHUT])
def test_a_healthy_list_has_no_finding(text: str, matrix: Matrix) -> None:
    assert causes(text, matrix) == []


def test_files_that_are_there_exclude_a_cause(matrix: Matrix) -> None:
    assert causes(LS + UNKNOWN + "nvidia  56844288  163 nvidia_uvm,nvidia_modeset\n", matrix) != ["uvm-not-loaded"]


@given(data=st.data())
def test_any_part_in_any_order_is_read(data: st.DataObject, matrix: Matrix) -> None:
    assert is_read_or_refused(data.draw(mangled(LS + SHUT + STRANGER + "$ groups\nmia video\n" + UNKNOWN)), matrix)
