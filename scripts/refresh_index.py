"""The package index as pip is configured for it, and published wheels read by HTTP range.

The index's address, its certificates and proxies are pip's own; nothing here names a host. A 600 MB wheel costs its table of
contents and the few members that are asked for.
"""

from __future__ import annotations

import html.parser
import importlib
import io
import json
import re
import urllib.parse
import zipfile
from typing import Any, NamedTuple

_JSON = "application/vnd.pypi.simple.v1+json"


class IndexFile(NamedTuple):
    """A file that the index lists."""

    filename: str
    url: str


class WheelName(NamedTuple):
    """What a wheel's file name says: one interpreter ("3.11", "3.14t") and the platforms ("linux_x86_64", "win_amd64")."""

    distribution: str
    release: str
    python: str
    platforms: frozenset[str]


def parse_index(body: str, content_type: str, base: str) -> list[IndexFile]:
    """The files on an index page, in either of the two standard forms (JSON, or HTML anchors); `base` is the page's address."""
    if "json" in content_type:
        return [IndexFile(file["filename"], urllib.parse.urljoin(base, file["url"])) for file in json.loads(body)["files"]]
    parser = _Anchors()
    parser.feed(body)
    links = (urllib.parse.urldefrag(urllib.parse.urljoin(base, link)).url for link in parser.links)
    return [IndexFile(urllib.parse.unquote(link.rsplit("/", 1)[-1]), link) for link in links]


def parse_wheel_name(filename: str) -> WheelName | None:
    """The parts of a CPython wheel's name, None for other files ("torch-2.0.0-1-cp38-cp38-manylinux2014_aarch64.whl" has a build)."""
    parts = filename.removesuffix(".whl").split("-")
    tag = re.fullmatch(r"cp(\d)(\d+)", parts[-3]) if filename.endswith(".whl") and len(parts) in {5, 6} else None
    if tag is None:
        return None
    free_threaded = "t" if parts[-2] == f"{parts[-3]}t" else ""
    platforms = frozenset(re.sub(r"^(many)?linux(\d+|_\d+_\d+)?_", "linux_", platform) for platform in parts[-1].split("."))
    return WheelName(parts[0].replace("_", "-").lower(), parts[1], f"{tag[1]}.{tag[2]}{free_threaded}", platforms)


class Index:
    """The package index that pip is configured for."""

    def __init__(self) -> None:
        command = importlib.import_module("pip._internal.commands").create_command("download")
        options, _ = command.parse_args(["nothing"])
        self._session: Any = command._build_session(options)  # noqa: SLF001  pip has no public session
        self._root = options.index_url.rstrip("/")

    def files(self, project: str) -> list[IndexFile]:
        """The files of a project; an OSError where the index cannot be reached."""
        answer = self._session.get(f"{self._root}/{project}/", headers={"Accept": f"{_JSON}, text/html;q=0.5"})
        answer.raise_for_status()
        return parse_index(answer.text, answer.headers.get("Content-Type", ""), answer.url)

    def wheel(self, url: str) -> zipfile.ZipFile:
        """A published wheel, of which only what is read is transferred."""
        return zipfile.ZipFile(RangeFile(self._session, url))


class RangeFile(io.RawIOBase):
    """A remote file that is read by ranges of at least 64 KiB, over anything with the `get` of a requests session."""

    LEAST = 65536

    def __init__(self, session: Any, url: str) -> None:
        super().__init__()
        self._session, self._url, self._at = session, url, 0
        self._start, self._held = 0, b""
        total = self._get("bytes=-1").headers["Content-Range"]
        self._size = int(total.rpartition("/")[2])

    def _get(self, ranges: str) -> Any:
        answer = self._session.get(self._url, headers={"Range": ranges, "Accept-Encoding": "identity"})
        answer.raise_for_status()
        if answer.status_code != 206:
            raise OSError("the index does not serve ranges of files")
        return answer

    def seekable(self) -> bool:
        """A range can begin anywhere."""
        return True

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def tell(self) -> int:
        """The offset in bytes."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move to an offset in bytes; nothing is transferred."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes from here, all where it is negative."""
        end = self._size if size < 0 else min(self._at + size, self._size)
        if not self._start <= self._at <= end <= self._start + len(self._held):
            last = min(max(end, self._at + self.LEAST), self._size) - 1
            self._start, self._held = self._at, self._get(f"bytes={self._at}-{last}").content
        piece = self._held[self._at - self._start : end - self._start]
        self._at += len(piece)
        return piece


class _Anchors(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links.extend(value for name, value in attrs if tag == "a" and name == "href" and value)
