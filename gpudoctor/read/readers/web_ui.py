"""Reads the start-up logs of ComfyUI, Stable Diffusion web UI, Forge, SD.Next and Easy Diffusion.

Sources: comfy/model_management.py, modules/launch_utils.py and modules/ui.py, backend/memory_management.py, installer.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import RELEASE_FORM, Reader, StatementForm
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "web UI log"

_TIME_STAMP = r"(?:^|[-\]>] )\W{0,4}"
"""The end of the time and level that some of them log before the text."""
_BOLD_MARK = r":\*\* "
"""Between key and value in ComfyUI's error report, which is Markdown."""
_ADAPTER_ROW = expression(
    r"^\s{0,4}(?P<name>(?:NVIDIA|Quadro|GeForce|Tesla) [\w .-]{3,60}?)\s{1,40}\d{6,12}\s{1,4}\d{14}\.\S{1,12}\s{1,4}"
    r"\d{2}\.\d{1,2}\.\d{1,2}(?P<branch>\d)\.(?P<release>\d{4})$"
)
"""A row of Windows' Win32_VideoController. NVIDIA's version is in the last five digits: 32.0.15.6094 is 560.94."""


def _adapter_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the NVIDIA GPUs and their driver in Easy Diffusion's list of display adapters."""
    found = [(line, row) for line in lines if "000000.000000" in line.text and (row := _ADAPTER_ROW.match(line.text))]
    for number, (line, row) in enumerate(found):
        digits = row["branch"] + row["release"]
        yield Statement(f"gpu:{number}", row["name"], _NAME, line.number, Directness.LISTING)
        yield Statement("driver", f"{digits[:3]}.{digits[3:]}", _NAME, line.number, Directness.LISTING)
        yield Statement("platform:windows", row["name"], _NAME, line.number, Directness.LISTING)


READER = Reader(
    _NAME,
    forms=(
        StatementForm("package:torch", rf"{_TIME_STAMP}[Pp]ytorch version: {RELEASE_FORM}", Directness.LISTING),
        StatementForm("package:torch", rf"\btorch: {RELEASE_FORM} .{{1,20}}(?:xformers|gradio)\b", Directness.LISTING),
        StatementForm("package:torch", rf"\bINFO\W{{1,10}}Torch:? {RELEASE_FORM}", Directness.LISTING),
        StatementForm("package:xformers", rf"{_TIME_STAMP}xformers version: {RELEASE_FORM}", Directness.LISTING),
        StatementForm("gpu", rf"{_TIME_STAMP}Device: cuda:(?P<name>\d{{1,2}}) (?P<value>[A-Z][^:\n]{{3,60}})", Directness.LISTING),
        StatementForm("package:torch", rf"\*\*PyTorch Version{_BOLD_MARK}{RELEASE_FORM}", Directness.LISTING),
        StatementForm("gpu", rf"\*\*Name{_BOLD_MARK}cuda:(?P<name>\d{{1,2}}) (?P<value>[A-Z][^:\n]{{3,60}})", Directness.LISTING),
        StatementForm("platform:windows", rf"\*\*OS{_BOLD_MARK}(?P<value>nt)$", Directness.LISTING),
        StatementForm("python", rf"\*\*Python Version{_BOLD_MARK}(?P<value>3\.\d{{1,2}}\.\d{{1,2}})", Directness.LISTING),
        StatementForm("gpu:0", r"Torch detected GPU: (?P<value>[A-Z].{3,60}?) VRAM", Directness.LISTING),
        StatementForm(
            "gpu",
            r"\b(?:using )?device:? cuda:(?P<name>\d{1,2}) \(?(?P<value>(?:NVIDIA|Tesla|GeForce|Quadro)[^:()\n]{3,60})",
            Directness.LOG,
        ),
        StatementForm("torch cuda", r"\bTorch backend: nVidia CUDA (?P<value>\d+\.\d+)", Directness.LISTING),
        StatementForm("python", r"^\W{0,4}Python version: (?P<value>3\.\d{1,2}\.\d{1,2}) \(", Directness.LISTING),
        StatementForm(
            "python", r"^\W{0,4}Python (?P<value>3\.\d{1,2}\.\d{1,2}) (?:\(|\| packaged|on (?:Linux|Windows|Darwin))", Directness.LISTING
        ),
        StatementForm("python", r"tested with 3\.\d{1,2}\.\d{1,2} Python, but you have (?P<value>3\.\d{1,2}\.\d{1,2})", Directness.LISTING),
        StatementForm("os", r"^\W{0,4}Platform: (?P<value>Windows|Linux|Darwin)$", Directness.LISTING),
    ),
    blocks=_adapter_statements,
)
