"""The pictures of the terminal in README.md: reports of recorded machines, drawn by rich."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console
from rich.text import Text

from gpudoctor.diagnose import diagnose
from gpudoctor.examination import Examination
from gpudoctor.findings import Policy
from gpudoctor.matrix_files import open_matrix
from gpudoctor.report import terminal
from gpudoctor.report.build import build_report
from gpudoctor.report.page import PageLook
from gpudoctor.snapshot import KernelLog
from tests.machines.store import load, recorded

MACHINES: Final = {"broken": "older-nccl-on-the-path", "ready": "older-nccl-behind-the-rpath"}
"""A picture in docs/pictures, and the recorded machine that it shows."""
COLUMNS: Final = 92
SHOWN: Final = {"/recorded/environment": "~/venv", "/recorded/toolkit/lib64": "/usr/local/cuda/lib64", "/recorded/libraries:": ""}
"""What a recorded machine calls its folders, and what a reader expects to see."""
_FONTS: Final = re.compile(r"@font-face \{.*?\}\n\s*", re.DOTALL)
"""What would load a font from elsewhere."""


def generated(root: Path) -> dict[Path, str]:
    """Return each picture as SVG."""
    return {root / "docs" / "pictures" / f"{name}.svg": _picture(name, machine) for name, machine in MACHINES.items()}


def _picture(name: str, machine: str) -> str:
    report = _report(machine)
    for recorded_name, shown in SHOWN.items():
        report = report.replace(recorded_name, shown)
    text = Text.from_ansi(f"$ gpudoctor check --no-smoke\n{report}")
    environ = {"TERM": "xterm-256color"}  # a dumb terminal's width would be 80
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor", _environ=environ)
    console.print(text)
    return _FONTS.sub("", console.export_svg(title="", unique_id=f"gpudoctor-{name}"))


def _report(machine: str) -> str:
    matrix, policy = open_matrix(), msgspec.convert(load(machine)["policy"], Policy)
    snapshot = msgspec.structs.replace(recorded(machine), kernel_log=KernelLog("/dev/kmsg"))  # the recorded trees have no log to read
    examination = Examination(snapshot=snapshot, diagnosis=diagnose(snapshot, matrix, policy), policy=policy, matrix_date=matrix.date)
    return terminal.render(build_report(examination), PageLook(width=COLUMNS, colour=True))


def same(before: str, after: str) -> bool:
    """Return whether two pictures show the same words: another release of rich may draw them otherwise."""
    words = re.compile(r"<text[^>]*>([^<]*)</text>")
    return words.findall(before) == words.findall(after)
