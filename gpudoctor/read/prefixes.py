"""Removes what other programs put before each line of a text: log prefixes, quotation marks, line numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from gpudoctor.expressions import expression

_TIME_FORM: Final = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_CLOCK_FORM: Final = r"\d\d:\d\d:\d\d(?:[.,]\d{2,9})?"
"""A time alone: with one digit behind the point it is the address of a PCI function behind a line number."""
_DATE_AND_TIME: Final = rf"\d{{4}}[-/]\d\d[-/]\d\d[T ]{_TIME_FORM}(?:Z|[ ]?[+-]\d\d:?\d\d)?"
_NVIDIA_PROGRAM: Final = r" nv(?:idia)?-[\w-]{2,40}(?:\[\d{1,9}\])?:"
"""A program of the driver: its name tells what failed, and stays."""
_HOST_AND_PROGRAM: Final = rf"[\w.-]{{1,64}}(?:(?={_NVIDIA_PROGRAM})|(?!{_NVIDIA_PROGRAM}) (?:kernel|[\w./@-]{{1,64}}\[\d{{1,9}}\]):)"
_HOST_AND_ANY_PROGRAM: Final = rf"[\w.-]{{1,64}}(?:(?={_NVIDIA_PROGRAM})|(?!{_NVIDIA_PROGRAM}) [\w./@-]{{1,64}}(?:\[\d{{1,9}}\])?:)"
_CERTAIN_PREFIXES: Final = (
    r"\s{0,8}>",  # a quotation
    rf"\[?{_DATE_AND_TIME}\]?[:,]?(?: (?:stdout|stderr) [FP]| {_HOST_AND_PROGRAM})?",  # ISO 8601; containerd; journald
    rf"(?:<\d{{1,3}}>)?[A-Z][a-z]{{2}} [ \d]\d {_TIME_FORM} {_HOST_AND_ANY_PROGRAM}",  # syslog, journald
    rf"\[{_TIME_FORM}\]|{_CLOCK_FORM}",
    r"kern {0,4}:[a-z]{3,6} {0,4}:",  # dmesg -x
    r"\d{1,3},\d{1,12},\d{1,18},[-c][^; ]{0,40};",  # /dev/kmsg
    r"\[(?:rank|default|trainer|worker)\d{1,5}\]:",  # torchrun
    r"\[\d{1,5},\d{1,5}\]<std(?:out|err)>:?",  # mpirun
    r"\((?:[\w.:=-]{1,64} ){0,4}pid=\d{1,9}(?:, ip=[\d.]{1,40})?\)",  # Ray, vLLM
    r"\[(?:pod/)?[\w.-]{1,100}/[\w.-]{1,100}\]",  # kubectl logs --prefix
)
_LOG_PREFIX: Final = expression(rf"(?:(?:{'|'.join(_CERTAIN_PREFIXES)})(?:[ \t]|(?<=[>:;])|$)){{1,6}}")
"""Prefixes that nothing else looks like, several in a row."""
_LINE_NUMBER: Final = expression(r"\s{0,10}(\d{1,7})(?:\t|:(?!\d\d\b) ?|(?<!\d{4}):(?=\d\d:\d\d\.\d\b)|[.)|] ?|\s?[→│] ?| {1,2}|$)")
"""As editors and `cat -n` number lines; a PCI address may follow, whose domain has four digits."""
_LINE_LABEL: Final = expression(r"(\s{0,4}\d{1,4}:(?= |$)|[\w.-]{1,60}\s{0,30}\|) ?")
"""As docker compose and srun -l label lines."""
_COMMON_PREFIX: Final = expression(r"\s{1,40}|(?:[-*+•#$%]|//) ")
Matcher = Callable[[str], "re.Match[str] | None"]
_FIRST_CHARACTERS: Final = frozenset(" \t>[(<k0123456789")
_MONTH_NAMES: Final = frozenset(("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"))
_MIN_RUN: Final = 3
"""Lines in a row that show a pattern by more than chance; two are enough if they are all of the text."""
_MAX_LAYERS: Final = 4


def without_prefixes(lines: list[str]) -> list[str]:
    """Return the lines of a text without what was put before them, layer by layer."""
    for _ in range(_MAX_LAYERS):
        lines = _without_common_prefix(lines)
        bare = _without_shared_prefix(
            _number_prefix,
            _is_numbering,
            _without_shared_prefix(_label_prefix, _is_labelling, [_without_log_prefix(line) for line in lines]),
        )
        if bare == lines:
            break
        lines = bare
    return lines


def _without_common_prefix(lines: list[str]) -> list[str]:
    """Return the lines without what stands before every one of them: indentation, a comment sign, a prompt, a bullet."""
    filled = [line for line in lines if line]
    first = _COMMON_PREFIX.match(filled[0]) if len(filled) > 1 else None
    common = first[0] if first else ""
    while common.isspace() and not all(line.startswith(common) for line in filled):
        common = common[:-1]
    if not common or not all(line.startswith(common) or line == common.rstrip() for line in filled):
        return lines
    return [line[len(common) :] for line in lines]


def _without_log_prefix(line: str) -> str:
    found = _LOG_PREFIX.match(line) if line[:1] in _FIRST_CHARACTERS or line[:3] in _MONTH_NAMES else None
    return line[found.end() :] if found else line


def _number_prefix(line: str) -> re.Match[str] | None:
    return _LINE_NUMBER.match(line) if line[:1].isspace() or line[:1].isdigit() else None


def _label_prefix(line: str) -> re.Match[str] | None:
    return _LINE_LABEL.match(line) if "|" in line[:96] or ":" in line[:9] else None


def _without_shared_prefix(match: Matcher, convinces: Callable[[Sequence[re.Match[str]]], bool], lines: list[str]) -> list[str]:
    """Return the lines without a prefix that is one only if several lines in a row have it."""
    found = [match(line) for line in lines]
    matching, filled = sum(map(bool, found)), sum(map(bool, lines))
    enough = 2 if matching == filled == 2 else _MIN_RUN
    if matching < enough:
        return lines
    bare = list(lines)
    for begin, run in _prefix_runs(found, enough):
        if convinces(run):
            bare[begin : begin + len(run)] = [line[hit.end() :] for line, hit in zip(bare[begin:], run, strict=False)]
    return bare


def _prefix_runs(found: Iterable[re.Match[str] | None], enough: int) -> Iterator[tuple[int, list[re.Match[str]]]]:
    """Yield each run of lines that match, with its place; a number that does not follow the last one begins another."""
    run: list[re.Match[str]] = []
    for place, match in enumerate([*found, None]):
        if run and (match is None or not _is_continuation(run[-1], match)):
            if len(run) >= enough:
                yield place - len(run), run
            run = []
        if match is not None:
            run.append(match)


def _is_continuation(last: re.Match[str], match: re.Match[str]) -> bool:
    return last.re.pattern != _LINE_NUMBER.pattern or int(match[1]) == int(last[1]) + 1


def _is_numbering(run: Sequence[re.Match[str]]) -> bool:
    """Return whether the numbers are those of lines: lists of GPUs begin with 0."""
    return int(run[0][1]) > 0


def _is_labelling(run: Sequence[re.Match[str]]) -> bool:
    """Return whether labels recur: in a table each row has its own."""
    labels = Counter(match[1] for match in run)
    return len(run) >= min(_MIN_RUN, len(run)) * len(labels)
