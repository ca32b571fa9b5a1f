"""Reads environment variables, as shells, Python, Dockerfiles, compose files, pods and `docker run` set and print them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.readers.sentences import SENTENCE_END, is_advice
from gpudoctor.read.statements import Directness, Line, Statement
from gpudoctor.signatures.phrases import is_commented_out
from gpudoctor.snapshot.variable_names import WHOLE

_NAME_FORM = r"(?P<name>[A-Z][A-Z0-9_]{1,50})"
_VALUE_FORM = r"(?:\"(?P<double>[^\"\n]{0,1000})\"|'(?P<single>[^'\n]{0,1000})'|(?P<bare>[^\s'\";`]{0,1000}))"
_PROMPT_FORM = expression(
    r"^\s{0,20}(?:\$env:|(?:(?:\([\w.-]{1,40}\) ?)?[^\s=]{0,80}(?:[$>] {0,3}|# {1,3}))?(?:- {1,3})?(?:(?:export|env|sudo|declare -x|set|SET|setx|%env|ENV|ARG) {1,3}){0,3})"
)
_ASSIGNMENT = expression(rf"{_NAME_FORM}(?: ?= ?){_VALUE_FORM}(?:\s{{1,10}}|,|;|&|$)")
_YAML_MAPPING = expression(rf"{_NAME_FORM}: {{1,20}}{_VALUE_FORM}\s{{0,3}}$")
_SETENV_COMMAND = expression(rf"\b(?:ENV|setenv|set -g?x) {_NAME_FORM} {_VALUE_FORM}")
_ENV_OPTION = expression(rf"(?:^|\s)(?:-e|--env)[ =]{{1,2}}[\"']?{_NAME_FORM}={_VALUE_FORM}")
_PYTHON_ASSIGNMENT = expression(rf"environ(?:\[[\"']|\.setdefault\([\"']){_NAME_FORM}[\"'](?:\]\s{{0,3}}=|,)\s{{0,3}}{_VALUE_FORM}")
_POD_NAME = expression(rf"^\s{{0,40}}-? ?name: [\"']?{_NAME_FORM}[\"']?\s{{0,3}}$")
_ECHO_COMMAND = expression(rf"\becho {{1,3}}\"?\$\{{?{_NAME_FORM}\}}?\"?\s{{0,3}}$")
_OTHER_ASSIGNMENT = expression(r"^\s{0,8}(?:export |set )?(?P<name>[A-Za-z_]\w{0,40})=[\"']?(?P<value>[\w.,:/-]{1,80})[\"']?(?:\s|;|$)")
"""What a script assigns to a variable of its own."""
_VARIABLE_REFERENCE = expression(r"\$\{?(?P<name>[A-Za-z_]\w{0,40})\}?$")
"""A value that is another variable's."""
_EXPORT_IN_SENTENCE = expression(
    rf"(?:[\w,:(`] {{1,3}}[\"'`(]{{0,2}}(?:exports?|exported|setx?|sets|set -x) |`){_NAME_FORM}=(?:{_VALUE_FORM})"
)
_PARENTHESIS_END = expression(r"[^()\n]{0,40}\)")
"""The rest of an aside in parentheses: where it begins on the line above, that tells what it is ("e.g.")."""
_UNSET_VALUES = {"None", "not", "<unset>", "(unset)", "unset"}
"""What programs print for a variable that is not set."""


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    assigned: dict[str, str] = {}
    for place, line in enumerate(lines):
        if not _can_set_variable(line.text):
            continue
        for name, value in _settings_of_line(line.text.strip(" `")):
            if name in WHOLE and value not in _UNSET_VALUES and (whole := _resolved_value(value.strip(), assigned)) is not None:
                yield Statement(f"variable:{name}", whole, "shell", line.number, Directness.TOOL)
        if "=" in line.text and (own := _OTHER_ASSIGNMENT.match(line.text)):
            assigned[own["name"]] = own["value"]
        for name, value in _settings_in_sentence(line.text) if "=" in line.text else ():
            yield Statement(f"variable:{name}", value.strip("`.,)"), "shell", line.number, Directness.PROSE)
        after = lines[place + 1].text.strip() if place + 1 < len(lines) else ""
        below = _setting_from_next_line(line.text, after)
        if below and below[0] in WHOLE:
            yield Statement(f"variable:{below[0]}", below[1], "shell", line.number, Directness.TOOL)


def _resolved_value(value: str, assigned: Mapping[str, str]) -> str | None:
    """Return a value, that of another variable if the lines above assign it; None if only the shell knows it."""
    other = _VARIABLE_REFERENCE.match(value)
    return assigned.get(other["name"]) if other else value


def _can_set_variable(text: str) -> bool:
    """Return whether a line has what every line has that sets or prints a variable. Most have not, and a pattern takes longer."""
    return "=" in text or ": " in text or "_" in text or "environ" in text or "name:" in text or "echo" in text


def _settings_of_line(text: str) -> Iterator[tuple[str, str]]:
    if "=" in text:
        begin = _PROMPT_FORM.match(text)
        found = _ASSIGNMENT.match(text, begin.end() if begin else 0)
        while found:
            yield found["name"], _matched_value(found)
            found = _ASSIGNMENT.match(text, found.end())
        others: list[re.Match[str] | None] = [*_ENV_OPTION.finditer(text), *_python_assignments(text)]
    else:
        others = [_YAML_MAPPING.fullmatch(text.strip(" -")) if ": " in text else _SETENV_COMMAND.search(text) if "_" in text else None]
        others += _python_assignments(text)
    yield from ((other["name"], _matched_value(other)) for other in others if other)


def _python_assignments(text: str) -> Iterator[re.Match[str]]:
    found = _PYTHON_ASSIGNMENT.finditer(text) if "environ" in text else ()
    return (match for match in found if not is_commented_out(text, match.start("name")))


def _settings_in_sentence(text: str) -> Iterator[tuple[str, str]]:
    """Yield what a sentence says is exported: "my .bashrc has export CUDA_VISIBLE_DEVICES=1"."""
    for found in _EXPORT_IN_SENTENCE.finditer(text):
        before = SENTENCE_END.split(text[: found.start("name")])[-1]
        begun_above = "(" not in before and _PARENTHESIS_END.match(text, found.end() - 1)
        if found["name"] in WHOLE and not begun_above and not is_advice(text, found.start("name"), found.end() - 1):
            yield found["name"], _matched_value(found)


def _setting_from_next_line(text: str, after: str) -> tuple[str, str] | None:
    """Return a variable whose value is on the next line: in a pod's specification, or what `echo` printed."""
    pod = _POD_NAME.match(text) if "name:" in text else None
    if pod and after.startswith("value:"):
        return pod["name"], after.removeprefix("value:").strip(" '\"")
    echo = _ECHO_COMMAND.search(text) if "echo" in text else None
    return (echo["name"], after) if echo and re.match(r"(?:(?:[/\d]|-\d|GPU-|MIG-)\S{0,1000}|NoDevFiles)$", after) else None


def _matched_value(found: re.Match[str]) -> str:
    return next((found[group] for group in ("double", "single", "bare") if found[group] is not None), "")


READER = Reader("shell", blocks=_statements)
