"""Reads packages one to a line: `pip freeze`, lock-file style exports of conda, `uv pip tree`, and what an installer says it installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import PACKAGE_FORM, Reader, StatementForm
from gpudoctor.read.statements import Directness, Line, Statement
from gpudoctor.snapshot.distributions import normalise_distribution

_NAME = "pip freeze"
_INSTALLED_LINE = expression(r"^\s*Successfully installed (?P<all>\S.{2,3900})")
_SATISFIED_LINE = expression(
    r"^\s*Requirement already satisfied: (?P<name>[A-Za-z][\w.-]{1,60})[^ ]{0,80} in .{1,300}\((?P<version>\d[\w.+!]{0,60})\)$"
)
_NAME_AND_VERSION = expression(r"(?P<name>[A-Za-z][\w.-]{1,60}?)-(?P<version>\d[\w.+!]{0,60})(?=\s|$)")
_UNMET_REQUIREMENT = expression(
    r"^\s*(?:ERROR: )?(?P<name>[A-Za-z][\w.-]{1,60}) (?P<version>\d[\w.+!]{0,60}) (?:requires|has requirement) [^ ]{1,120}"
    r"(?:; .{1,200})?, but you(?:'ll)? have (?P<other>[A-Za-z][\w.-]{1,60}) (?P<installed>\d[\w.+!]{0,60}?)(?= which|\.?$)"
)
_LIST_ENTRY = expression(r"^(?P<margin>\s{0,20})- (?P<name>pip:(?=\s*$)|[A-Za-z][\w.-]{1,60}(?:\[[\w,-]{1,40}\])?(?===\d))")
_SHOWN_FIELD = expression(r"^\s*(?P<key>Name|Version|Location): (?P<value>\S.{0,200})$")


def _installed_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield what pip installed; of several runs the last, which replaced what the earlier ones installed."""
    last: dict[str, Statement] = {}
    for line in lines:
        found = _INSTALLED_LINE.match(line.text) if "Successfully installed" in line.text else None
        kept = _SATISFIED_LINE.match(line.text) if "already satisfied" in line.text else None
        for match in _NAME_AND_VERSION.finditer(found["all"]) if found else filter(None, (kept,)):
            last[match["name"]] = Statement(f"package:{match['name']}", match["version"], "pip install", line.number, Directness.LOG)
    yield from last.values()


def _unmet_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield both packages of what `pip check` and pip's installer say of a requirement that is not met."""
    for line in lines:
        found = _UNMET_REQUIREMENT.match(line.text) if ", but you" in line.text else None
        if found:
            yield Statement(f"package:{found['name']}", found["version"], "pip check", line.number, Directness.LOG)
            yield Statement(f"package:{found['other']}", found["installed"], "pip check", line.number, Directness.LOG)


def _pip_show_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield what `pip show` states of a package: a Version right after a Name, and its Location some lines later."""
    name, began = "", 0
    for place, line in enumerate(lines):
        found = _SHOWN_FIELD.match(line.text) if ": " in line.text[:20] else None
        if found is None or place - began > 20:
            continue
        value = found["value"].strip()
        if found["key"] == "Name":
            name, began = value, place
        elif name and found["key"] == "Location":
            yield Statement(f"location:{name}", value, "pip show", line.number, Directness.LISTING)
        elif name and place == began + 1:
            yield Statement(f"package:{name}", value, "pip show", line.number, Directness.LISTING)


def _pip_entry_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield what conda's environment file lists below its entry "pip:"."""
    margin = -1
    for line in lines:
        found = _LIST_ENTRY.match(line.text)
        if found is None or len(found["margin"]) <= margin:
            margin = -1
        if found and found["name"] == "pip:":
            margin = len(found["margin"])
        elif found and margin >= 0:
            yield Statement(f"installer:{normalise_distribution(found['name'])}", "pip", _NAME, line.number, Directness.LISTING)


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    yield from _pip_entry_statements(lines)
    yield from _installed_statements(lines)
    yield from _unmet_statements(lines)
    yield from _pip_show_statements(lines)


READER = Reader(
    _NAME,
    forms=(
        StatementForm(
            "package",
            rf"^\s*(?:- )?{PACKAGE_FORM}(?:\[[\w,-]{{1,40}}\])?==(?P<value>\d[\w.+!]{{0,60}})\s*(?:[;#\\].{{0,200}})?$",
            Directness.LISTING,
        ),
        StatementForm(
            "package",
            rf"^\s*{PACKAGE_FORM} @ (?:file|https?)://\S{{1,300}}/[A-Za-z]\w{{0,60}}-(?P<value>\d[\w.!]{{0,40}}(?:(?:\+|%2B)\w[\w.]{{0,30}})?)-\w{{2,40}}-\S{{1,200}}\.whl",
            Directness.LISTING,
        ),
        StatementForm(
            "conda", rf"^\s*(?:- )?(?:[\w-]{{1,40}}::)?{PACKAGE_FORM}=(?P<value>\d[\w.]{{0,40}}=\w[\w.]{{0,80}})\s*$", Directness.LISTING
        ),
        StatementForm("package", rf"^[│ ]{{0,60}}[├└]── {PACKAGE_FORM} v(?P<value>\d[\w.+!]{{0,60}})(?: .{{0,60}})?$", Directness.LISTING),
    ),
    blocks=_statements,
)
