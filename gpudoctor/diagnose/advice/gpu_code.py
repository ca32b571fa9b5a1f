"""Wording and evidence for GPUs and the kernels of a build."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpudoctor.derive import EffectiveCode
from gpudoctor.derive.gpu_code import GpuFit
from gpudoctor.findings import Evidence
from gpudoctor.findings.wording import first_and_more


def models_text(meetings: Iterable[GpuFit]) -> str:
    """Return the GPUs by model and compute capability: "2 x Tesla T4 (compute capability 7.5)"."""
    counts: dict[str, int] = {}
    for meeting in meetings:
        text = f"{_model_name(meeting)} (compute capability {meeting.capability})"
        counts[text] = counts.get(text, 0) + 1
    return " and ".join(f"{count} x {text}" if count > 1 else text for text, count in counts.items())


def model_names(meetings: Iterable[GpuFit]) -> str:
    """Return the GPUs by model: "Tesla P100 and Tesla K80"."""
    return " and ".join(dict.fromkeys(map(_model_name, meetings)))


def _model_name(meeting: GpuFit) -> str:
    return meeting.gpu.name if isinstance(meeting.gpu.name, str) else meeting.gpu.label


def code_evidence(code: EffectiveCode, meetings: Iterable[GpuFit]) -> Iterator[Evidence]:
    """Return the kernels of a build by each source that states them, and the GPUs' compute capabilities."""
    yield Evidence("kernels in the build", code.text, code.where)
    for other in code.others:
        yield Evidence("kernels, by another source", other.text, other.where)
    yield from capability_evidence(meetings)


def capability_evidence(meetings: Iterable[GpuFit]) -> Iterator[Evidence]:
    """Return the compute capability of each model."""
    groups: dict[str, list[GpuFit]] = {}
    for meeting in meetings:
        groups.setdefault(_model_name(meeting), []).append(meeting)
    for group in groups.values():
        yield Evidence("compute capability", str(group[0].capability), first_and_more([one.gpu.label for one in group]))
