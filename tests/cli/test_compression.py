"""Packed logs: what gzip holds is read; any other packing, damage and size cost one sentence with the next step."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from pathlib import Path

import pytest

from gpudoctor.cli.content import content_of_file
from gpudoctor.errors import UsageError
from gpudoctor.read.lines import MAX_BYTES

LOG = b"RuntimeError: CUDA error: uncorrectable ECC error encountered\n"


@pytest.mark.parametrize(
    "packed",
    [gzip.compress(LOG), gzip.compress(LOG[:9]) + gzip.compress(LOG[9:]), LOG],
    ids=["a stream", "two streams", "plain"],  # gzip writes the time, and each worker must collect the same names
)
def test_what_gzip_holds_is_read(tmp_path: Path, packed: bytes) -> None:
    file = tmp_path / "nvidia-bug-report.log.gz"
    file.write_bytes(packed)
    assert content_of_file(str(file)) == (LOG, str(file))


def test_what_is_left_of_a_file_that_was_cut_off_is_read(tmp_path: Path) -> None:
    whole = b"".join(b"%d " % number for number in range(100_000)) + LOG
    file = tmp_path / "log.gz"
    file.write_bytes(gzip.compress(whole)[:-9000])
    (data, _) = content_of_file(str(file))
    assert data
    assert whole.startswith(data)


@pytest.mark.parametrize(
    ("packed", "says"),
    [
        (bz2.compress(LOG), "is packed with bzip2; unpack it: bzcat "),
        (lzma.compress(LOG), "is packed with xz; unpack it: xzcat "),
        (gzip.compress(LOG)[:10] + b"\x07" * 40, "is a damaged gzip file "),
    ],
    ids=["bzip2", "xz", "damaged"],
)
def test_another_packing_is_refused_with_what_to_do(tmp_path: Path, packed: bytes, says: str) -> None:
    (tmp_path / "log").write_bytes(packed)
    with pytest.raises(UsageError, match=says):
        content_of_file(str(tmp_path / "log"))


def test_a_zip_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "log.zip", "w") as archive:
        archive.writestr("log", LOG)
    with pytest.raises(UsageError, match=r"is packed with zip; unpack it: unzip -p "):
        content_of_file(str(tmp_path / "log.zip"))


@pytest.mark.parametrize(("pack", "command"), [(bytes, "tail --bytes=20M "), (gzip.compress, "zcat ")])
def test_of_a_log_that_is_too_large_the_end_is_offered(tmp_path: Path, pack: type[bytes], command: str) -> None:
    (tmp_path / "a log").write_bytes(pack(b"x" * (MAX_BYTES + 1)))
    with pytest.raises(UsageError, match=rf"reads up to 20 MB; .* or read its end: {command}.*'.*a log'.* \| gpudoctor diagnose -"):
        content_of_file(str(tmp_path / "a log"))
