"""The script as a program, against our own index on this machine, for which pip is configured."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gpudoctor.matrix import tables
from tests.scripts.programs import ROOT, SCRIPTS

from .served import Done, run

pytest.importorskip("pip", reason="the refresh scripts read the index as pip is configured for it")

HEADER = ",".join(tables.RELEASE_TABLES["torch"].columns) + "\n"
TORCH = "torch-2.1.0-cp311-cp311-manylinux1_x86_64.whl"
BROKEN = "torch-2.2.0-cp311-cp311-manylinux1_x86_64.whl"
ROW = "torch,2.1.0,linux_x86_64,3.11,cuda,12.1,8.9.2.26,sm_50 sm_80 sm_90,none,nvidia-cudnn-cu12==8.9.2.26,1,,,torch-wheels,\n"


def wheel(**members: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("torch/lib/libtorch_cuda.so", os.urandom(1 << 20))
        for name, text in members.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), text)
    return content.getvalue()


GOOD = wheel(
    torch__version_dot_py="__version__ = '2.1.0+cu121'\ncuda = '12.1'\n",
    torch__lib__libtorch_python_dot_so="\0sm_50 sm_80 sm_90\0numpy.core._multiarray_umath\0",
    **{"torch-2.1.0.dist-info__METADATA": "Name: torch\nRequires-Dist: nvidia-cudnn-cu12==8.9.2.26\n\n"},
)


class Server(ThreadingHTTPServer):
    files: dict[str, bytes]
    sent = 0


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        name = self.path.rsplit("/", 1)[-1]
        if self.path == "/simple/torch/":
            page = "".join(f'<a href="/files/{file}#sha256=0">{file}</a>' for file in self.server.files).encode()
            self.answer(200, page)
        elif name in self.server.files:
            content = self.server.files[name]
            first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
            start, end = (int(first), min(int(last), len(content) - 1)) if first else (len(content) - int(last), len(content) - 1)
            self.answer(206, content[start : end + 1], f"bytes {start}-{end}/{len(content)}")
        else:
            self.answer(404, b"")

    def answer(self, status: int, body: bytes, ranges: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        if ranges:
            self.send_header("Content-Range", ranges)
            self.server.sent += len(body)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class names it
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as one:
        one.files = {TORCH: GOOD}
        thread = threading.Thread(target=one.serve_forever, daemon=True)
        thread.start()
        yield one
        one.shutdown()
        thread.join()


@pytest.fixture
def compat(tmp_path: Path) -> Path:
    folder = tmp_path / "compat"
    folder.mkdir()
    (folder / "torch.csv").write_text(HEADER)
    (folder / "sources.csv").write_text("id,title,url,read\nother,Other,,2020-01-01\ntorch-wheels,Wheels,,2020-01-01\n")
    return folder


def refresh(server: Server, compat: Path, *options: str) -> Done:
    return run("torch", f"http://127.0.0.1:{server.server_port}/simple", compat, "torch", *options)


def test_by_default_it_shows_the_difference_and_writes_nothing(server: Server, compat: Path) -> None:
    run = refresh(server, compat)
    assert run.returncode == 0, run.stderr
    assert f"+{ROW}" in run.stdout
    assert (compat / "torch.csv").read_text() == HEADER
    assert server.sent < len(GOOD) / 4, "only ranges are transferred"


def test_writing_dates_the_source_and_then_check_passes(server: Server, compat: Path) -> None:
    assert refresh(server, compat, "--check").returncode == 1
    assert refresh(server, compat, "--write").returncode == 0
    assert (compat / "torch.csv").read_text() == HEADER + ROW
    sources = (compat / "sources.csv").read_text()
    assert "other,Other,,2020-01-01\n" in sources
    assert "torch-wheels,Wheels,,2020-01-01" not in sources
    check = refresh(server, compat, "--check")
    assert (check.returncode, check.stdout) == (0, "")


def test_the_source_of_a_package_that_was_not_read_keeps_its_day(server: Server, compat: Path) -> None:
    vision = ROW.replace("torch,2.1.0", "torchvision,0.16.0").replace("torch-wheels", "torchvision-wheels")
    (compat / "torch.csv").write_text(HEADER + vision)
    (compat / "sources.csv").write_text("id,title,url,read\ntorch-wheels,Wheels,,2020-01-01\ntorchvision-wheels,Wheels,,2020-01-01\n")
    assert refresh(server, compat, "--write").returncode == 0
    sources = (compat / "sources.csv").read_text()
    assert "torchvision-wheels,Wheels,,2020-01-01\n" in sources
    assert "\ntorch-wheels,Wheels,,2020-01-01\n" not in sources


def test_an_unreadable_release_is_reported_and_the_file_is_unchanged(server: Server, compat: Path) -> None:
    server.files[BROKEN] = b"this is no zip archive" * 9
    run = refresh(server, compat, "--write")
    assert run.returncode == 1
    assert "torch 2.2.0 linux_x86_64\n  failed: BadZipFile" in run.stderr
    assert (compat / "torch.csv").read_text() == HEADER


def test_the_shipped_folder_is_the_default(tmp_path: Path, server: Server, compat: Path) -> None:
    copy = tmp_path / "scripts"
    shutil.copytree(SCRIPTS, copy, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PIP_INDEX_URL": f"http://127.0.0.1:{server.server_port}/simple", "no_proxy": "127.0.0.1"}
    environment |= {"XDG_CACHE_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-m", "scripts.refresh.torch", "torch"]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert f"+{ROW}" in run.stdout
    assert compat.parent == tmp_path
    assert [path.name for path in (tmp_path / "home" / "gpudoctor" / "wheels").iterdir()] == [f"{TORCH}.json"]


def test_cached_answers_are_not_read_again(server: Server, compat: Path, tmp_path: Path) -> None:
    first = refresh(server, compat)
    sent = server.sent
    assert refresh(server, compat).stdout == first.stdout
    assert server.sent == sent
    assert refresh(server, compat, "--cache", str(tmp_path / "another")).stdout == first.stdout
    assert server.sent == 2 * sent


def test_a_project_that_the_index_lacks_is_one_sentence(server: Server, compat: Path) -> None:
    environment = {**os.environ, "PIP_INDEX_URL": f"http://127.0.0.1:{server.server_port}/simple", "no_proxy": "127.0.0.1"}
    command = [sys.executable, "-m", "scripts.refresh.torch", "torchvision", "--compat", str(compat)]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 1
    assert run.stderr.startswith("The list of torchvision cannot be read: ")
    assert run.stdout == ""
