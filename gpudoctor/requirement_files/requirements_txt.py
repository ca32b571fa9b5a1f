"""Reads pip's requirements files: requirements, constraints, included files, options of indexes."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator

from gpudoctor.errors import UsageError
from gpudoctor.requirement_files.collector import StatementCollector, requirement_of_wheel
from gpudoctor.requirement_files.files import PIP_NOTICE, PIP_NOTICE_REASON, text_of_file
from gpudoctor.requirement_files.model import FileLine, StatedRequirement

_MAX_DEPTH = 20
_COMMENT_FORM = re.compile(r"(?:^|(?<!\s)\s+)#.*$")
_REQUIREMENT_OPTIONS = re.compile(r"(?<!\s)\s+--(?:hash|global-option|config-settings?|install-option)\b.*$")
_REQUIREMENT_LINE = re.compile(r"-|[a-z0-9+.]+://|[\w.-]+\s*(?:$|[\[@;<>=!~(#])", re.IGNORECASE)
_VARIABLE_FORM = re.compile(r"\$\{[A-Z0-9_]+\}")
_ADDRESS_FORM = re.compile(r"^(?:[a-z0-9+.-]+://|file:|[./~]|[a-z]:\\)|\.(?:whl|zip|tar\.gz|tar\.bz2|tgz)(?:#|\s|$)", re.IGNORECASE)
_INCLUDE_OPTIONS = {"-r": False, "--requirement": False, "-c": True, "--constraint": True}
_INDEX_OPTIONS = {"-i": True, "--index-url": True, "--extra-index-url": False, "-f": False, "--find-links": False}
_HARMLESS_OPTIONS = (
    "--hash",
    "--require-hashes",
    "--no-binary",
    "--only-binary",
    "--prefer-binary",
    "--pre",
    "--trusted-host",
    "--use-feature",
)


def read(text: str, file: str, into: StatementCollector, *, constraint: bool = False, above: tuple[str, ...] = ()) -> None:
    """Take what a requirements file asks for. Raises UsageError for a file that includes itself."""
    real = os.path.realpath(file)
    if real in above:
        raise UsageError(f"{file} includes itself through -r or -c; remove one of these lines.")
    if len(above) >= _MAX_DEPTH:
        raise UsageError(f"{file} is the {len(above) + 1}st file in a chain of -r and -c; pass one of them by name.")
    lines = list(logical_lines(text))
    if not above and len(lines) > 4 and sum(_REQUIREMENT_LINE.match(one) is not None for _, one in lines) * 2 < len(lines):
        raise UsageError(f"{file} is not a file of requirements; for a log or a report use `gpudoctor diagnose {file}`.")
    for number, joined in lines:
        add_line(joined, FileLine(file, number), into, constraint=constraint, above=(*above, real))


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, continuations joined, without comments and empty ones."""
    joined, began = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        began = began or number
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            joined += line[:-1]
            continue
        whole = _COMMENT_FORM.sub("", joined + line).strip()
        if whole:
            yield began, whole
        joined, began = "", 0
    if joined.strip():
        yield began, joined.strip()


def add_line(text: str, place: FileLine, into: StatementCollector, *, constraint: bool = False, above: tuple[str, ...] = ()) -> None:
    """Take one logical line."""
    if _VARIABLE_FORM.search(text):
        into.not_read(text, "its variable is set only when pip runs", place)
    elif re.match(PIP_NOTICE, text):
        into.not_read(text, PIP_NOTICE_REASON, place, package=False)
    elif text.startswith("-"):
        _add_option(text, place, into, above, constraint=constraint)
    else:
        add_requirement(_REQUIREMENT_OPTIONS.sub("", text), place, into, constraint=constraint)


def add_requirement(
    text: str, place: FileLine, into: StatementCollector, *, constraint: bool = False, index: tuple[str, bool] = ("", True)
) -> None:
    """Take one requirement as pip accepts it: PEP 508, or a file or address. `index` is its own index, and whether it has no other."""
    if " @ " not in text and _ADDRESS_FORM.search(text.partition(";")[0]):
        address, _, marker = text.partition(";")
        found = requirement_of_wheel(address.strip(), marker=marker.strip())
        if found is None:
            into.not_read(text, "it is a file or an address, which does not tell the release", place, name=_egg_name(text))
        else:
            into.add(StatedRequirement(requirement=found, places=(place,), index=index[0], index_only=index[1]), constraint=constraint)
        return
    into.text(text, place, constraint=constraint, index=index)


def _egg_name(text: str) -> str:
    named = re.search(r"(?:^|&)egg=([A-Za-z0-9._-]+)", text.partition("#")[2])
    return named[1] if named else ""


def _add_option(line: str, place: FileLine, into: StatementCollector, above: tuple[str, ...], *, constraint: bool) -> None:
    name, value = _option_and_value(line)
    if name in _INCLUDE_OPTIONS and value:
        if "://" in value:
            into.not_read(line, "files on the network are not read", place)
            return
        file = os.path.join(os.path.dirname(place.file), value)
        into.file(file)
        read(text_of_file(file, f"included by {place}"), file, into, constraint=constraint or _INCLUDE_OPTIONS[name], above=above)
    elif name in _INDEX_OPTIONS and value:
        into.index(value, place, only=_INDEX_OPTIONS[name])
    elif name in {"-e", "--editable"} and value:
        into.not_read(line, "the source folder states its own requirements; pass its pyproject.toml too", place, name=_egg_name(value))
    elif not name.startswith(_HARMLESS_OPTIONS):
        into.not_read(line, "pip's other options are not read", place, package=False)


def _option_and_value(line: str) -> tuple[str, str]:
    """An option and its value, which a space, = or, for a short option, nothing separates."""
    try:
        words = shlex.split(line)
    except ValueError:
        return line, ""
    name, equals, value = words[0].partition("=")
    if equals:
        return name, value
    if not name.startswith("--") and len(name) > 2:
        return name[:2], name[2:]
    return name, words[1] if len(words) > 1 else ""
