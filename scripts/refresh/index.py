"""The package index as pip is configured for it, and published wheels read by HTTP range.

The index's address, certificates and proxies are pip's own; no host is named here. Only the table of contents and a few members of a
600 MB wheel are transferred.
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

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

_JSON = "application/vnd.pypi.simple.v1+json"


_PYTHONS = ("2.7", *(f"3.{minor}" for minor in range(3, 16)))
"""The interpreters that a wheel may be for without naming each."""


class IndexFile(NamedTuple):
    """A file that the index lists.

    `requires_python` is its bound on Python (">=3.9"), or empty; `size` is in bytes, 0 if it is not listed. `yanked`: it was withdrawn (PEP 592).
    """

    filename: str
    url: str
    requires_python: str = ""
    size: int = 0
    yanked: bool = False


class WheelName(NamedTuple):
    """The parts of a wheel's file name.

    `pythons` are the interpreters ("3.11", "3.14t"), for a stable ABI all from the named one on, and () for pure Python, which only its
    metadata limits. `platforms` are as in the tables: "linux_x86_64", "win_amd64", "macos_arm64", "any".
    """

    distribution: str
    release: str
    pythons: tuple[str, ...]
    platforms: frozenset[str]


def parse_index(body: str, content_type: str, base: str) -> list[IndexFile]:
    """Return the files on an index page, in either standard form (JSON, or HTML anchors); `base` is the page's address."""
    if "json" in content_type:
        files = json.loads(body)["files"]
        return [
            IndexFile(
                file["filename"],
                urllib.parse.urljoin(base, file["url"]),
                file.get("requires-python") or "",
                file.get("size") or 0,
                bool(file.get("yanked")) or file.get("yanked") == "",
            )
            for file in files
        ]
    parser = _Anchors()
    parser.feed(body)
    links = ((urllib.parse.urldefrag(urllib.parse.urljoin(base, link)).url, python, yanked) for link, python, yanked in parser.links)
    return [IndexFile(urllib.parse.unquote(link.rsplit("/", 1)[-1]), link, python, yanked=yanked) for link, python, yanked in links]


def parse_wheel_name(filename: str) -> WheelName | None:
    """Return the parts of a wheel's name; None for other files ("torch-2.0.0-1-cp38-cp38-manylinux2014_aarch64.whl" has a build)."""
    parts = filename.removesuffix(".whl").split("-")
    if not filename.endswith(".whl") or len(parts) not in {5, 6}:
        return None
    pythons: set[str] = set()
    for tag in parts[-3].split("."):
        named = re.fullmatch(r"(cp|py)(\d)(\d*)", tag)
        if named is None:
            return None
        if named[1] == "cp" and named[3]:
            pythons.update(_interpreters(f"{named[2]}.{named[3]}", parts[-2]))
    platforms = frozenset(name for tag in parts[-1].split(".") for name in _platforms(tag))
    return WheelName(parts[0].replace("_", "-").lower(), parts[1], tuple(sorted(pythons, key=python_order)), platforms)


def parse_source_name(filename: str) -> tuple[str, str] | None:
    """Return distribution and release of a source archive; None for other files."""
    named = re.fullmatch(r"([\w.-]+?)-(\d[^-]*)\.tar\.gz", filename)
    return (canonicalize_name(named[1]), named[2]) if named else None


def python_order(python: str) -> tuple[int, int, bool]:
    """Return the sort key that puts "3.9" before "3.14" before "3.14t"."""
    major, _, minor = python.partition(".")
    return int(major), int(minor.rstrip("t")), minor.endswith("t")


def pythons_within(requires_python: str) -> tuple[str, ...]:
    """Return the interpreters that metadata allows; () if it says nothing, or nothing that installers read, such as ">=3.7<3.10"."""
    try:
        allowed = SpecifierSet(requires_python)
    except InvalidSpecifier:
        return ()
    return tuple(python for python in _PYTHONS if requires_python and allowed.contains(f"{python}.99"))


def _interpreters(python: str, abi: str) -> list[str]:
    if abi == "abi3":
        return [later for later in _PYTHONS if python_order(later) >= python_order(python)]
    return [f"{python}t" if abi == f"cp{python.replace('.', '')}t" else python]


def _platforms(tag: str) -> tuple[str, ...]:
    mac = re.fullmatch(r"macosx_\d+_\d+_(arm64|x86_64|intel|universal2)", tag)
    if mac:
        return ("macos_arm64", "macos_x86_64") if mac[1] == "universal2" else (f"macos_{mac[1].replace('intel', 'x86_64')}",)
    return (re.sub(r"^(many)?linux(\d+|_\d+_\d+)?_", "linux_", tag),)


class Index:
    """The package index that pip is configured for."""

    def __init__(self) -> None:
        command = importlib.import_module("pip._internal.commands").create_command("download")
        options, _ = command.parse_args(["nothing"])
        self._session: Any = command._build_session(options)  # noqa: SLF001  pip has no public session
        self._root = options.index_url.rstrip("/")
        self._listed: dict[str, list[IndexFile]] = {}

    def files(self, project: str) -> list[IndexFile]:
        """Return the files of a project. Raises OSError if the index cannot be reached."""
        if project not in self._listed:
            answer = self._session.get(f"{self._root}/{project}/", headers={"Accept": f"{_JSON}, text/html;q=0.5"})
            answer.raise_for_status()
            self._listed[project] = parse_index(answer.text, answer.headers.get("Content-Type", ""), answer.url)
        return self._listed[project]

    def wheel(self, url: str, least: int = 1 << 16) -> zipfile.ZipFile:
        """Return a published wheel that transfers only what is read, at least `least` bytes at a time."""
        return zipfile.ZipFile(RangeFile(self._session, url, least))

    def file(self, url: str, least: int = 1 << 16) -> io.BufferedReader:
        """Return a published file that transfers only what is read, at least `least` bytes at a time."""
        return io.BufferedReader(RangeFile(self._session, url, least))


class RangeFile(io.RawIOBase):
    """A remote file, read in ranges of at least `least` bytes through anything with the `get` of a requests session."""

    def __init__(self, session: Any, url: str, least: int = 1 << 16) -> None:
        super().__init__()
        self._session, self._url, self._least, self._at = session, url, least, 0
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
        """Return True: a range can begin anywhere."""
        return True

    def readable(self) -> bool:
        """Return True: it is for reading."""
        return True

    def tell(self) -> int:
        """Return the offset in bytes."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move to an offset in bytes; nothing is transferred."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        """Fill a buffer from here, up to the end of the file; return the number of bytes."""
        piece = self.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def read(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes from here; all if it is negative."""
        end = self._size if size < 0 else min(self._at + size, self._size)
        if not self._start <= self._at <= end <= self._start + len(self._held):
            last = min(max(end, self._at + self._least), self._size) - 1
            self._start, self._held = self._at, self._get(f"bytes={self._at}-{last}").content
        piece = self._held[self._at - self._start : end - self._start]
        self._at += len(piece)
        return piece


class _Anchors(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[tuple[str, str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a" and given.get("href"):
            self.links.append((given["href"] or "", given.get("data-requires-python") or "", "data-yanked" in given))
