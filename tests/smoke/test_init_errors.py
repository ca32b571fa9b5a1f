"""Real frameworks with CUDA over our libcuda, whose cuInit fails: the results of gpudoctor's own probe, and of each framework's messages.

The two are separate: nothing trains if the probe fails, and for the framework to fail the probe must not, so the second scenario
applies only to training, like a driver that fails later. A context can only be refused to gpudoctor's own kernel: cudart needs private
tables of the driver first, and XLA more calls than our library plays.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.environments.examine import CUDA, machine
from tests.environments.rows import SMALL, Row
from tests.machines.build import diagnosed, examine
from tests.machines.recipes import healthy
from tests.scripts.acceptance.test_environments import environment
from tests.seams import Cuda, Nvml
from tests.smoke.provoke import provoke

ROWS = {row.frameworks[0]: row for row in SMALL} | {"torch": Row(name="torch", about="", place="torch", frameworks=("torch",))}
NVIDIA_GPU_SEEN = """
import jax._src.hardware_utils  # asks for /dev/nvidia0, which our driver does not have
jax._src.hardware_utils.has_visible_nvidia_gpu = lambda: True
"""
SIGNS = {
    2: "gpu-memory-preallocation",
    3: "cuda-init-fails",
    34: "libcuda-is-stub",
    46: "cuda-init-fails",
    100: "cuda-visible-devices-masked or container-no-gpu-access",
    101: "cuda-visible-devices-masked or mig-one-instance-per-process",
    802: "fabric-manager-missing or fabric-prerequisites-missing",
    803: "cuda-init-fails",
    804: "forward-compat-unsupported-hw",
    999: "cuda-init-fails",
}
"""The findings that each framework's messages point to, without those that the machine excludes, whose driver is in order."""
ROOTS = {34: "libcuda-is-stub", 804: "forward-compat-unsupported-hw"}
"""The findings of gpudoctor's own probe; other codes have several causes each, without further evidence here."""
TRIED = (
    *(("tensorflow", code) for code in (100, 803)),  # whose import takes longest
    *(("jax", code) for code in SIGNS),
    *(("torch", code) for code in SIGNS),
)


@pytest.mark.parametrize("code", [*SIGNS, 35])
def test_no_error_of_our_own_probe_passes_as_healthy(code: int, tmp_path: Path) -> None:
    libraries = (Nvml(gpus=1), Cuda(gpus=1, calls={"cuInit": f"return {code}"}))
    exit_code, report = examine(healthy(libraries=libraries), tmp_path, "--level", "train")
    assert (exit_code, report["verdict"]) == (1, "broken")
    assert diagnosed(report)["roots"] == [ROOTS.get(code, "cuda-init-fails")]
    assert report["snapshot"]["smoke"]["reason"] == "CUDA shows no GPU"


@pytest.mark.index
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("framework", "code"), TRIED)
def test_a_refused_framework_reports_why_and_where(framework: str, code: int, tmp_path: Path) -> None:
    folder = _environment(framework)
    variables = machine(ROWS[framework], folder, tmp_path / "machine")
    refusing = Cuda(gpus=1, cuda=CUDA, calls={"cuInit": f"return {code}"}).install(tmp_path / "refusing")["FAKE_CUDA"]
    seen = provoke(
        tmp_path,
        f"import os; os.environ['FAKE_CUDA'] = {refusing!r}\n" + (NVIDIA_GPU_SEEN if framework == "jax" else ""),
        *("--root", str(tmp_path / "machine" / "root"), "--skip", "GD401,GD402"),  # libraries that these environments lack
        framework=framework,
        python=folder / "bin" / "python",
        command=("check",),
        settings={
            **{name: variables[name] for name in ("LD_LIBRARY_PATH", "FAKE_CUDA", "FAKE_NVML")},
            "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",  # it would not start without cuDNN
        },
    )
    assert seen.report["snapshot"]["libcuda"]["init"]["code"] == 0
    assert (seen.code, seen.report["verdict"], seen.left) == (1, "broken", [])
    assert seen.ended == [("devices", "failed")]
    assert seen.findings == [("GD901", "smoke-ran-on-cpu"), ("GD904", "smoke-crashed")]
    assert f"Its log points to {SIGNS[code]}: " in seen.message
    assert "only no device" not in seen.message


def _environment(framework: str) -> Path:
    if framework != "torch":
        return environment(ROWS[framework])
    named = os.environ.get("GPUDOCTOR_TEST_TORCH")
    if not named:
        pytest.skip("needs a CUDA build of PyTorch, of five gigabytes; GPUDOCTOR_TEST_TORCH names the folder of its environment")
    return Path(named)
