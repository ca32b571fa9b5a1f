"""Reads the files that state an environment: requirements, project and lock files, conda's environments, listings, Dockerfiles, reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from os.path import basename

from gpudoctor.requirement_files import conda, dockerfile, listings, locks, pipfile_lock, pixi, pyproject, requirements_txt
from gpudoctor.requirement_files.collector import Collector
from gpudoctor.requirement_files.files import NOTICE, PATIENCE, text_of
from gpudoctor.requirement_files.model import Requested
from gpudoctor.snapshot.distributions import normalise

Reader = Callable[[str, str, Collector], None]
_BY_NAME: tuple[tuple[str, Reader], ...] = (
    (r"pyproject.*\.toml", pyproject.read),
    (r"pixi.*\.toml", pixi.read),
    (r"(?:uv|poetry)\.lock|pylock(?:\.[\w-]+)?\.toml", locks.read),
    (r"Pipfile.*\.lock", pipfile_lock.read),
    (r".*\.ya?ml", conda.read_environment),
    (r"(?:.*\.)?(?:Docker|Container)file(?:\..*)?", dockerfile.read),
)
_BY_CONTENT: tuple[tuple[str, Reader], ...] = (
    (r'\s*\{\s*"schema"\s*:\s*"gpudoctor\.report/1"', listings.read_report),
    (r'\s*\{\s*"version"\s*:\s*"\d+\.\d+"\s*,\s*"created"', listings.read_report),
    (r'\s*\{\s*"_meta"', pipfile_lock.read),
    (
        r"# packages in environment at|# This file may be used to create an environment|(?:#[^\n]*\n)*(?:@EXPLICIT|# *Name +Version +Build\b)|\s*List of packages in environment",
        conda.read_list,
    ),
    (rf"(?:{NOTICE}[^\n]*\n)*Package +Version\b[^\n]*\n-{{3,}} +-{{3,}}", listings.read_table),
    (r"(?:[^\S\n]*(?:#[^\n]*)?\n|ARG [^\n]*\n)*FROM +\S", dockerfile.read),
    (r"(?:(?:[#\t -][^\n]*)?\n|(?:name|channels|prefix):[^\n]*\n)*dependencies: *\n", conda.read_environment),
    (r"(?s).*^\[(?:project|build-system|tool\.\w+)\]", pyproject.read),
    (r"(?s).*^\[\[packages?\]\]", locks.read),
)


def read_requirement_files(files: Iterable[str], extras: Iterable[str] = (), groups: Iterable[str] = ()) -> Requested:
    """Everything that the files ask for, without what they install only on request: `extras` and dependency `groups` name that.

    Raises UsageError for a file that cannot be read or that includes itself, and for an extra or a group that no file has.
    """
    into = Collector(frozenset(map(normalise, extras)), frozenset(map(normalise, groups)))
    for file in dict.fromkeys(files):
        into.file(file)
        text = text_of(file, patience=PATIENCE)
        _reader(file, text)(text, file, into)
    into.refuse_unoffered()
    return into.asked()


def _reader(file: str, text: str) -> Reader:
    """The reader of a file, by its name and else by how it begins; otherwise it is a requirements file."""
    for pattern, reader in _BY_NAME:
        if re.fullmatch(pattern, basename(file)):
            return reader
    return next((reader for pattern, reader in _BY_CONTENT if re.match(pattern, text, re.MULTILINE)), requirements_txt.read)
