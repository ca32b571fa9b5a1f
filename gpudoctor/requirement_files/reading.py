"""Reads the files that state an environment: requirements, project and lock files, conda's environments, listings, Dockerfiles, reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from os.path import basename

from gpudoctor.requirement_files import conda, dockerfile, listings, locks, pipfile_lock, pixi, pyproject, requirements_txt
from gpudoctor.requirement_files.collector import StatementCollector
from gpudoctor.requirement_files.files import PATIENCE_SECONDS, PIP_NOTICE, text_of_file
from gpudoctor.requirement_files.model import RequestedPackages
from gpudoctor.snapshot.distributions import normalise_distribution

FileReader = Callable[[str, str, StatementCollector], None]
_READERS_BY_NAME: tuple[tuple[str, FileReader], ...] = (
    (r"pyproject.*\.toml", pyproject.read),
    (r"pixi.*\.toml", pixi.read),
    (r"(?:uv|poetry)\.lock|pylock(?:\.[\w-]+)?\.toml", locks.read),
    (r"Pipfile.*\.lock", pipfile_lock.read),
    (r".*\.ya?ml", conda.read_environment),
    (r"(?:.*\.)?(?:Docker|Container)file(?:\..*)?", dockerfile.read),
)
_READERS_BY_CONTENT: tuple[tuple[str, FileReader], ...] = (
    (r'\s*\{\s*"schema"\s*:\s*"gpudoctor\.report/1"', listings.read_report),
    (r'\s*\{\s*"version"\s*:\s*"\d+\.\d+"\s*,\s*"created"', listings.read_report),
    (r'\s*\{\s*"_meta"', pipfile_lock.read),
    (
        r"# packages in environment at|# This file may be used to create an environment|(?:#[^\n]*\n)*(?:@EXPLICIT|# *Name +Version +Build\b)|\s*List of packages in environment",
        conda.read_list,
    ),
    (rf"(?:{PIP_NOTICE}[^\n]*\n)*Package +Version\b[^\n]*\n-{{3,}} +-{{3,}}", listings.read_table),
    (r"(?:[^\S\n]*(?:#[^\n]*)?\n|ARG [^\n]*\n)*FROM +\S", dockerfile.read),
    (r"(?:(?:[#\t -][^\n]*)?\n|(?:name|channels|prefix):[^\n]*\n)*dependencies: *\n", conda.read_environment),
    (r"(?s).*^\[(?:project|build-system|tool\.\w+)\]", pyproject.read),
    (r"(?s).*^\[\[packages?\]\]", locks.read),
)


def read_requirement_files(files: Iterable[str], extras: Iterable[str] = (), groups: Iterable[str] = ()) -> RequestedPackages:
    """Everything that the files ask for, without what they install only on request: `extras` and dependency `groups` name that.

    Raises UsageError for a file that cannot be read or that includes itself, and for an extra or a group that no file has.
    """
    into = StatementCollector(frozenset(map(normalise_distribution, extras)), frozenset(map(normalise_distribution, groups)))
    for file in dict.fromkeys(files):
        into.file(file)
        text = text_of_file(file, patience=PATIENCE_SECONDS)
        _reader_of_file(file, text)(text, file, into)
    into.refuse_unknown_names()
    return into.asked()


def _reader_of_file(file: str, text: str) -> FileReader:
    """The reader of a file, by its name and else by how it begins; otherwise it is a requirements file."""
    for pattern, reader in _READERS_BY_NAME:
        if re.fullmatch(pattern, basename(file)):
            return reader
    return next((reader for pattern, reader in _READERS_BY_CONTENT if re.match(pattern, text, re.MULTILINE)), requirements_txt.read)
