"""refresh_cudnn.py as a program, against an index of our own on this machine that pip is configured for."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from .conftest import SCRIPTS
from .test_refresh_fatbin import PTX_100F, SASS_90A, SASS_100F, container, entry

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


class Handler(BaseHTTPRequestHandler):
    files: dict[str, bytes]

    def do_GET(self) -> None:
        name = self.path.rstrip("/").rsplit("/", 1)[-1]
        if name in self.files:
            content = self.files[name]
            first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
            start, end = (int(first), min(int(last), len(content) - 1)) if first else (len(content) - int(last), len(content) - 1)
            self.answer(206, content[start : end + 1], f"bytes {start}-{end}/{len(content)}")
        else:
            self.answer(200, "".join(f'<a href="/files/{file}">{file}</a>' for file in self.files).encode(), "")

    def answer(self, status: int, body: bytes, ranges: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        if ranges:
            self.send_header("Content-Range", ranges)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class names it
        pass


@pytest.fixture
def files() -> dict[str, bytes]:
    code = container(entry(SASS_90A), entry(SASS_100F), entry(PTX_100F))
    return {"nvidia_cudnn_cu12-9.11.0.98-py3-none-manylinux_2_27_x86_64.whl": wheel(code)}


@pytest.fixture
def address(files: dict[str, bytes]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Served", (Handler,), {"files": files})) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/simple"
        server.shutdown()
        thread.join()


@pytest.fixture
def compat(tmp_path: Path) -> Path:
    folder = tmp_path / "compat"
    folder.mkdir()
    (folder / "cudnn.csv").write_text(HEADER + KNOWN)
    (folder / "sources.csv").write_text("id,title,url,read\nby-hand,Hand,,2020-01-01\ncudnn-wheels,Wheels,,2020-01-01\n")
    return folder


def refresh(address: str, compat: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment |= {"PIP_INDEX_URL": address, "PIP_CONFIG_FILE": os.devnull, "XDG_CACHE_HOME": str(compat.parent / "cache")}
    command = [sys.executable, str(SCRIPTS / "refresh_cudnn.py"), "nvidia-cudnn-cu12", "--compat", str(compat), *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)


def test_it_shows_then_writes_then_has_nothing_to_read(address: str, files: dict[str, bytes], compat: Path) -> None:
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
        (wheel(b"no code"), "failed: ValueError: no machine code was found in it"),
        (wheel(container(entry(SASS_90A))[:-9]), "failed: ValueError: the library ends within a fatbin"),
    ],
    ids=["no archive", "no code", "cut short"],
)
def test_a_wheel_that_cannot_be_read_is_told_and_the_file_stays(
    address: str, files: dict[str, bytes], compat: Path, content: bytes, told: str
) -> None:
    files["nvidia_cudnn_cu12-9.12.0.46-py3-none-manylinux_2_27_x86_64.whl"] = content
    run = refresh(address, compat, "--write")
    assert run.returncode == 1
    assert "[2/2] cuDNN 9.12.0.46 for CUDA 12 linux_x86_64" in run.stderr
    assert told in run.stderr
    assert (compat / "cudnn.csv").read_text() == HEADER + KNOWN
