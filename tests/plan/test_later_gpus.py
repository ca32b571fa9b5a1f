"""Releases on GPUs that came later: PTX of a framework is not enough where its CUDA libraries do not run there."""

from __future__ import annotations

import pytest

from gpudoctor.findings import Severity, Verdict
from tests.plan.samples import checked

OLD, NEW = "535.104.05", "580.65.06"


@pytest.mark.parametrize("gpu", ["RTX 5090", "B200"])
@pytest.mark.parametrize("release", ["tensorflow==2.10.0", "tensorflow[and-cuda]==2.15.1", "jax[cuda12]==0.4.28", "torch==2.6.0+cu118"])
def test_cudnn_8_and_cudnn_for_cuda_11_train_on_no_gpu_of_a_later_generation(release: str, gpu: str) -> None:
    system = "windows" if "cu118" in release else "linux"  # on Linux that build has no PTX
    found = checked(release, gpus=(gpu,), driver=NEW, os=system)
    assert found.verdict is Verdict.BROKEN
    assert "cudnn-drops-gpu" in {cause.name for cause in found.root_causes}
    assert not any("tensorflow" in fix.command for cause in found.root_causes for fix in cause.fixes)


@pytest.mark.parametrize(
    "release", ["torch==1.0.0", "torch==1.5.1", "tensorflow-gpu==1.15.0", "tensorflow==2.3.4", "paddlepaddle-gpu==2.2.0"]
)
@pytest.mark.parametrize("gpu", ["A100", "RTX 3090"])
def test_what_is_built_for_cuda_10_computes_wrong_on_ampere(release: str, gpu: str) -> None:
    found = checked(release, gpus=(gpu,), driver=OLD)
    assert found.root_causes[0].name == "gpu-too-new-for-build"
    assert "its PTX returns NaN" in found.root_causes[0].message


@pytest.mark.parametrize("release", ["torch==1.5.1", "tensorflow-gpu==1.15.0"])
def test_the_same_build_is_no_fault_on_an_older_gpu(release: str) -> None:
    assert not {"gpu-too-new-for-build", "cudnn-drops-gpu"} & {
        finding.name for finding in checked(release, gpus=("V100",), driver=OLD).findings
    }


@pytest.mark.parametrize("beside", ["torch==2.4.0", "tensorflow[and-cuda]==2.18.0", "jax[cuda12]==0.4.34"])
def test_another_cudnn_than_cupys_is_a_note(beside: str) -> None:
    found = checked(beside, "cupy-cuda12x==13.3.0", gpus=("A100",), driver=OLD)
    said = [finding for finding in found.findings if finding.name == "cudnn-wrong-major"]
    assert [finding.severity for finding in said] == [Severity.NOTE]
    assert "only cupy.cudnn needs it" in said[0].message
    assert not said[0].fixes
