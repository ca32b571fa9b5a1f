"""Our reader of GPU code, compared with NVIDIA's cuobjdump on nvcc's output for chosen architectures, and on invalid headers."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.elf import fatbin

CUOBJDUMP = Path(sysconfig.get_path("purelib")) / "nvidia/cu13/bin/cuobjdump"
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
KERNEL = '__global__ void k(float *p) { p[threadIdx.x] *= 2; }\nextern "C" void run() { k<<<1, 1>>>(nullptr); }\n'
PTX, SASS, OTHER = 1, 2, 16


def entry(kind: int, number: int, flags: int = 0x11, *, payload: bytes = bytes(40), header: int = 64, claimed: int | None = None) -> bytes:
    size = len(payload) if claimed is None else claimed
    head = struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, header, size, 0, 0, 8, 1, number, 0, 0, flags, 0, 0)
    return head.ljust(header, b"\0") + payload


def fat(*entries: bytes, claimed: int | None = None) -> bytes:
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body) if claimed is None else claimed) + body


def read(path: Path, data: bytes) -> fatbin.Architectures:
    path.write_bytes(b"\1" * 24 + data + b"\2" * 8)
    return fatbin.read_gpu_code(str(path), [(".nv_fatbin", 24, len(data))])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "code"


def test_several_fat_binaries_and_every_kind_of_name(place: Path) -> None:
    code = read(
        place,
        fat(entry(SASS, 80), entry(SASS, 90, 0x100011), entry(PTX, 90, header=80))
        + bytes(40)
        + fat(entry(SASS, 100, 0x1200011), entry(OTHER, 75), entry(PTX, 120, 0x208011, payload=bytes(400))),
    )
    assert (code.sass, code.ptx) == (("sm_80", "sm_90a", "sm_100f"), ("compute_90", "compute_120f"))
    assert (code.fatbins, code.damage) == (2, "")


def test_rare_architectures_are_listed(place: Path) -> None:
    code = read(place, b"".join(fat(entry(SASS, 80), entry(SASS, 90)) for _ in range(9)) + fat(entry(SASS, 80), entry(SASS, 120, 0x100011)))
    assert code.sass == ("sm_80", "sm_90", "sm_120a")
    assert code.few == ("sm_120a",)


@pytest.mark.parametrize(
    ("data", "damage"),
    [
        (fat(entry(SASS, 80), claimed=1 << 60), "more than its section holds"),
        (fat(entry(SASS, 80, claimed=1 << 63)), "more than its fat binary holds"),
        (fat(entry(SASS, 80, header=64)[:4] + bytes(60)), "more than its fat binary holds"),
        (b"\x50\xed\x55\xba" + bytes(100), "more than its section holds"),
        (fat(entry(SASS, 80)) + b"something else" * 30, "unknown data between"),
        (fat(entry(SASS, 80)) + bytes(100_000) + fat(entry(SASS, 90)), "zeros in place"),
        (bytes(5000), "zeros in place"),
    ],
)
def test_invalid_headers_stop_reading_and_are_reported(place: Path, data: bytes, damage: str) -> None:
    assert damage in read(place, data).damage


def test_no_code_at_all(place: Path) -> None:
    assert (read(place, b"").ptx, read(place, b"").damage) == ((), "")
    assert fatbin.read_gpu_code("/bin/ls").sass == ()


def test_a_hundred_megabytes_of_tiny_headers_stop_early(place: Path) -> None:
    with place.open("wb") as opened:
        for _ in range(100):
            opened.write(fat() * 65536)
    began = time.monotonic()
    code = fatbin.read_gpu_code(str(place), [(".nv_fatbin", 0, place.stat().st_size)])
    assert str(fatbin.MAX_HEADERS) in code.damage
    assert time.monotonic() - began < 30


@settings(max_examples=300, deadline=2000)
@given(changes=st.lists(st.tuples(st.integers(0, 2000), st.binary(min_size=1, max_size=9)), max_size=9), cut=st.integers(0, 2000))
def test_damaged_code_raises_nothing(tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, bytes]], cut: int) -> None:
    data = bytearray((fat(entry(SASS, 80), entry(PTX, 90)) + bytes(24)) * 6)
    for place, new in changes:
        data[place % len(data) : place % len(data) + len(new)] = new
    code = read(tmp_path_factory.getbasetemp() / "damaged", bytes(data[: max(cut, 1)]))
    assert all(re.fullmatch(r"sm_\d+[af]?", name) for name in code.sass)


def compiled(output: Path, *flags: str) -> Path:
    (output.parent / "k.cu").write_text(KERNEL)
    subprocess.run(
        ["nvcc", "-shared", "-Xcompiler", "-fPIC", "-cudart", "none", "-o", output, *flags, str(output.parent / "k.cu")], check=True
    )
    return output


def listed(path: Path) -> tuple[set[str], set[str]]:
    """From cuobjdump, which writes sm_100 for the machine code of sm_100f, and sm_90 for compute_90."""
    assert CUOBJDUMP.exists(), "nvidia-cuda-cuobjdump of the dependency group test is not installed"
    text = subprocess.run([CUOBJDUMP, "-lelf", "-lptx", path], capture_output=True, text=True, check=False).stdout
    return set(re.findall(r"\.(sm_\d+[af]?)\.cubin", text)), {f"compute_{one}" for one in re.findall(r"\.sm_(\d+[af]?)\.ptx", text)}


def agrees(path: Path) -> fatbin.Architectures:
    code = fatbin.read_gpu_code(str(path))
    sass, ptx = listed(path)
    assert {name.rstrip("f") for name in code.sass} == sass
    assert set(code.ptx) == ptx
    assert code.damage == ""
    return code


def gencode(*pairs: str) -> list[str]:
    """compute_80:sm_80 as nvcc's option."""
    return [word for pair in pairs for word in ("-gencode", f"arch={pair.partition(':')[0]},code={pair.partition(':')[2]}")]


@needs_nvcc
@pytest.mark.parametrize(
    ("flags", "sass", "ptx"),
    [
        (gencode("compute_80:sm_80"), ("sm_80",), ()),
        (gencode("compute_90:compute_90"), (), ("compute_90",)),
        (
            [*gencode("compute_75:sm_75", "compute_90a:sm_90a", "compute_100f:sm_100f", "compute_120:[sm_120,compute_120]")],
            ("sm_75", "sm_90a", "sm_100f", "sm_120"),
            ("compute_120",),
        ),
        (gencode("compute_103a:[sm_103a,compute_103a]", "compute_100f:compute_100f"), ("sm_103a",), ("compute_100f", "compute_103a")),
        (["-no-compress", *gencode("compute_86:[sm_86,compute_86]")], ("sm_86",), ("compute_86",)),
        (["-Xfatbin", "-compress-all", *gencode("compute_89:[sm_89,compute_89]")], ("sm_89",), ("compute_89",)),
        (["-rdc=true", *gencode("compute_80:sm_80", "compute_90:sm_90")], ("sm_80", "sm_90"), ()),
        (["-arch=all-major"], None, None),
    ],
)
def test_agrees_with_cuobjdump(tmp_path: Path, flags: Sequence[str], sass: tuple[str, ...] | None, ptx: tuple[str, ...] | None) -> None:
    code = agrees(compiled(tmp_path / "k.so", *flags))
    if sass is not None:
        assert (code.sass, code.ptx) == (sass, ptx)
    else:
        assert len(code.sass) > 3
