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
from gpudoctor.report.build import build
from gpudoctor.report.page import Look
from tests.machines.store import load, recorded

MACHINES: Final = {"broken": "torch-older-than-the-gpu", "ready": "torch-with-code-for-the-gpu"}
"""A picture in docs/pictures, and the recorded machine that it shows."""
COLUMNS: Final = 92
_FONTS: Final = re.compile(r"@font-face \{.*?\}\n\s*", re.DOTALL)
"""What would load a font from elsewhere."""
RECORDED, SHOWN = "/recorded/environment", "~/venv"
"""Where a recorded machine's Python is, and what a reader expects to see."""


def generated(root: Path) -> dict[Path, str]:
    """Return each picture as SVG."""
    return {root / "docs" / "pictures" / f"{name}.svg": _picture(name, machine) for name, machine in MACHINES.items()}


def _picture(name: str, machine: str) -> str:
    text = Text.from_ansi(f"$ gpudoctor check\n{_report(machine).replace(RECORDED, SHOWN).rstrip()}")
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor", legacy_windows=False)
    console.print(text)
    return _FONTS.sub("", console.export_svg(title="", unique_id=f"gpudoctor-{name}"))


def _report(machine: str) -> str:
    matrix, policy = open_matrix(), msgspec.convert(load(machine)["policy"], Policy)
    snapshot = recorded(machine)
    examination = Examination(snapshot=snapshot, diagnosis=diagnose(snapshot, matrix, policy), policy=policy, matrix_date=matrix.date)
    return terminal.render(build(examination), Look(width=COLUMNS, colour=True))


def same(before: str, after: str) -> bool:
    """Return whether two pictures show the same words: another release of rich may draw them otherwise."""
    words = re.compile(r"<text[^>]*>([^<]*)</text>")
    return words.findall(before) == words.findall(after)
