from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.probe import kernel_log
from gpudoctor.process import Supervisor
from gpudoctor.snapshot import Cause, KernelLog, Missing
from tests.probe.places import plant

RECORD = "3,{number},{microseconds},-;{text}\n"


def log_of(tmp_path: Path, *texts: str, uptime: float = 100.0) -> KernelLog:
    records = "".join(RECORD.format(number=n, microseconds=n * 1_000_000, text=text) for n, text in enumerate(texts))
    root = plant(tmp_path, {"/dev/kmsg": records, "/proc/uptime": f"{uptime} 5.0\n"})
    found = kernel_log.kernel_log(root)
    assert isinstance(found, KernelLog)
    return found


def test_an_xid_is_read_with_address_text_and_age(tmp_path: Path) -> None:
    found = log_of(tmp_path, "usb 1-1: new device", "NVRM: Xid (PCI:0000:3B:00): 79, pid=1896, GPU has fallen off the bus.", uptime=61)
    (event,) = found.events
    assert (event.code, event.address, event.text) == (79, "0000:3b:00.0", "pid=1896, GPU has fallen off the bus.")
    assert (event.switch, event.age) == (False, 60.0)
    assert found.lines == ()
    assert found.cut is False


@pytest.mark.parametrize(
    ("text", "address", "code", "switch"),
    [
        ("NVRM: Xid (0000:03:00): 14, Channel 00000001", "0000:03:00.0", 14, False),
        ("NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel (0x9).", "0000:01:00.0", 94, False),
        ("NVRM: Xid (PCI:10000:01:00): 154", "10000:01:00.0", 154, False),
        ("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress", "0000:05:00.0", 12028, True),
    ],
)
def test_formats_of_an_xid(tmp_path: Path, text: str, address: str, code: int, *, switch: bool) -> None:
    (event,) = log_of(tmp_path, text).events
    assert (event.address, event.code, event.switch) == (address, code, switch)


def test_an_invalid_address_is_reported(tmp_path: Path) -> None:
    (event,) = log_of(tmp_path, "NVRM: Xid (PCI:zz): 79, gone", "NVRM: Xid (PCI:0:0:0:0:0): 31, x").events
    assert isinstance(event.address, Missing)
    assert event.code == 31


def test_a_sentence_over_several_lines_is_joined(tmp_path: Path) -> None:
    text = "NVRM: The NVIDIA GPU 0000:17:00.0 (PCI ID: 10de:1bb3)\\x0aNVRM: installed in this system is not supported by open\\x0aNVRM: nvidia.ko."
    assert log_of(tmp_path, text).lines == (
        "NVRM: The NVIDIA GPU 0000:17:00.0 (PCI ID: 10de:1bb3) installed in this system is not supported by open nvidia.ko.",
    )


def test_serial_numbers_are_removed(tmp_path: Path) -> None:
    found = log_of(tmp_path, "NVRM: GPU Board Serial Number: 1650124014249", "NVRM: loading NVIDIA UNIX x86_64 Kernel Module")
    assert found.lines == ("NVRM: loading NVIDIA UNIX x86_64 Kernel Module",)


def test_the_first_and_last_of_many_events_are_kept(tmp_path: Path) -> None:
    found = log_of(tmp_path, *(f"NVRM: Xid (PCI:0000:01:00): 31, number {n}" for n in range(90)), *["NVRM: the same"] * 50)
    assert [event.text for event in found.events] == [f"number {n}" for n in (0, 1, 87, 88, 89)]
    assert found.lines == ("NVRM: the same",)


def test_a_truncated_log_is_marked(tmp_path: Path) -> None:
    found = log_of(tmp_path, *(f"NVRM: line {n}" for n in range(kernel_log.MAX_LINES + 7)))
    assert len(found.lines) == kernel_log.MAX_LINES
    assert found.lines[-1] == f"NVRM: line {kernel_log.MAX_LINES + 6}"
    assert found.cut


def test_a_log_without_a_gpu_is_empty_not_missing(tmp_path: Path) -> None:
    assert log_of(tmp_path, "usb 1-1: new device", "e1000e: link up") == KernelLog("/dev/kmsg", ages=())


def test_lines_have_ages_and_the_last_of_equal_ones_counts(tmp_path: Path) -> None:
    found = log_of(tmp_path, "NVRM: first", "NVRM: again", "NVRM: between", "NVRM: again")
    assert found.lines == ("NVRM: first", "NVRM: between", "NVRM: again")
    assert isinstance(found.ages, tuple)
    assert len(found.ages) == 3
    assert found.ages[0] > found.ages[1] > found.ages[2]


def test_a_missing_log_is_reported(tmp_path: Path) -> None:
    found = kernel_log.kernel_log(str(tmp_path))
    assert isinstance(found, Missing)
    assert found.cause is Cause.ABSENT


@given(
    st.lists(
        st.binary(max_size=60).map(lambda text: b"3,1,2,-;" + text) | st.binary(max_size=60) | st.just(b"NVRM: Xid (PCI:0000:01:00): 9")
    )
)
def test_any_bytes_are_readable(tmp_path_factory: pytest.TempPathFactory, records: list[bytes]) -> None:
    root = plant(tmp_path_factory.mktemp("log"), {"/dev/kmsg": b"\n".join(records)})
    assert isinstance(kernel_log.kernel_log(root), KernelLog)


@pytest.mark.skipif(not os.access("/dev/kmsg", os.R_OK), reason="needs to read the kernel's log")
def test_the_real_device_is_read_completely() -> None:
    found = kernel_log.kernel_log("/")
    assert isinstance(found, KernelLog)
    assert found.cut is False


JOURNAL = """#!/bin/sh
case "$*" in *-k*-b*) ;; *) exit 9 ;; esac
echo '[   12.345678] kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.'
echo '[   13.000001] kernel: NVRM: something else'
"""


def journalctl(tmp_path: Path, script: str) -> KernelLog | Missing:
    program = tmp_path / "journalctl"
    program.write_text(script)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    with Supervisor() as supervisor:
        return kernel_log.log_from_journal(supervisor, str(program))


def test_the_journal_gives_the_same_result(tmp_path: Path) -> None:
    found = journalctl(tmp_path, JOURNAL)
    assert isinstance(found, KernelLog)
    assert (found.events[0].code, found.lines) == (79, ("NVRM: something else",))


@pytest.mark.parametrize("script", ["#!/bin/sh\n", "#!/bin/sh\necho Hint: not in group >&2; exit 1\n", "#!/bin/sh\nsleep 60\n"])
def test_an_empty_journal_is_not_an_empty_log(tmp_path: Path, script: str) -> None:
    found = journalctl(tmp_path, script)
    assert isinstance(found, Missing)
    assert found.cause is Cause.DENIED


def test_without_journalctl() -> None:
    with Supervisor() as supervisor:
        found = kernel_log.log_from_journal(supervisor, "")
    assert isinstance(found, Missing)
    assert "journalctl" in found.reason
