"""Reads environment variables, as shells, Python, Dockerfiles, compose files, pods and `docker run` set and print them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.readers.sentences import END, is_advice
from gpudoctor.read.statements import Line, Rank, Statement
from gpudoctor.signatures.phrases import is_commented_out
from gpudoctor.snapshot.variable_names import WHOLE

_NAME = r"(?P<name>[A-Z][A-Z0-9_]{1,50})"
_VALUE = r"(?:\"(?P<double>[^\"\n]{0,1000})\"|'(?P<single>[^'\n]{0,1000})'|(?P<bare>[^\s'\";`]{0,1000}))"
_PROMPT = expression(
    r"^\s{0,20}(?:\$env:|(?:(?:\([\w.-]{1,40}\) ?)?[^\s=]{0,80}(?:[$>] {0,3}|# {1,3}))?(?:- {1,3})?(?:(?:export|env|sudo|declare -x|set|SET|setx|%env|ENV|ARG) {1,3}){0,3})"
)
_SETTING = expression(rf"{_NAME}(?: ?= ?){_VALUE}(?:\s{{1,10}}|,|;|&|$)")
_MAPPING = expression(rf"{_NAME}: {{1,20}}{_VALUE}\s{{0,3}}$")
_APART = expression(rf"\b(?:ENV|setenv|set -g?x) {_NAME} {_VALUE}")
_OPTION = expression(rf"(?:^|\s)(?:-e|--env)[ =]{{1,2}}[\"']?{_NAME}={_VALUE}")
_PYTHON = expression(rf"environ(?:\[[\"']|\.setdefault\([\"']){_NAME}[\"'](?:\]\s{{0,3}}=|,)\s{{0,3}}{_VALUE}")
_OF_POD = expression(rf"^\s{{0,40}}-? ?name: [\"']?{_NAME}[\"']?\s{{0,3}}$")
_ECHO = expression(rf"\becho {{1,3}}\"?\$\{{?{_NAME}\}}?\"?\s{{0,3}}$")
_ASSIGNED = expression(r"^\s{0,8}(?:export |set )?(?P<name>[A-Za-z_]\w{0,40})=[\"']?(?P<value>[\w.,:/-]{1,80})[\"']?(?:\s|;|$)")
"""What a script assigns to a variable of its own."""
_OTHER = expression(r"\$\{?(?P<name>[A-Za-z_]\w{0,40})\}?$")
"""A value that is another variable's."""
_IN_SENTENCE = expression(rf"(?:[\w,:(`] {{1,3}}[\"'`(]{{0,2}}(?:exports?|exported|setx?|sets|set -x) |`){_NAME}=(?:{_VALUE})")
_ENDS_ASIDE = expression(r"[^()\n]{0,40}\)")
"""The rest of an aside in parentheses: where it begins on the line above, that tells what it is ("e.g.")."""
_UNSET = {"None", "not", "<unset>", "(unset)", "unset"}
"""What programs print for a variable that is not set."""


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    assigned: dict[str, str] = {}
    for place, line in enumerate(lines):
        if not _may_set(line.text):
            continue
        for name, value in _settings(line.text.strip(" `")):
            if name in WHOLE and value not in _UNSET and (whole := _resolved(value.strip(), assigned)) is not None:
                yield Statement(f"variable:{name}", whole, "shell", line.number, Rank.TOOL)
        if "=" in line.text and (own := _ASSIGNED.match(line.text)):
            assigned[own["name"]] = own["value"]
        for name, value in _said(line.text) if "=" in line.text else ():
            yield Statement(f"variable:{name}", value.strip("`.,)"), "shell", line.number, Rank.PROSE)
        after = lines[place + 1].text.strip() if place + 1 < len(lines) else ""
        below = _below(line.text, after)
        if below and below[0] in WHOLE:
            yield Statement(f"variable:{below[0]}", below[1], "shell", line.number, Rank.TOOL)


def _resolved(value: str, assigned: Mapping[str, str]) -> str | None:
    """Return a value, that of another variable if the lines above assign it; None if only the shell knows it."""
    other = _OTHER.match(value)
    return assigned.get(other["name"]) if other else value


def _may_set(text: str) -> bool:
    """Return whether a line has what every line has that sets or prints a variable. Most have not, and a pattern takes longer."""
    return "=" in text or ": " in text or "_" in text or "environ" in text or "name:" in text or "echo" in text


def _settings(text: str) -> Iterator[tuple[str, str]]:
    if "=" in text:
        begin = _PROMPT.match(text)
        found = _SETTING.match(text, begin.end() if begin else 0)
        while found:
            yield found["name"], _value(found)
            found = _SETTING.match(text, found.end())
        others: list[re.Match[str] | None] = [*_OPTION.finditer(text), *_in_python(text)]
    else:
        others = [_MAPPING.fullmatch(text.strip(" -")) if ": " in text else _APART.search(text) if "_" in text else None]
        others += _in_python(text)
    yield from ((other["name"], _value(other)) for other in others if other)


def _in_python(text: str) -> Iterator[re.Match[str]]:
    found = _PYTHON.finditer(text) if "environ" in text else ()
    return (match for match in found if not is_commented_out(text, match.start("name")))


def _said(text: str) -> Iterator[tuple[str, str]]:
    """Yield what a sentence says is exported: "my .bashrc has export CUDA_VISIBLE_DEVICES=1"."""
    for found in _IN_SENTENCE.finditer(text):
        before = END.split(text[: found.start("name")])[-1]
        begun_above = "(" not in before and _ENDS_ASIDE.match(text, found.end() - 1)
        if found["name"] in WHOLE and not begun_above and not is_advice(text, found.start("name"), found.end() - 1):
            yield found["name"], _value(found)


def _below(text: str, after: str) -> tuple[str, str] | None:
    """Return a variable whose value is on the next line: in a pod's specification, or what `echo` printed."""
    pod = _OF_POD.match(text) if "name:" in text else None
    if pod and after.startswith("value:"):
        return pod["name"], after.removeprefix("value:").strip(" '\"")
    echo = _ECHO.search(text) if "echo" in text else None
    return (echo["name"], after) if echo and re.match(r"(?:(?:[/\d]|-\d|GPU-|MIG-)\S{0,1000}|NoDevFiles)$", after) else None


def _value(found: re.Match[str]) -> str:
    return next((found[group] for group in ("double", "single", "bare") if found[group] is not None), "")


READER = Reader("shell", blocks=_statements)
