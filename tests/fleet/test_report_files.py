"""Reports in files, folders, tars and streams: whole ones are read, damage is told, and nothing outside is opened."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudoctor.errors import UsageError
from gpudoctor.report_files import ReportInput, report_inputs
from gpudoctor.report_files.contents import reports_in
from gpudoctor.report_files.read_budget import MAX_DOCUMENT_BYTES, ReadBudget, TooMuchError

PRETTY = b'{\n  "schema": "gpudoctor.report/1",\n  "a": {\n    "b": 1\n  }\n}\n'
LINE = b'{"schema":"gpudoctor.report/1","a":"}{"}\n'


def read(*paths: Path) -> list[ReportInput]:
    return list(report_inputs([str(path) for path in paths]))


def packed(members: dict[str, bytes], kind: bytes = tarfile.REGTYPE, target: str = "") -> bytes:
    """A tar with members of one kind."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname, member.size = kind, target, len(data)
            archive.addfile(member, io.BytesIO(data))
    return held.getvalue()


def zstd(data: bytes) -> bytes:
    compress = pytest.importorskip("backports.zstd").compress
    written: bytes = compress(data)
    return written


PACKINGS: list[Callable[[bytes], bytes]] = [lambda data: data, gzip.compress, zstd, lambda data: gzip.compress(zstd(data))]


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_file_is_read_however_it_is_packed(tmp_path: Path, packing: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "gpu001.json.gz"
    file.write_bytes(packing(PRETTY))
    assert read(file) == [ReportInput(source=str(file), data=PRETTY.strip(), stem="gpu001")]


@pytest.mark.parametrize("packing", PACKINGS[:3])
def test_a_tar_is_read_however_it_is_packed(tmp_path: Path, packing: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "all.tar"
    file.write_bytes(packing(packed({"reports/gpu001.json": PRETTY, "reports/gpu002.json.gz": gzip.compress(LINE)})))
    assert [(arrival.data, arrival.stem) for arrival in read(file)] == [(PRETTY.strip(), "gpu001"), (LINE.strip(), "gpu002")]


@pytest.mark.parametrize("documents", [[LINE] * 3, [PRETTY] * 3, [PRETTY, LINE, PRETTY]])
def test_documents_one_after_another_are_told_apart(tmp_path: Path, documents: list[bytes]) -> None:
    file = tmp_path / "all.jsonl"
    file.write_bytes(b"".join(documents))
    found = read(file)
    assert [(arrival.data or b"").strip() for arrival in found] == [document.strip() for document in documents]
    lines = [1 + sum(document.count(b"\n") for document in documents[:number]) for number in range(3)]
    assert [arrival.source for arrival in found] == [f"{file}, line {line}" for line in lines]
    assert {arrival.stem for arrival in found} == {""}


def test_what_a_launcher_writes_around_a_report_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "gpu001.json"
    file.write_bytes(b"srun: job 17 queued\n" + PRETTY + b"srun: error: gpu001: task 0: Exited with exit code 1\n")
    assert [((arrival.data or b"").strip(), arrival.stem) for arrival in read(file)] == [(PRETTY.strip(), "gpu001")]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_told_and_not_followed(tmp_path: Path, kind: bytes) -> None:
    (tmp_path / "all.tar").write_bytes(packed({"gpu001.json": b""}, kind, "/etc/passwd"))
    (found,) = read(tmp_path / "all.tar")
    assert found.data is None
    assert "not opened" in found.reason


def test_a_folder_is_read_in_order_without_links_pipes_and_hidden_files(tmp_path: Path) -> None:
    for name in ("b/gpu2.json", "a/gpu1.json", ".hidden.json", ".git/x.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(PRETTY)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link.json").symlink_to("/etc/passwd")
    (tmp_path / "folder").symlink_to("/etc")
    found = read(tmp_path)
    assert [arrival.stem for arrival in found if arrival.data] == ["gpu1", "gpu2"]
    assert sorted(Path(arrival.source).name for arrival in found if arrival.data is None) == ["link.json", "pipe"]


@pytest.mark.parametrize("end", [1, 10, 300, -1, -9])
def test_a_torn_archive_gives_what_is_whole_and_says_that_it_is_torn(tmp_path: Path, end: int) -> None:
    whole = gzip.compress(packed({f"gpu{number}.json": os.urandom(3000).hex().encode() for number in range(9)}))
    (tmp_path / "all.tgz").write_bytes(whole[:end])
    found = read(tmp_path / "all.tgz")
    assert found[-1].data is None or end == 1
    assert found[-1].reason or end == 1
    assert end == 1 or (found[-1].kind, found[-1].stem) == ("broken", "")


def test_a_report_that_is_too_large_is_passed_over_and_the_next_is_read(tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    file.write_bytes(LINE + b'{"a":"' + b"x" * (MAX_DOCUMENT_BYTES + 5) + b'"}\n' + LINE)
    found = read(file)
    assert [arrival.kind for arrival in found] == ["", "too-large", ""]
    assert [arrival.source for arrival in found] == [f"{file}, line {number}" for number in (1, 2, 3)]


def test_what_unpacks_to_far_too_much_ends_in_one_sentence() -> None:
    bomb = gzip.compress(gzip.compress(b"\0" * (64 << 20)))
    with pytest.raises(TooMuchError):
        list(reports_in(io.BytesIO(bomb), "bomb", "", ReadBudget(8 << 20)))


def test_metadata_that_would_fill_the_memory_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "all.tar").write_bytes(packed({"x": b"n" * (2 << 20)}, tarfile.GNUTYPE_LONGNAME) + packed({"gpu1.json": PRETTY}))
    assert [arrival.kind for arrival in read(tmp_path / "all.tar")] == ["broken"]


def test_packed_within_packed_ends(tmp_path: Path) -> None:
    data = PRETTY
    for _ in range(9):
        data = gzip.compress(data)
    (tmp_path / "deep").write_bytes(data)
    (found,) = read(tmp_path / "deep")
    assert "too deeply" in found.reason


@pytest.mark.parametrize("name", ["/no/such/file", "/etc/shadow/x", "nul\0"])
def test_a_name_that_cannot_be_read_is_one_sentence(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        list(report_inputs([name]))


@pytest.mark.parametrize("name", ["gpu001.json", "gpu001.json.gz", "gpu001.jsonl", "gpu001.ndjson.zst"])
@pytest.mark.parametrize("data", [b"", b"Traceback (most recent call last):\n", PRETTY[:40]])
def test_a_broken_file_that_is_called_as_a_report_is_that_of_its_node(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    (found,) = read(tmp_path)
    assert found.stem == "gpu001"
    assert found.kind != "not-a-report"


@pytest.mark.parametrize("name", ["land.log", "gpu001.err", "README", "core.1234"])
@pytest.mark.parametrize("data", [b"", b"Traceback (most recent call last):\n", b'{"a": 1}\n', b"text\n{\n"])
def test_a_file_that_neither_is_called_as_a_report_nor_holds_one_is_none(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    (found,) = read(tmp_path)
    assert (found.kind, found.stem, found.data) == ("not-a-report", "", None)


def test_a_report_is_read_whatever_its_file_is_called(tmp_path: Path) -> None:
    (tmp_path / "gpu001").write_bytes(PRETTY)
    assert read(tmp_path) == [ReportInput(source=str(tmp_path / "gpu001"), data=PRETTY.strip(), stem="gpu001")]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=700),
    st.sampled_from([b"", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", gzip.compress(LINE)[:20], packed({"a": PRETTY})[:600], b"{\n"]),
)
def test_garbage_never_raises(tmp_path: Path, garbage: bytes, head: bytes) -> None:
    file = tmp_path / "garbage"
    file.write_bytes(head + garbage)
    assert read(file)


def test_a_file_whose_name_is_not_utf8_is_told_with_escapes(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"gpu\xff.json")).write_bytes(PRETTY)
    (arrival,) = report_inputs([str(tmp_path)])
    assert arrival.stem == "gpu\\xff"
    assert arrival.source.encode().endswith(b"gpu\\xff.json")


@pytest.mark.parametrize(("magic", "kind"), [(b"BZh91AY", "bzip2"), (b"\xfd7zXZ\x00", "xz"), (b"PK\x03\x04", "zip")])
def test_an_archive_that_is_not_unpacked_says_which(tmp_path: Path, magic: bytes, kind: str) -> None:
    (tmp_path / "reports.archive").write_bytes(magic + bytes(100))
    (arrival,) = report_inputs([str(tmp_path)])
    assert (arrival.kind, arrival.reason) == ("broken", f"it is packed with {kind}; use gzip or zstd")
