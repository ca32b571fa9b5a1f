"""What the readers see in a text."""

from __future__ import annotations

from typing import Any

from gpudoctor.diagnose import diagnose
from gpudoctor.errors import UsageError
from gpudoctor.findings import Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.read.texts import read_text
from gpudoctor.snapshot import Missing, Nvml, NvmlGpu, Snapshot


def read(text: str, matrix: Matrix) -> Snapshot:
    """Return the snapshot of a text."""
    return read_text(text.encode(), "pasted.txt", matrix, "2026-11-22T00:00:00Z")


def gpus(text: str, matrix: Matrix) -> tuple[NvmlGpu, ...]:
    """Return the GPUs that NVML would show; none if nothing is recognised in a text."""
    try:
        nvml = read(text, matrix).nvml
    except UsageError:
        return ()
    assert isinstance(nvml, Nvml)
    assert isinstance(nvml.gpus, tuple)
    return nvml.gpus


def facts(gpu: NvmlGpu) -> dict[str, Any]:
    """Return what is known of a GPU, by field."""
    values = {field: getattr(gpu, field) for field in gpu.__struct_fields__}
    return {field: value for field, value in values.items() if not isinstance(value, Missing)}


def found(text: str, matrix: Matrix, *, notes: bool = False) -> list[str]:
    """Return the root causes found in a text, best first."""
    diagnosis = diagnose(read(text, matrix), matrix, Policy(level=None))
    return [finding.name for finding in diagnosis.root_causes if notes or finding.severity is not Severity.NOTE]
