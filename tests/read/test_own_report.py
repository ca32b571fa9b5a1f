"""Reports and snapshots of gpudoctor in a text: of any version, whole, quoted and cut off."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gpudoctor.errors import UsageError
from gpudoctor.read.own_report import own_report
from gpudoctor.snapshot import decode_snapshot, encode_snapshot
from tests.machines.store import load, recorded

VERSIONS = sorted((Path(__file__).parents[1] / "snapshot" / "versions").glob("*.json"))
MACHINE = load("healthy-one")
REPORT = msgspec.json.encode({"schema": "gpudoctor.report/1", "policy": MACHINE["policy"], "snapshot": MACHINE["snapshot"]})
INDENTED = msgspec.json.format(REPORT, indent=2)


@pytest.mark.parametrize("file", VERSIONS, ids=lambda file: file.stem)
def test_a_bare_snapshot_of_any_version_is_read(file: Path) -> None:
    found = own_report(b"Here it is:\n\n```json\n" + file.read_bytes() + b"\n```\n")
    assert found is not None
    assert found[0] == decode_snapshot(file.read_bytes())


@pytest.mark.parametrize("text", [REPORT, INDENTED, b"\xef\xbb\xbf" + REPORT, INDENTED.decode().encode("utf-16")])
def test_a_report_is_read_in_any_encoding(text: bytes) -> None:
    found = own_report(text)
    assert found is not None
    assert found[0] == recorded("healthy-one")


@pytest.mark.parametrize("prefix", [b"> ", b">> ", b"trainer-1  | ", b"2026-03-01T10:11:12Z ", b"    "])
def test_a_quoted_report_is_read(prefix: bytes) -> None:
    found = own_report(b"\n".join(prefix + line for line in INDENTED.splitlines()))
    assert found is not None
    assert found[0] == recorded("healthy-one")


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_report_that_was_cut_off_says_where(share: float) -> None:
    with pytest.raises(UsageError, match=r"it ends in its section \w+"):
        own_report(INDENTED[: int(len(INDENTED) * share)].rsplit(b"\n", 1)[0])


def test_a_report_without_its_policy_says_so() -> None:
    with pytest.raises(UsageError, match="it has no policy"):
        own_report(msgspec.json.encode({"schema": "gpudoctor.report/1", "snapshot": MACHINE["snapshot"]}))


def test_a_snapshot_that_is_read_again_is_the_same() -> None:
    found = own_report(encode_snapshot(recorded("healthy-one")))
    assert found is not None
    assert found[0] == recorded("healthy-one")
