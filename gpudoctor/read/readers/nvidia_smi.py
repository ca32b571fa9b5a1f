"""Reads what `nvidia-smi` prints: its table and its error messages, https://docs.nvidia.com/deploy/nvidia-smi/."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.nvidia_smi_query import UNKNOWN
from gpudoctor.read.readers.reader import VERSION, Form, Reader
from gpudoctor.read.statements import Line, Rank, Statement

_NAME = "nvidia-smi"
_IN_SENTENCE = expression(r"(?i)\bnvidia-smi\b[^|]{0,80}?\b(?P<used>\d{1,6}) ?MiB ?(?:/|of) ?(?P<total>\d{3,6}) ?MiB\b")


def _quoted(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the memory in use that a sentence quotes from the table; none if several do, of GPUs or times that they may not name."""
    found = [(line, match) for line in lines if "MiB" in line.text and (match := _IN_SENTENCE.search(line.text))]
    for line, match in found if len(found) == 1 else ():
        for fact in ("used", "total"):
            yield Statement(f"memory {fact}:{UNKNOWN}", f"{match[fact]} MiB", _NAME, line.number, Rank.PROSE)


READER = Reader(
    _NAME,
    forms=(
        Form("driver", rf"(?:\b[Dd]river [Vv]ersion|\bDRIVER version|\bKMD Version)\s*: *{VERSION}"),
        Form("driver", rf"\b(?:NVIDIA-SMI|nvidia-smi (?:says|shows|reports|prints|has):?) (?:driver )?{VERSION}", Rank.LOG),
        Form("cuda served", rf"CUDA (?:UMD )?Version\s*: *{VERSION}"),
        Form(
            "nvml error",
            r"(?P<value>Failed to initialize NVML: [^\n]{3,80}|(?i:nvidia[- ]smi\b[^\n.]{0,40}\bcould ?n\S{0,2}t communicate with the nvidia driver))",
        ),
        Form("libraries", rf"NVML library version: {VERSION}"),
    ),
    blocks=_quoted,
    cues=("mib",),
)
