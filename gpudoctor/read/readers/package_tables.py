"""Reads tables of packages: `pip list`, `uv pip list`, `conda list`, `mamba list`, `pixi list` and `poetry show`, whole or a few rows of them."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpudoctor.expressions import expression
from gpudoctor.frameworks import ADDONS, framework_of, stack_of
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Line, Rank, Statement
from gpudoctor.snapshot.distributions import normalise

_ROW = expression(
    r"^\s{0,8}(?:[-*•] )?(?P<name>[A-Za-z_][\w.-]{1,60})\s{1,80}(?:\((?P<legacy>\d[\w.+!]{0,60})(?:, [^()\n]{1,200})?\)\s{0,8}$"
    r"|(?:\(!\) )?v?(?P<version>\d[\w.+!]{0,60})(?:\s+(?P<rest>\S.{0,300}))?$)"
)
"""pip before 10 put the version in parentheses, with the folder of a package in development: https://pip.pypa.io/en/stable/news/"""
_CANDIDATE = expression(r"(?m)^[ \t]{0,8}(?:[-*•] |# )?[A-Za-z_][\w.-]{1,60}[ \t]{1,80}(?:\(!\) )?(?:\(?v?\d|Version\b)")
_HEADER = expression(r"^\s{0,8}#? ?(?:Package|Name)\s{1,80}Version\b")
_RULE = expression(r"^\s*[-─━ ]{4,200}$")
_BUILD = expression(
    r"^(?P<build>(?:[A-Za-z][\w.]*_)?\d{1,6}|main|<pip>|<develop>|pypi)(?:\s+\[[\w, ]{2,40}\])?(?:\s+(?P<channel>\S{1,120}))?$"
)
_PIXI = expression(r"^(?:(?P<build>\S{1,80})\s+)?[\d.]+\s[KMG]i?B\s+(?P<channel>conda|pypi)\b")
_PLACE = expression(r"^(?:/|[A-Za-z]:\\|~)\S*(?:\s+pip)?$")
_KNOWN = frozenset(("numpy", "pip", "setuptools", "protobuf", "scipy", "triton", "transformers", "cudatoolkit", "pytorch", "pytorch-cuda"))
_WHOLE = 20
"""Rows from which a list without a header is not a selection."""

_SORTED = 5
"""Rows in the order of the alphabet that are no accident."""


class _Row(NamedTuple):
    line: Line
    name: str
    version: str
    build: str
    """conda's build string; "pypi" if pip installed the package there."""
    channel: str
    plain: bool
    """Nothing follows the version, or what pip and conda write there."""


def _facts(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the rows below a header, and runs of rows without one that name a package we know."""
    run: list[_Row] = []
    headed, last = False, -1
    for place in _candidates(lines):
        ruled = headed and not run and place == last + 2 and _RULE.match(lines[last + 1].text)
        row = _row(lines[place])
        if row is None or not (place == last + 1 or ruled) or (run and _is_other(row, run)):
            yield from _of_run(run, headed=headed)
            run, headed = [], bool(_HEADER.match(lines[place].text))
        if row is not None and not (headed and not run and _HEADER.match(lines[place].text)):
            run.append(row)
        last = place
    yield from _of_run(run, headed=headed)


def _is_other(row: _Row, run: Sequence[_Row]) -> bool:
    """Return whether a row behind an empty line is no part of the table: its rows follow each other, and have a build where it has none."""
    gap = row.line.number - run[-1].line.number
    spaced = len(run) > 1 and run[1].line.number - run[0].line.number == gap
    return gap > 1 and not spaced and bool(run[-1].build or run[-1].channel) != bool(row.build or row.channel)


def _candidates(lines: Sequence[Line]) -> list[int]:
    """Return the places of the lines that may be rows or headers: few, of a long log."""
    ends = list(itertools.accumulate(len(line.text) + 1 for line in lines))
    text = "\n".join(line.text for line in lines)
    return [bisect.bisect_right(ends, found.start()) for found in _CANDIDATE.finditer(text)]


def _row(line: Line) -> _Row | None:
    if len(line.text) > 400 or not (found := _ROW.match(line.text)):
        return None
    rest = (found["rest"] or "").strip()
    conda = _BUILD.match(rest) or _PIXI.match(rest)
    build, channel = (conda["build"] or "", conda["channel"] or "") if conda else ("", "")
    pip = "pypi" in {build.partition("_")[0], channel} or build in {"<pip>", "<develop>"}
    return _Row(
        line,
        found["name"],
        found["legacy"] or found["version"],
        "pypi" if pip else build,
        channel,
        not rest or bool(conda or _PLACE.match(rest)),
    )


def _of_run(run: list[_Row], *, headed: bool) -> Iterator[Statement]:
    if not (headed or _is_sorted(run)):
        run = [row for row in run if row.plain]
    known = [row for row in run if is_known(row.name) and "." in row.version and not _is_title(row.name)]
    if not (headed or known):
        return
    if len(run) >= _WHOLE or (headed and len(run) >= _WHOLE // 2):
        yield Statement("whole list", str(len(run)), "package list", run[0].line.number, Rank.LISTING)
    for row in run if headed or len(run) > 1 else known:
        yield from _of_row(row)


def _is_sorted(run: list[_Row]) -> bool:
    """Return whether this is `poetry show`, which has no header and sorts the names; prose follows each version."""
    names = [row.name.lower() for row in run]
    return len(run) >= _SORTED and names == sorted(names)


def _of_row(row: _Row) -> Iterator[Statement]:
    number = row.line.number
    if row.build and row.build != "pypi":
        yield Statement(f"conda:{row.name}", f"{row.version} {row.build} {row.channel}".strip(), "conda list", number, Rank.LISTING)
    else:
        yield Statement(f"package:{row.name}", row.version, "conda list" if row.build else "pip list", number, Rank.LISTING)
    if row.build == "pypi":
        yield Statement(f"installer:{normalise(row.name)}", "pip", "conda list", number, Rank.LISTING)


def _is_title(name: str) -> bool:
    """Return whether this is how people write a framework's name, which tells nothing of its package: TensorFlow 1.9, PyTorch 2.1."""
    return name != name.lower() and bool(framework_of(normalise(name)))


def is_known(name: str) -> bool:
    """Return whether a distribution is one that findings are about."""
    normal = normalise(name)
    return bool(stack_of(normal)) or normal in ADDONS or normal in _KNOWN or normal.startswith(("nvidia-", "cupy"))


READER = Reader("package list", blocks=_facts)
