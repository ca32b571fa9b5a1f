"""A fleet in which everything that a page about a fleet can say is said."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from gpudoctor.report.fleet import (
    Deviation,
    Drift,
    Figure,
    FindingGroup,
    Hardware,
    Outlier,
    Requirement,
    Sighting,
    ToolVersion,
    Wording,
)
from gpudoctor.report.hostlist import nodes_of_names
from tests.report import fleets
from tests.report.rich import GPUS

_H100, _SOME = fleets.H100, nodes_of_names(("gpu0003", "gpu0004"))
_PLAIN: Final = fleets.fleet(30, hostile=())


def _drift(path: str, what: str, *deviations: tuple[str, str, int], **more: object) -> Drift:
    told = tuple(
        Deviation(value=value, line=f"{what} 1 → {value}", nodes=nodes_of_names((node,)), gpus=gpus) for node, value, gpus in deviations
    )
    whole: dict[str, object] = {"hardware": _H100, "expected": "1", "read_by_rules": True, **more}
    return Drift(path=path, what=what, agreeing=20, of=30, deviations=told, **whole)  # type: ignore[arg-type]


FLEET: Final = replace(
    _PLAIN,
    golden="node gpu0001",
    tools=(ToolVersion("0.1.0", nodes_of_names(("gpu0000",))), ToolVersion("0.0.9", _SOME)),
    hardware=(*_PLAIN.hardware, Hardware("1 × NVIDIA L4", nodes_of_names(("l4",)), 1)),  # noqa: RUF001 -- as reports have it
    requirements=(*_PLAIN.requirements, Requirement("nodes>=64", met=False, reason="30 nodes are there")),
    findings=(
        replace(_PLAIN.findings[0], gpus=9, exceptions=_SOME, command="", fix="Install a driver.", fix_kind="check"),
        replace(_PLAIN.findings[1], wordings=tuple(Wording(f"message {place}", nodes_of_names((f"gpu{place:04}",))) for place in range(5))),
        FindingGroup(code="GD704", name="persistence-mode-off", severity="note", title="Persistence mode is off", root=True, nodes=_SOME),
        FindingGroup(code="GD206", name="cuda-init-fails", severity="error", title="CUDA fails", root=False, nodes=_SOME, fix="Wait"),
    ),
    drifts=(
        _drift("a", "driver", *((f"gpu{place + 5:04}", f"v{place}", place) for place in range(6))),
        _drift("b", "kernel", ("gpu0020", "6.1", 0), ("gpu0021", "", 0), split=True, hardware="1 × NVIDIA L4", expected=""),  # noqa: RUF001
        *(_drift(f"c{place}", f"fact {place}", ("gpu0022", "2", 4), read_by_rules=False) for place in range(14)),
        _drift("d", "explained", ("gpu0003", "2", 0)),
    ),
    figures=(*_PLAIN.figures, Figure(name="copies", model=_H100, unit="B/s", count=9, median=2e10, spread=1e8, limit=None)),
    outliers=(
        *_PLAIN.outliers,
        Outlier(node="gpu0009", gpu=GPUS[0], figure=0, value=5e14, difference=-0.3, cause=f"GD712:{GPUS[0]}", message="Too hot"),
        Outlier(node="gpu0009", gpu=GPUS[1], figure=1, value=3e10, difference=0.5, cause=f"GD712:{GPUS[0]}", message="Too hot"),
        Outlier(node="gpu0010", gpu="", figure=1, value=1e10, difference=-0.5),
    ),
    history=tuple(
        Sighting(
            code="GD305",
            name="container-shm-too-small",
            severity="warning",
            present=bool(place % 2),
            nodes=_SOME,
            first="2026-11-20",
            last="2026-11-23",
            reports=place,
        )
        for place in range(14)
    ),
    links=replace(_PLAIN.links, rate=None, left_out=_SOME) if _PLAIN.links else None,
    nodes=tuple(replace(node, source="gpu0008") if node.name == "gpu0008" else node for node in _PLAIN.nodes),
)
"""More rows of everything than a page shows, two models of GPU, and figures of nodes and of GPUs."""
