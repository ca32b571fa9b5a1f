"""Reports made by hand: as small as the form allows, around a snapshot."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.findings.summary import FrameworkBuild, GpuModel, Summary
from gpudoctor.fleet import FleetOptions, Merge
from gpudoctor.report.fleet import Fleet
from gpudoctor.report.model import Finding, Fix, Subject, Tool
from gpudoctor.snapshot import Snapshot
from tests.builders import machine
from tests.shipped import shared_matrix

A100 = Summary(gpus=(GpuModel("NVIDIA A100-SXM4-80GB", 1),), driver="550.163.01", frameworks=(FrameworkBuild("torch", "2.8.0"),))


def report(
    snapshot: Snapshot | None = None,
    *,
    verdict: str = "ready",
    created: str = "2026-11-21T04:00:00Z",
    findings: tuple[Finding, ...] = (),
    summary: Summary = A100,
    **changes: Any,
) -> bytes:
    """Return a report as a node sends it."""
    document = {
        "schema": "gpudoctor.report/1",
        "tool": Tool("gpudoctor", "0.1.0"),
        "created": created,
        "verdict": verdict,
        "exit_code": {"ready": 0, "degraded": 0, "broken": 1}.get(verdict, 3),
        "findings": findings,
        "summary": summary,
        "passed": [{"anything": ["that", "a fleet", "does not read"]}],
        "snapshot": machine() if snapshot is None else snapshot,
    }
    return msgspec.json.encode(document | changes)


def finding(code: str = "GD103", key: str = "0000:01:00.0", **changes: Any) -> Finding:
    """Return an error on one GPU."""
    whole = Finding(
        id=f"{code}:{key}",
        code=code,
        name="gpu-fell-off-bus",
        subject=Subject("gpu", key),
        severity="error",
        confidence="certain",
        title="GPU has fallen off the bus",
        message=f"GPU 0 ({key}) has fallen off the bus.",
        breaks="nvml",
        evidence=(),
        fixes=(Fix("fix", "Reboot", "sudo reboot", (), ""),),
        because_of=(),
        url="",
    )
    return msgspec.structs.replace(whole, **changes)


def merged(sent: dict[str, bytes], **asked: Any) -> Fleet:
    """Return what the reports of these nodes say together."""
    merge = Merge(FleetOptions(**asked), shared_matrix())
    for name, data in sent.items():
        merge.add(data, source=f"{name}.json", stem=name)
    return merge.finish()
