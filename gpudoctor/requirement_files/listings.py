"""Reads `pip list` and `uv pip list`, and the packages of a gpudoctor report."""

from __future__ import annotations

import re

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.requirement_files.collector import StatementCollector
from gpudoctor.requirement_files.files import PIP_NOTICE, PIP_NOTICE_REASON
from gpudoctor.requirement_files.model import FileLine
from gpudoctor.snapshot import Missing, decode_snapshot


def read_table(text: str, file: str, into: StatementCollector) -> None:
    """Take the rows of `pip list`."""
    for number, line in enumerate(text.split("\n"), 1):
        words, place = line.split(), FileLine(file, number)
        if re.match(PIP_NOTICE, line):
            into.not_read(line, PIP_NOTICE_REASON, place, package=False)
        elif len(words) >= 2 and words[0] != "Package" and not line.startswith("-"):
            into.text(f"{words[0]}=={words[1]}", place)


def read_report(text: str, file: str, into: StatementCollector) -> None:
    """Take the packages of the environment that a gpudoctor report describes."""
    try:
        document = msgspec.json.decode(text)
        snapshot = decode_snapshot(msgspec.json.encode(document.get("snapshot", document)))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"The gpudoctor report {file} is incomplete or damaged ({error}); name the whole file.") from None
    if isinstance(snapshot.packages, Missing):
        raise UsageError(f"The gpudoctor report {file} lists no packages; make one with `gpudoctor check --format json`.")
    if not isinstance(snapshot.python, Missing) and isinstance(snapshot.python.version, str):
        into.python(f"=={snapshot.python.version}", FileLine(file, 0))
    for distribution in snapshot.packages.distributions:
        into.text(f"{distribution.name}=={distribution.version}", FileLine(file, 0))
    for text_ in () if isinstance(snapshot.packages.others, Missing) else snapshot.packages.others:
        into.text(text_, FileLine(file, 0))
