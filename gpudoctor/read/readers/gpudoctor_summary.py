"""What the line that sums a machine up in gpudoctor's own report states: GPUs, driver, frameworks, Python."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.expressions import expression
from gpudoctor.frameworks import CATALOGUE
from gpudoctor.read.statements import Directness, Statement

SUMMARY_LINE = expression(r"^\s{0,8}(?:\d{1,3} [×x] |no NVIDIA )| [·|] ")  # noqa: RUF001 -- a cross counts
_PART_SEPARATOR = expression(r"\s[·|]\s|,\s(?=\d{1,3}\s[×x]\s)")  # noqa: RUF001
_GPUS_FORM = expression(r"(\d{1,3}) [×x] (.{3,200})")  # noqa: RUF001
_NO_GPU_FORM = expression(r"no NVIDIA GPU")
_DRIVER_FORM = expression(r"driver (\d[\w.]{2,30})(?: \(CUDA (\d[\d.]{0,10})\))?")
_FRAMEWORK_FORM = expression(
    rf"({'|'.join(spec.name for spec in CATALOGUE)}) (\d\S{{1,60}})(?: \((?:no CUDA)?(?:CUDA (\d[\d.]{{0,10}}))?(?:, cuDNN (\d[\d.]{{0,10}}))?\))?"
)
_PYTHON_FORM = expression(r"Python (\d\.\d{1,2})(?: \(\w{1,20}\))?")
_MAX_GPUS = 64
"""GPUs of one machine."""


def summary_statements(summary: str, reader: str, line: int) -> Iterator[Statement]:
    """Yield what the parts of a summary state."""
    gpus = 0
    for part in _PART_SEPARATOR.split(summary):
        for what, value in _facts_of_part(part.strip(), gpus):
            gpus += what.startswith("gpu:")
            yield Statement(what, value, reader, line, Directness.TOOL)


def _facts_of_part(part: str, gpus: int) -> Iterator[tuple[str, str]]:
    """Yield keys and values of one part, after `gpus` GPUs in parts before it."""
    if found := _GPUS_FORM.fullmatch(part):
        yield from ((f"gpu:{number}", found[2]) for number in range(gpus, min(gpus + int(found[1]), _MAX_GPUS)))
    elif _NO_GPU_FORM.fullmatch(part):
        yield "no nvidia gpu", part
    elif found := _DRIVER_FORM.fullmatch(part):
        yield from ((what, value) for what, value in (("driver", found[1]), ("cuda served", found[2])) if value)
    elif found := _PYTHON_FORM.fullmatch(part):
        yield "python", found[1]
    elif found := _FRAMEWORK_FORM.fullmatch(part):
        name, version, cuda, cudnn = found.groups()  # where a build without CUDA is the cause, the report says so itself
        every = ((f"version:{name}", version), (f"{name} cuda", cuda), (f"{name} cudnn", cudnn))
        yield from ((what, value) for what, value in every if value)
