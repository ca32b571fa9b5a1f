"""Several files about one machine are read like one text, in any order."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gpudoctor.cli.content import examine_files
from gpudoctor.diagnose import diagnose
from gpudoctor.errors import UsageError
from gpudoctor.findings import Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.read.texts import read_texts
from gpudoctor.snapshot import Cause, KernelDriver, KernelLog, Missing, TextLog, encode_snapshot
from tests.machines.store import recorded
from tests.read import texts
from tests.read.reading import CREATED
from tests.read.test_order import PARTED

LOOSE = Policy(level=None)
XID = "[ 812.5] NVRM: Xid (PCI:0000:01:00): 79, pid=1823, GPU has fallen off the bus.\n"


def files(parts: list[str]) -> dict[str, bytes]:
    return {f"{place}.txt": part.encode() for place, part in enumerate(parts)}


@pytest.mark.parametrize(("cause", "parts"), [(cause, parts) for _, cause, parts in PARTED], ids=[name for name, _, _ in PARTED])
def test_parts_in_files_have_the_cause_of_the_whole_in_any_order(cause: str, parts: list[str], matrix: Matrix) -> None:
    given = files(parts)
    snapshots = [read_texts(dict(order), matrix, CREATED) for order in (list(given.items()), list(given.items())[::-1])]
    assert snapshots[0] == snapshots[1]
    roots = diagnose(snapshots[0], matrix, LOOSE).root_causes
    assert [root.name for root in roots if root.severity is not Severity.NOTE][:1] == [cause]


def test_evidence_names_the_file_and_the_line(matrix: Matrix) -> None:
    smi, log = texts.SMI.encode(), b"starting\n" + XID.encode()
    snapshot = read_texts({"dmesg.txt": log, "smi.txt": smi, "notes.txt": b"thank you\n"}, matrix, CREATED)
    assert isinstance(snapshot.text_log, TextLog)
    assert snapshot.text_log.lines[0].where == "dmesg.txt line 2"
    assert {(reading.file, reading.first) for reading in snapshot.text_log.readings if reading.reader == "kernel log"} == {("dmesg.txt", 2)}
    assert "nothing in notes.txt is recognised" in snapshot.remarks


def test_a_contradiction_names_both_files(matrix: Matrix) -> None:
    driver = "NVIDIA-SMI {0}  Driver Version: {0}  CUDA Version: 12.4\n"
    snapshot = read_texts({"b.txt": driver.format("550.54.14").encode(), "a.txt": driver.format("535.54.03").encode()}, matrix, CREATED)
    assert any(
        remark.startswith("b.txt line 1") and "a.txt line 1" in remark and "535.54.03, which was used" in remark
        for remark in snapshot.remarks
    )


def test_a_report_takes_from_a_text_what_the_check_was_not_allowed_to_read(tmp_path: Path, matrix: Matrix) -> None:
    """A user without root checks, and attaches what `sudo dmesg` says."""
    report = msgspec.structs.replace(recorded("healthy-one"), kernel_log=Missing(Cause.DENIED, "only root may read it"))
    (tmp_path / "report.json").write_bytes(encode_snapshot(report))
    (tmp_path / "dmesg.txt").write_text(XID + "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  470.57.02\n")
    both = [str(tmp_path / name) for name in ("dmesg.txt", "report.json")]
    found = examine_files(both, matrix, LOOSE)
    assert found == examine_files(both[::-1], matrix, LOOSE)
    assert isinstance(found.snapshot.kernel_log, KernelLog)
    assert [event.code for event in found.snapshot.kernel_log.events] == [79]
    assert found.snapshot.kernel_driver == report.kernel_driver
    assert isinstance(report.kernel_driver, KernelDriver)
    assert "gpu-fell-off-bus" in [finding.name for finding in found.diagnosis.findings]


def test_two_reports_are_compared_with_diff(tmp_path: Path, matrix: Matrix) -> None:
    for name in ("one.json", "two.json"):
        (tmp_path / name).write_bytes(encode_snapshot(recorded("healthy-one")))
    with pytest.raises(UsageError, match="gpudoctor diff"):
        examine_files([str(tmp_path / "one.json"), str(tmp_path / "two.json")], matrix, LOOSE)
