"""Reads the start-up logs of ComfyUI, Stable Diffusion web UI, Forge, SD.Next and Easy Diffusion.

Sources: comfy/model_management.py, modules/launch_utils.py and modules/ui.py, backend/memory_management.py, installer.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import RELEASE, Form, Reader
from gpudoctor.read.statements import Line, Rank, Statement

_NAME = "web UI log"

_STAMP = r"(?:^|[-\]>] )\W{0,4}"
"""The end of the time and level that some of them log before the text."""
_BOLD = r":\*\* "
"""Between key and value in ComfyUI's error report, which is Markdown."""
_ADAPTER = expression(
    r"^\s{0,4}(?P<name>(?:NVIDIA|Quadro|GeForce|Tesla) [\w .-]{3,60}?)\s{1,40}\d{6,12}\s{1,4}\d{14}\.\S{1,12}\s{1,4}"
    r"\d{2}\.\d{1,2}\.\d{1,2}(?P<branch>\d)\.(?P<release>\d{4})$"
)
"""A row of Windows' Win32_VideoController. NVIDIA's version is in the last five digits: 32.0.15.6094 is 560.94."""


def _adapters(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the NVIDIA GPUs and their driver in Easy Diffusion's list of display adapters."""
    found = [(line, row) for line in lines if "000000.000000" in line.text and (row := _ADAPTER.match(line.text))]
    for number, (line, row) in enumerate(found):
        digits = row["branch"] + row["release"]
        yield Statement(f"gpu:{number}", row["name"], _NAME, line.number, Rank.LISTING)
        yield Statement("driver", f"{digits[:3]}.{digits[3:]}", _NAME, line.number, Rank.LISTING)
        yield Statement("platform:windows", row["name"], _NAME, line.number, Rank.LISTING)


READER = Reader(
    _NAME,
    forms=(
        Form("package:torch", rf"{_STAMP}[Pp]ytorch version: {RELEASE}", Rank.LISTING),
        Form("package:torch", rf"\btorch: {RELEASE} .{{1,20}}(?:xformers|gradio)\b", Rank.LISTING),
        Form("package:torch", rf"\bINFO\W{{1,10}}Torch:? {RELEASE}", Rank.LISTING),
        Form("package:xformers", rf"{_STAMP}xformers version: {RELEASE}", Rank.LISTING),
        Form("gpu", rf"{_STAMP}Device: cuda:(?P<name>\d{{1,2}}) (?P<value>[A-Z][^:\n]{{3,60}})", Rank.LISTING),
        Form("package:torch", rf"\*\*PyTorch Version{_BOLD}{RELEASE}", Rank.LISTING),
        Form("gpu", rf"\*\*Name{_BOLD}cuda:(?P<name>\d{{1,2}}) (?P<value>[A-Z][^:\n]{{3,60}})", Rank.LISTING),
        Form("platform:windows", rf"\*\*OS{_BOLD}(?P<value>nt)$", Rank.LISTING),
        Form("python", rf"\*\*Python Version{_BOLD}(?P<value>3\.\d{{1,2}}\.\d{{1,2}})", Rank.LISTING),
        Form("gpu:0", r"Torch detected GPU: (?P<value>[A-Z].{3,60}?) VRAM", Rank.LISTING),
        Form("gpu", r"\b(?:using )?device:? cuda:(?P<name>\d{1,2}) \(?(?P<value>(?:NVIDIA|Tesla|GeForce|Quadro)[^:()\n]{3,60})", Rank.LOG),
        Form("torch cuda", r"\bTorch backend: nVidia CUDA (?P<value>\d+\.\d+)", Rank.LISTING),
        Form("python", r"^\W{0,4}Python version: (?P<value>3\.\d{1,2}\.\d{1,2}) \(", Rank.LISTING),
        Form("python", r"^\W{0,4}Python (?P<value>3\.\d{1,2}\.\d{1,2}) (?:\(|\| packaged|on (?:Linux|Windows|Darwin))", Rank.LISTING),
        Form("python", r"tested with 3\.\d{1,2}\.\d{1,2} Python, but you have (?P<value>3\.\d{1,2}\.\d{1,2})", Rank.LISTING),
        Form("os", r"^\W{0,4}Platform: (?P<value>Windows|Linux|Darwin)$", Rank.LISTING),
    ),
    blocks=_adapters,
)
