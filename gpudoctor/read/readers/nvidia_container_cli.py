"""Reads `nvidia-container-cli info` and `nvidia-ctk cdi generate`. Source: src/cli/info.c of https://github.com/NVIDIA/libnvidia-container."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import VERSION_FORM, Reader, StatementForm
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "nvidia-container-cli"
_FIELD_LINE = expression(r"\s{0,8}(?P<label>[A-Z][A-Za-z ]{2,14}):\s{2,12}(?P<value>[^(\s].{0,100})")
_MACHINE_KEYS = {"NVRM version": "driver", "CUDA version": "cuda served"}
_GPU_KEYS = {"Model": "gpu", "GPU UUID": "uuid", "Bus Location": "address", "Architecture": "capability"}


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the fields below "NVRM version"; Jetson has "(null)" in some."""
    began, gpu = False, ""
    for line in lines:
        began = began or "NVRM version:" in line.text
        found = _FIELD_LINE.fullmatch(line.text) if began else None
        if found is None:
            continue
        label, value = found["label"], found["value"].strip()
        gpu = value if label == "Device Index" else gpu
        if label in _MACHINE_KEYS:
            yield Statement(_MACHINE_KEYS[label], value, _NAME, line.number, Directness.TOOL)
        elif label in _GPU_KEYS and gpu:
            yield Statement(f"{_GPU_KEYS[label]}:{gpu}", value, _NAME, line.number, Directness.TOOL)


READER = Reader(_NAME, forms=(StatementForm("driver", rf'(?:^|\] |msg=")Using driver version {VERSION_FORM}'),), blocks=_statements)
