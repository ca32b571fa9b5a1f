from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import FrameworkView
from gpudoctor.diagnose.rule import Explains, rule
from gpudoctor.diagnose.rules.builds.companions import beside_framework, install_beside
from gpudoctor.findings import Impact, Problem, Rung, Severity


@rule(
    "GD509",
    advice=lambda machine: install_beside(machine, "torchvision"),
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    impact=Impact.PARTLY,
    explains=(
        Explains(
            ("extension-built-for-other-cuda", "extension-abi-mismatch"),
            "torchvision's compiled files are linked against one torch and one CUDA version.",
        ),
    ),
)
def torch_torchvision_mismatch(framework: FrameworkView) -> Iterator[Problem]:
    """torchvision does not match the installed torch."""
    yield from beside_framework(framework, "torchvision")
