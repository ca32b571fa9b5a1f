"""The one line: short, ASCII, and first things first."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.report import oneline
from gpudoctor.report.build import build
from tests.report import samples

LINES = {
    "compat_broken": "BROKEN GD203 driver-too-old: the driver is older than the CUDA that the... (+1)",
    "compat_ready": "READY nothing that is known speaks against it; nothing was tried",
    "compat_unknown": "UNKNOWN the tables do not know torch 9.0: 9.0 is newer than 2.15.0, the...",
    "broken_no_gpu": "BROKEN GD101 no-gpu: no NVIDIA GPU is on the PCI bus",
    "mismatch": "BROKEN GD202 driver-library-mismatch: the loaded kernel driver and the...",
    "one_lost": "BROKEN GD102 gpu-count-mismatch: a GPU of this machine cannot be opened...",
    "degraded": "DEGRADED GD501 cpu-only-build: the framework's build has no CUDA (GD205 crashed)",
    "ready": "READY trained on 8 of 8 GPUs",
    "looked": "READY CUDA initialised on 1 of 1 GPU",
    "unknown": "UNKNOWN GPU 0 NVIDIA A100 at 0000:10:00.0: trained was not shown (used by...",
    "on_cpu": "READY trained on the CPU (tensorflow), no GPU",
    "interrupted": "UNKNOWN the check was ended by SIGINT",
}


@pytest.mark.parametrize("name", samples.ALL)
def test_line(name: str) -> None:
    assert oneline.render(build(samples.ALL[name])) == LINES[name]


def test_further_causes_are_counted_and_notes_and_consequences_are_not() -> None:
    report = build(samples.mismatch)
    other = msgspec.structs.replace(report.findings[0], id="GD999", severity="warning")
    note = msgspec.structs.replace(report.findings[0], id="GD998", severity="note")
    line = oneline.render(msgspec.structs.replace(report, findings=(*report.findings, other, note)))
    assert line == "BROKEN GD202 driver-library-mismatch: the loaded kernel driver and the... (+1)"


@given(title=st.text(), because=st.text(), name=st.sampled_from(sorted(samples.ALL)), more=st.integers(0, 1000))
def test_never_more_than_80_bytes_of_printable_ascii(title: str, because: str, name: str, more: int) -> None:
    report = build(samples.ALL[name])
    findings = tuple(msgspec.structs.replace(finding, title=title) for finding in (*report.findings, *report.findings[:1] * more))
    line = oneline.render(msgspec.structs.replace(report, findings=findings, because=because))
    assert len(line.encode("ascii")) <= 80
    assert line.isprintable()
    assert line.startswith(report.verdict.upper())
