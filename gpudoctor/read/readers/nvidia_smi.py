"""Reads what `nvidia-smi` prints: its table and its error messages, https://docs.nvidia.com/deploy/nvidia-smi/."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.nvidia_smi_query import UNKNOWN_GPU
from gpudoctor.read.readers.reader import VERSION_FORM, Reader, StatementForm
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "nvidia-smi"
_MEMORY_IN_SENTENCE = expression(r"(?i)\bnvidia-smi\b[^|]{0,80}?\b(?P<used>\d{1,6}) ?MiB ?(?:/|of) ?(?P<total>\d{3,6}) ?MiB\b")


def _quoted_memory_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the memory in use that a sentence quotes from the table; none if several do, of GPUs or times that they may not name."""
    found = [(line, match) for line in lines if "MiB" in line.text and (match := _MEMORY_IN_SENTENCE.search(line.text))]
    for line, match in found if len(found) == 1 else ():
        for fact in ("used", "total"):
            yield Statement(f"memory {fact}:{UNKNOWN_GPU}", f"{match[fact]} MiB", _NAME, line.number, Directness.PROSE)


READER = Reader(
    _NAME,
    forms=(
        StatementForm("driver", rf"(?:\b[Dd]river [Vv]ersion|\bDRIVER version|\bKMD Version)\s*: *{VERSION_FORM}"),
        StatementForm(
            "driver", rf"\b(?:NVIDIA-SMI|nvidia-smi (?:says|shows|reports|prints|has):?) (?:driver )?{VERSION_FORM}", Directness.LOG
        ),
        StatementForm("cuda served", rf"CUDA (?:UMD )?Version\s*: *{VERSION_FORM}"),
        StatementForm(
            "nvml error",
            r"(?P<value>Failed to initialize NVML: [^\n]{3,80}|(?i:nvidia[- ]smi\b[^\n.]{0,40}\bcould ?n\S{0,2}t communicate with the nvidia driver))",
        ),
        StatementForm("libraries", rf"NVML library version: {VERSION_FORM}"),
    ),
    blocks=_quoted_memory_statements,
    cues=("mib",),
)
