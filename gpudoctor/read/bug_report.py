"""Keeps the parts of an nvidia-bug-report.sh file that describe the driver and the GPUs as they are now.

The script is shipped with NVIDIA's driver. It writes sections between lines of underscores, each headed by the file or the command whose content follows.
Most of its megabytes are logs of X, of earlier boots, and of builds and installations of the driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from gpudoctor.expressions import expression
from gpudoctor.findings.wording import joined_words
from gpudoctor.read.statements import Line

_BEGIN_LINE = "Start of NVIDIA bug report log file"
BEGIN_MARK = _BEGIN_LINE.encode()
"""In every file that contains a report."""
_RULE_LINE = expression(r"_{40,60}")
_KEPT_SECTION = expression(
    rf"{_BEGIN_LINE}|dmesg:|Scanning kernel log files|\*\*\* /proc/(?:driver/nvidia/|modules\b|version\b|cmdline\b|cpuinfo\b|meminfo\b)"
    r"|\*\*\* /etc/(?:issue|os-release|lsb-release)\b|(?:\S{0,60}/)?(?:nvidia-smi|lspci (?:-nn|-d \"10de)|modinfo nvidia|systemctl status nvidia-(?:fabric|persist|imex))"
)
"""Beginnings of the names of sections."""
_README_FOLDER = "warnings/"
_LOG_SECTION = expression(r" {1,4}(?:/var/log/\S+|journalctl -b -\d+(?: [^:]{0,60})?):")
_JOURNAL_OF_THIS_BOOT = "journalctl -b -0"
_XID = expression(r"NVRM: Xid \([^)]{1,100}\): (\d{1,3})\b")


def lines_of_this_boot(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines of a text. In a bug report, the lines that do not describe the machine since it booted are empty."""
    begin = next((place for place, line in enumerate(lines) if line.startswith(_BEGIN_LINE)), None)
    return lines if begin is None else [*lines[:begin], *_kept_lines(lines[begin:])]


def lines_before_report(lines: Sequence[Line]) -> Sequence[Line]:
    """Return the lines before a bug report: what somebody wrote about it. All lines if the text has no report."""
    return list(takewhile(lambda line: not line.text.startswith(_BEGIN_LINE), lines))


def unread_sections_remark(lines: Sequence[str]) -> str:
    """Return a remark about the sections that were not read, with the Xid errors of earlier boots; "" if the text is no bug report."""
    kept = lines_of_this_boot(lines)
    if kept is lines:
        return ""
    xids = {int(found[1]) for line, same in zip(lines, kept, strict=True) if not same and (found := _XID.search(line))}
    logged = f"; earlier boots logged Xid {joined_words([str(xid) for xid in sorted(xids)])}" if xids else ""
    return f"was written by nvidia-bug-report.sh; its logs of X, of earlier boots and of installations were not read{logged}"


def _kept_lines(lines: Sequence[str]) -> Iterator[str]:
    is_kept, is_named = True, True
    for line in lines:
        if _RULE_LINE.fullmatch(line):
            is_kept, is_named = False, False
        elif line and not is_named:
            is_kept, is_named = _KEPT_SECTION.match(line) is not None and _README_FOLDER not in line, True
        elif _LOG_SECTION.fullmatch(line):
            is_kept = _JOURNAL_OF_THIS_BOOT in line
        yield line if is_kept else ""
