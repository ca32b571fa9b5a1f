"""Reads tables of packages: `pip list`, `uv pip list`, `conda list`, `mamba list`, `pixi list` and `poetry show`, whole or a few rows of them."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpudoctor.expressions import expression
from gpudoctor.frameworks import ADDONS, framework_of, stack_of
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Directness, Line, Statement
from gpudoctor.snapshot.distributions import normalise_distribution

_PACKAGE_LINE = expression(
    r"^\s{0,8}(?:[-*•] )?(?P<name>[A-Za-z_][\w.-]{1,60})\s{1,80}(?:\((?P<legacy>\d[\w.+!]{0,60})(?:, [^()\n]{1,200})?\)\s{0,8}$"
    r"|(?:\(!\) )?v?(?P<version>\d[\w.+!]{0,60})(?:\s+(?P<rest>\S.{0,300}))?$)"
)
"""pip before 10 put the version in parentheses, with the folder of a package in development: https://pip.pypa.io/en/stable/news/"""
_CANDIDATE_LINE = expression(r"(?m)^[ \t]{0,8}(?:[-*•] |# )?[A-Za-z_][\w.-]{1,60}[ \t]{1,80}(?:\(!\) )?(?:\(?v?\d|Version\b)")
_HEADER_LINE = expression(r"^\s{0,8}#? ?(?:Package|Name)\s{1,80}Version\b")
_RULE_LINE = expression(r"^\s*[-─━ ]{4,200}$")
_BUILD_COLUMNS = expression(
    r"^(?P<build>(?:[A-Za-z][\w.]*_)?\d{1,6}|main|<pip>|<develop>|pypi)(?:\s+\[[\w, ]{2,40}\])?(?:\s+(?P<channel>\S{1,120}))?$"
)
_PIXI_COLUMNS = expression(r"^(?:(?P<build>\S{1,80})\s+)?[\d.]+\s[KMG]i?B\s+(?P<channel>conda|pypi)\b")
_LOCATION_COLUMN = expression(r"^(?:/|[A-Za-z]:\\|~)\S*(?:\s+pip)?$")
_KNOWN_PACKAGES = frozenset(
    ("numpy", "pip", "setuptools", "protobuf", "scipy", "triton", "transformers", "cudatoolkit", "pytorch", "pytorch-cuda")
)
_MIN_WHOLE_LIST = 20
"""Rows from which a list without a header is not a selection."""

_MIN_SORTED_RUN = 5
"""Rows in the order of the alphabet that are no accident."""


class _PackageRow(NamedTuple):
    line: Line
    name: str
    version: str
    build: str
    """conda's build string; "pypi" if pip installed the package there."""
    channel: str
    plain: bool
    """Nothing follows the version, or what pip and conda write there."""


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the rows below a header, and runs of rows without one that name a package we know."""
    run: list[_PackageRow] = []
    headed, last = False, -1
    for place in _candidate_places(lines):
        ruled = headed and not run and place == last + 2 and _RULE_LINE.match(lines[last + 1].text)
        row = _package_row(lines[place])
        if row is None or not (place == last + 1 or ruled) or (run and _is_after_table(row, run)):
            yield from _run_statements(run, headed=headed)
            run, headed = [], bool(_HEADER_LINE.match(lines[place].text))
        if row is not None and not (headed and not run and _HEADER_LINE.match(lines[place].text)):
            run.append(row)
        last = place
    yield from _run_statements(run, headed=headed)


def _is_after_table(row: _PackageRow, run: Sequence[_PackageRow]) -> bool:
    """Return whether a row behind an empty line is no part of the table: its rows follow each other, and have a build where it has none."""
    gap = row.line.number - run[-1].line.number
    spaced = len(run) > 1 and run[1].line.number - run[0].line.number == gap
    return gap > 1 and not spaced and bool(run[-1].build or run[-1].channel) != bool(row.build or row.channel)


def _candidate_places(lines: Sequence[Line]) -> list[int]:
    """Return the places of the lines that may be rows or headers: few, of a long log."""
    ends = list(itertools.accumulate(len(line.text) + 1 for line in lines))
    text = "\n".join(line.text for line in lines)
    return [bisect.bisect_right(ends, found.start()) for found in _CANDIDATE_LINE.finditer(text)]


def _package_row(line: Line) -> _PackageRow | None:
    if len(line.text) > 400 or not (found := _PACKAGE_LINE.match(line.text)):
        return None
    rest = (found["rest"] or "").strip()
    conda = _BUILD_COLUMNS.match(rest) or _PIXI_COLUMNS.match(rest)
    build, channel = (conda["build"] or "", conda["channel"] or "") if conda else ("", "")
    pip = "pypi" in {build.partition("_")[0], channel} or build in {"<pip>", "<develop>"}
    return _PackageRow(
        line,
        found["name"],
        found["legacy"] or found["version"],
        "pypi" if pip else build,
        channel,
        not rest or bool(conda or _LOCATION_COLUMN.match(rest)),
    )


def _run_statements(run: list[_PackageRow], *, headed: bool) -> Iterator[Statement]:
    if not (headed or _is_poetry_list(run)):
        run = [row for row in run if row.plain]
    known = [row for row in run if is_known_package(row.name) and "." in row.version and not _is_framework_title(row.name)]
    if not (headed or known):
        return
    if len(run) >= _MIN_WHOLE_LIST or (headed and len(run) >= _MIN_WHOLE_LIST // 2):
        yield Statement("whole list", str(len(run)), "package list", run[0].line.number, Directness.LISTING)
    for row in run if headed or len(run) > 1 else known:
        yield from _row_statements(row)


def _is_poetry_list(run: list[_PackageRow]) -> bool:
    """Return whether this is `poetry show`, which has no header and sorts the names; prose follows each version."""
    names = [row.name.lower() for row in run]
    return len(run) >= _MIN_SORTED_RUN and names == sorted(names)


def _row_statements(row: _PackageRow) -> Iterator[Statement]:
    number = row.line.number
    if row.build and row.build != "pypi":
        yield Statement(f"conda:{row.name}", f"{row.version} {row.build} {row.channel}".strip(), "conda list", number, Directness.LISTING)
    else:
        yield Statement(f"package:{row.name}", row.version, "conda list" if row.build else "pip list", number, Directness.LISTING)
    if row.build == "pypi":
        yield Statement(f"installer:{normalise_distribution(row.name)}", "pip", "conda list", number, Directness.LISTING)


def _is_framework_title(name: str) -> bool:
    """Return whether this is how people write a framework's name, which tells nothing of its package: TensorFlow 1.9, PyTorch 2.1."""
    return name != name.lower() and bool(framework_of(normalise_distribution(name)))


def is_known_package(name: str) -> bool:
    """Return whether a distribution is one that findings are about."""
    normal = normalise_distribution(name)
    return bool(stack_of(normal)) or normal in ADDONS or normal in _KNOWN_PACKAGES or normal.startswith(("nvidia-", "cupy"))


READER = Reader("package list", blocks=_statements)
