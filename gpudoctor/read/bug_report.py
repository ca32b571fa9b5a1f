"""Leaves of the file that NVIDIA's nvidia-bug-report.sh writes what says how the driver and the GPUs are now.

The script comes with the driver. Between lines of underscores it puts what a file of /proc contains or a command prints, by that file's or
command's name. Most of the megabytes are logs of X, of earlier starts of the machine and of programs that built or installed a driver once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.findings.naming import joined

_BEGIN = "Start of NVIDIA bug report log file"
MARK = _BEGIN.encode()
"""Without it in a file, no line of the file begins a report."""
_RULE = expression(r"_{40,60}")
_KEPT = expression(
    rf"{_BEGIN}|dmesg:|Scanning kernel log files|\*\*\* /proc/(?:driver/nvidia/|modules\b|version\b|cmdline\b|cpuinfo\b|meminfo\b)"
    r"|\*\*\* /etc/(?:issue|os-release|lsb-release)\b|(?:\S{0,60}/)?(?:nvidia-smi|lspci (?:-nn|-d \"10de)|modinfo nvidia|systemctl status nvidia-(?:fabric|persist|imex))"
)
"""Beginnings of the names of sections."""
_README = "warnings/"
_LOG = expression(r" {1,4}(?:/var/log/\S+|journalctl -b -\d+(?: [^:]{0,60})?):")
_THIS_START = "journalctl -b -0"
_XID = expression(r"NVRM: Xid \([^)]{1,100}\): (\d{1,3})\b")


def of_this_start(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines of a text with those of a bug report emptied that do not say how the machine is since it was started."""
    begin = next((place for place, line in enumerate(lines) if line.startswith(_BEGIN)), None)
    return lines if begin is None else [*lines[:begin], *_kept(lines[begin:])]


def left_out(lines: Sequence[str]) -> str:
    """Return what a report says of the sections that were not read, with the Xid errors of earlier starts; "" for another text."""
    kept = of_this_start(lines)
    if kept is lines:
        return ""
    xids = {int(found[1]) for line, same in zip(lines, kept, strict=True) if not same and (found := _XID.search(line))}
    earlier = f"; of earlier starts they have Xid {joined([str(xid) for xid in sorted(xids)])}" if xids else ""
    return f"is of nvidia-bug-report.sh: its logs of X, of earlier starts of the machine and of installations were not judged{earlier}"


def _kept(lines: Sequence[str]) -> Iterator[str]:
    is_kept, is_named = True, True
    for line in lines:
        if _RULE.fullmatch(line):
            is_kept, is_named = False, False
        elif line and not is_named:
            is_kept, is_named = _KEPT.match(line) is not None and _README not in line, True
        elif _LOG.fullmatch(line):
            is_kept = _THIS_START in line
        yield line if is_kept else ""
