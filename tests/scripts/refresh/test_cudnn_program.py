"""scripts/refresh/cudnn.py as a program, against our own index on this machine, for which pip is configured."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .served import Done, run, served
from .test_fatbin import PTX_100F, SASS_90A, SASS_100F, container, entry

pytest.importorskip("pip", reason="the refresh scripts read the index as pip is configured for it")

HEADER = "release,cuda,platform,soname,sass,ptx,source,note\n"
KNOWN = "7.6.5.32,10,linux_x86_64,libcudnn.so.7,,,by-hand,\n"
ROW = "9.11.0.98,12,linux_x86_64,libcudnn.so.9,sm_90a sm_100f,compute_100f,cudnn-wheels,\n"


def wheel(code: bytes) -> bytes:
    lib = "nvidia/cudnn/lib"
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{lib}/libcudnn.so.9", b"ELF")
        archive.writestr(f"{lib}/libcudnn_engines_precompiled.so.9", os.urandom(1 << 20))
        archive.writestr(f"{lib}/libcudnn_ops.so.9", b"ELF" + code)
        archive.writestr("a.dist-info/RECORD", f"{lib}/libcudnn_ops.so.9,sha256={len(code)},1\n")
    return content.getvalue()


@pytest.fixture
def files() -> dict[str, bytes]:
    code = container(entry(SASS_90A), entry(SASS_100F), entry(PTX_100F))
    return {"nvidia_cudnn_cu12-9.11.0.98-py3-none-manylinux_2_27_x86_64.whl": wheel(code)}


@pytest.fixture
def address(files: dict[str, bytes]) -> Iterator[str]:
    with served({"nvidia-cudnn-cu12": files}) as simple:
        yield simple


@pytest.fixture
def compat(tmp_path: Path) -> Path:
    folder = tmp_path / "compat"
    folder.mkdir()
    (folder / "cudnn.csv").write_text(HEADER + KNOWN)
    (folder / "sources.csv").write_text("id,title,url,read\nby-hand,Hand,,2020-01-01\ncudnn-wheels,Wheels,,2020-01-01\n")
    return folder


def refresh(address: str, compat: Path, *options: str) -> Done:
    return run("cudnn", address, compat, "nvidia-cudnn-cu12", *options)


def test_it_shows_then_writes_then_is_up_to_date(address: str, files: dict[str, bytes], compat: Path) -> None:
    dry = refresh(address, compat)
    assert dry.returncode == 0, dry.stderr
    assert f"+{ROW}" in dry.stdout
    assert (compat / "cudnn.csv").read_text() == HEADER + KNOWN
    assert refresh(address, compat, "--check").returncode == 1
    assert refresh(address, compat, "--write").returncode == 0
    assert (compat / "cudnn.csv").read_text() == HEADER + KNOWN + ROW
    assert "by-hand,Hand,,2020-01-01\n" in (compat / "sources.csv").read_text()
    assert "cudnn-wheels,Wheels,,2020-01-01" not in (compat / "sources.csv").read_text()
    files.update(dict.fromkeys(files, b"a wheel that has a row is not read again"))
    check = refresh(address, compat, "--check")
    assert (check.returncode, check.stdout, check.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"this is no zip archive" * 9, "failed: BadZipFile"),
        (wheel(b"no code"), "failed: ValueError: it contains no machine code"),
        (wheel(container(entry(SASS_90A))[:-9]), "failed: ValueError: the library ends within a fatbin"),
    ],
    ids=["no archive", "no code", "cut short"],
)
def test_an_unreadable_wheel_is_reported_and_the_file_is_unchanged(
    address: str, files: dict[str, bytes], compat: Path, content: bytes, told: str
) -> None:
    files["nvidia_cudnn_cu12-9.12.0.46-py3-none-manylinux_2_27_x86_64.whl"] = content
    run = refresh(address, compat, "--write")
    assert run.returncode == 1
    assert "[2/2] cuDNN 9.12.0.46 for CUDA 12 linux_x86_64" in run.stderr
    assert told in run.stderr
    assert (compat / "cudnn.csv").read_text() == HEADER + KNOWN
