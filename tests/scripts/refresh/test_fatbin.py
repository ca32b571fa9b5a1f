from __future__ import annotations

import contextlib
import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.refresh.fatbin import Code, order, read_code, read_ptx_versions

# The headers that fatbinary of CUDA 13.0 writes for an empty kernel; payloads are left out and put back as zeros.
CONTAINER = "50ed55ba01001000"
SASS_75 = "0200010140000000280b00000000000000000000000000000800 01004b000000000000000000000011000000000000000000000000000000"
SASS_90A = "0200010140000000680d0000000000000000000000000000080001005a00000000000000000000001100100000000000" + "00" * 16
SASS_100F = "020001017000000018130000000000000000000040000000080001006400000000000000000000001100200100000000" + "00" * 16
PTX_100F = (
    "01000101500000005800000000000000520000004000000000000900640000000000000000000000118020000000000000000000000000004900000000000000"
)


def entry(header: str) -> bytes:
    """A header followed by zeros for the rest of the header and the payload."""
    known = bytes.fromhex(header)
    _, _, size, payload = struct.unpack_from("<HHIQ", known)
    return known.ljust(size, b"\0") + bytes(payload)


def container(*entries: bytes) -> bytes:
    content = b"".join(entries)
    return bytes.fromhex(CONTAINER) + struct.pack("<Q", len(content)) + content


def library(*containers: bytes, between: bytes = b"\x7fELF and code" * 50_000) -> io.BytesIO:
    return io.BytesIO(between + between.join(containers) + between)


def test_all_containers_of_a_library_are_read() -> None:
    first = container(entry(SASS_75), entry(SASS_90A))
    second = container(entry(SASS_100F), entry(PTX_100F))
    assert read_code(library(first, second)) == Code(("sm_75", "sm_90a", "sm_100f"), ("compute_100f",))


def test_the_version_of_ptx_tells_the_compiler() -> None:
    assert read_ptx_versions(library(container(entry(SASS_75), entry(PTX_100F)))) == ["9.0"]
    assert read_ptx_versions(library(container(entry(SASS_75)))) == []


def test_a_container_may_span_pieces_of_the_stream() -> None:
    for before in range((1 << 20) - 90, 1 << 20):
        assert read_code(io.BytesIO(bytes(before) + container(entry(SASS_90A)))) == Code(("sm_90a",), ())


def test_a_library_without_gpu_code_has_none() -> None:
    assert read_code(library()) == Code((), ())
    assert read_code(io.BytesIO()) == Code((), ())


def test_the_magic_in_code_is_not_a_container() -> None:
    constant = b"\xb8" + bytes.fromhex("50ed55ba") + b"\xc3" * 12
    assert read_code(library(constant, container(entry(SASS_75)))) == Code(("sm_75",), ())


def test_the_magic_at_the_end_of_a_file_is_not_a_container() -> None:
    assert read_code(io.BytesIO(b"code" + bytes.fromhex("50ed55ba"))) == Code((), ())


def test_other_kinds_of_entries_are_skipped() -> None:
    other = bytearray(entry(SASS_90A))
    other[0] = 16
    assert read_code(library(container(bytes(other), entry(SASS_75)))) == Code(("sm_75",), ())


@pytest.mark.parametrize("lost", [1, 4000])
def test_a_truncated_file_is_reported(lost: int) -> None:
    whole = container(entry(SASS_75), entry(SASS_90A))
    with pytest.raises(ValueError, match="ends within a fatbin"):
        read_code(io.BytesIO(whole[:-lost]))


def test_an_entry_larger_than_its_container_is_reported() -> None:
    whole = bytearray(container(entry(SASS_75)))
    whole[24] += 1
    with pytest.raises(ValueError, match="larger than its container"):
        read_code(io.BytesIO(bytes(whole) + bytes(4096)))


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_garbage_is_read_or_refused(before: bytes, after: bytes) -> None:
    with contextlib.suppress(ValueError):
        assert len(read_code(io.BytesIO(before + bytes.fromhex(CONTAINER) + after))) == 2


def test_architectures_are_sorted_as_numbers() -> None:
    assert sorted(["sm_100", "sm_90a", "sm_90", "sm_100f"], key=order) == ["sm_90", "sm_90a", "sm_100", "sm_100f"]
