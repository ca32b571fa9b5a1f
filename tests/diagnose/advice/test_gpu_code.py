from __future__ import annotations

import pytest

from gpudoctor.derive import EffectiveCode, MachineView
from gpudoctor.derive.gpu_code import Fit, GpuFit
from gpudoctor.diagnose.advice.gpu_code import code_evidence, model_names, models_text
from gpudoctor.findings import Policy
from tests.builders import TIMED_OUT, address
from tests.diagnose.rules.asking import MATRIX, with_gpus
from tests.matrix.samples import version

OTHER = EffectiveCode(sass=("sm_90",), ptx=(), where="matrix")
CODE = EffectiveCode(sass=("sm_80",), ptx=("compute_80",), where="torch/lib", others=(OTHER,))


def met(*names: object) -> tuple[GpuFit, ...]:
    """GPUs with these names and compute capability 6.1."""
    snapshot = with_gpus(*({"name": name} for name in names))
    return tuple(GpuFit(gpu.observed, version("6.1"), Fit.TOO_OLD) for gpu in MachineView(snapshot, MATRIX, Policy()).gpus)


def test_every_source_of_a_builds_kernels_is_evidence() -> None:
    found = [(row.what, row.value, row.where) for row in code_evidence(CODE, met("Tesla P4", "Tesla P4", "GTX 1080"))]
    assert found == [
        ("kernels in the build", "sm_80, PTX compute_80", "torch/lib"),
        ("kernels, by another source", "sm_90, no PTX", "matrix"),
        ("compute capability", "6.1", f"GPU 0 ({address(0)}) and 1 more"),
        ("compute capability", "6.1", f"GPU 2 ({address(2)})"),
    ]


@pytest.mark.parametrize(
    ("names", "text", "title"),
    [
        (("Tesla P4",), "Tesla P4", "Tesla P4"),
        (("Tesla P4", "Tesla P4"), "2 x Tesla P4", "Tesla P4"),
        (("Tesla P4", "GTX 1080"), "Tesla P4", "Tesla P4 and GTX 1080"),
        ((TIMED_OUT,), f"GPU 0 ({address(0)})", f"GPU 0 ({address(0)})"),
    ],
)
def test_gpus_are_named_by_model_or_else_by_address(names: tuple[object, ...], text: str, title: str) -> None:
    assert models_text(met(*names)).startswith(text)
    assert model_names(met(*names)) == title
