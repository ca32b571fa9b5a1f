"""Reads what conda and mamba say they will install, change and download, in the layouts of conda 4 to 25 and mamba 0.1 to 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Directness, Line, Statement

_NAME_FORM = r"(?P<name>[A-Za-z][\w.-]{1,60}?)"
_PACKAGE_FORM = r"(?P<version>\d[\w.+]{0,60})-(?P<build>\w[\w.]{0,80})"
_BUILT_PACKAGE_FORM = r"(?P<version>\d[\w.+]{0,60})-(?P<build>(?=[\w.]{0,60}(?:py\d|_\d))\w[\w.]{0,80})"
"""As a build that cannot be the end of a version."""
_CHANNEL_FORM = r"(?P<channel>[\w.-]{2,40}(?:/[\w.-]{2,40}){0,3})"
_SIZE_FORM = r"(?:Cached|[\d.]{1,8} ?[kKMG]?i?B)"
# a cue that each of them has, and the form of the line
_LINE_FORMS = tuple(
    (cue, expression(pattern))
    for cue, pattern in (
        (" --> ", rf"^\s{{0,8}}{_NAME_FORM}:? .{{1,200}} --> (?:{_CHANNEL_FORM}::(?P=name)-)?{_PACKAGE_FORM}"),
        ("::", rf"^\s{{0,8}}(?:\+ )?{_NAME_FORM}\s{{1,40}}{_CHANNEL_FORM}::(?P=name)-{_PACKAGE_FORM}"),
        (": ", rf"^\s{{2,8}}{_NAME_FORM}:\s{{1,40}}{_BUILT_PACKAGE_FORM}(?:\s{{1,4}}{_CHANNEL_FORM})?(?:\s{{1,4}}\[[\w, ]{{2,40}}\])?\s*$"),
        ("|", rf"^\s{{0,8}}{_NAME_FORM}-(?P<version>\d[\w.+]{{0,40}})\s{{1,40}}\|\s{{1,30}}(?P<build>\w[\w.]{{0,80}})\s{{1,30}}{_SIZE_FORM}(?:\s{{1,10}}{_CHANNEL_FORM})?"),
        ("+ ", rf"^\s{{0,8}}\+ {_NAME_FORM}\s{{1,40}}(?P<version>\d[\w.+]{{0,60}})\s{{1,40}}(?P<build>\w[\w.]{{0,80}})\s{{1,40}}{_CHANNEL_FORM}\s{{1,20}}{_SIZE_FORM}"),
    )
)  # fmt: skip


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    for line in lines:
        text = line.text
        # most lines have none of these, and a loop over the forms takes longer
        if not (" --> " in text or "::" in text or ": " in text or "|" in text or "+ " in text):
            continue
        found = next((match for cue, form in _LINE_FORMS if cue in text and (match := form.match(text))), None)
        if found:
            channel = (found["channel"] or "").partition("/")[0]
            value = f"{found['version']} {found['build']} {channel}".strip()
            yield Statement(f"conda:{found['name']}", value, READER.name, line.number, Directness.LISTING)


READER = Reader("conda install", blocks=_statements)
