"""Our own package index: one wheel in this process, or HTTP (pages and ranges of files) for the scripts as programs."""

from __future__ import annotations

import io
import os
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from scripts.refresh.index import IndexFile
from tests.seams import warm


class OneWheel:
    """An index whose every wheel is the archive returned by `opened`."""

    def __init__(self, opened: Callable[[], zipfile.ZipFile], **files: list[IndexFile]) -> None:
        self._opened, self._files = opened, files

    def files(self, project: str) -> list[IndexFile]:
        return self._files.get(project.replace("-", "_"), [])

    def wheel(self, url: str, least: int = 1) -> zipfile.ZipFile:
        assert url
        assert least
        return self._opened()


def archive(**members: str | bytes) -> bytes:
    """A wheel with these members; "__" in a name stands for a slash and "_dot_" for a dot."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in members.items():
            wheel.writestr(name.replace("__", "/").replace("_dot_", "."), data)
    return content.getvalue()


def metadata(text: str) -> dict[str, str]:
    """The member with the METADATA, for `archive`."""
    return {"a_dot_dist-info__METADATA": f"Name: a\n{text}\n\n"}


class _Handler(BaseHTTPRequestHandler):
    projects: Mapping[str, Mapping[str, bytes]]

    def do_GET(self) -> None:
        place = self.path.rstrip("/").rsplit("/", 1)[-1]
        files = {name: content for held in self.projects.values() for name, content in held.items()}
        if place in files:
            content = files[place]
            first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
            start, end = (int(first), min(int(last), len(content) - 1)) if first else (len(content) - int(last), len(content) - 1)
            self._answer(206, content[start : end + 1], f"bytes {start}-{end}/{len(content)}")
        else:
            self._answer(200, "".join(f'<a href="/files/{name}">{name}</a>' for name in self.projects.get(place, {})).encode())

    def _answer(self, status: int, body: bytes, ranges: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        if ranges:
            self.send_header("Content-Range", ranges)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class names it
        pass


@contextmanager
def served(projects: Mapping[str, Mapping[str, bytes]]) -> Iterator[str]:
    """The address of an index with these files, by project; other projects have an empty page."""
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Served", (_Handler,), {"projects": projects})) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/simple"
        server.shutdown()
        thread.join()


class Done(NamedTuple):
    """What a script printed, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


def run(script: str, address: str, compat: Path, *options: str) -> Done:
    """Run a script over the index at `address` and the tables in `compat`, with a cache beside them."""
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment |= {"PIP_INDEX_URL": address, "PIP_CONFIG_FILE": os.devnull}
    places = ("--compat", str(compat), "--cache", str(compat / "cache"))
    done = warm.program(f"scripts.refresh.{script}", *places, *options, env=environment)
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())
