"""Level touch with the whole program: whatever libcuda returns, a GPU on which no kernel ran is never ready."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gpudoctor.check.touch import reason_against_touching
from gpudoctor.derive import MachineView
from gpudoctor.findings import Policy
from gpudoctor.snapshot import Cause, Hang, Libcuda, Missing
from tests.builders import bare, machine
from tests.machines.build import diagnosed, examine
from tests.machines.recipes import healthy
from tests.machines.recipes.cuda import TOUCH
from tests.seams import Cuda, Nvml, NvmlGpu
from tests.shipped import shared_matrix

CODES = {
    2: "gpu-memory-insufficient",
    34: "cuda-init-fails",
    46: "cuda-init-fails",
    101: "cuda-init-fails",
    201: "cuda-init-fails",
    209: "cuda-init-fails",
    214: "cuda-init-fails",
    222: "cuda-init-fails",
    700: "cuda-init-fails",
    719: "cuda-init-fails",
    801: "cuda-init-fails",
    802: "cuda-init-fails",
    805: "mps-misconfigured",
    809: "mps-misconfigured",
    999: "cuda-init-fails",
    31337: "cuda-init-fails",
}


@pytest.mark.parametrize(("code", "name"), CODES.items())
def test_an_error_of_a_context_is_never_ready(tmp_path: Path, code: int, name: str) -> None:
    libraries = (Nvml(gpus=2), Cuda(gpus=2, calls={"cuDevicePrimaryCtxRetain.1": f"return {code}"}))
    status, report = examine(healthy(2, libraries=libraries, arguments=TOUCH), tmp_path)
    assert (status, report["verdict"]) == (1, "broken")
    assert diagnosed(report)["roots"] == [name]
    (finding,) = (one for one in report["findings"] if one["severity"] == "error")
    assert f"cuDevicePrimaryCtxRetain returns {code} " in finding["message"]
    assert ("GPU 1 " in finding["message"]) is (name != "mps-misconfigured")
    assert "GPU 0 " not in finding["message"]
    assert finding["fixes"]
    assert (report["proved_to"]["rung"], report["proved_to"]["gpus"], report["proved_to"]["of"]) == ("kernel ran", 1, 2)


@pytest.mark.parametrize("call", ["cuModuleLoadData", "cuLaunchKernel", "cuCtxSynchronize", "cuMemFree"])
def test_an_error_of_a_later_call_is_never_ready(tmp_path: Path, call: str) -> None:
    libraries = (Nvml(gpus=1), Cuda(gpus=1, calls={call: "return 719"}))
    status, report = examine(healthy(libraries=libraries, arguments=TOUCH), tmp_path)
    assert (status, diagnosed(report)["roots"]) == (1, ["cuda-init-fails"])


def test_the_same_error_on_several_gpus_is_one_finding(tmp_path: Path) -> None:
    libraries = (Nvml(gpus=3), Cuda(gpus=3, calls={"cuCtxSynchronize": "return 719"}))
    _, report = examine(healthy(3, libraries=libraries, arguments=TOUCH), tmp_path)
    (finding,) = report["findings"]
    assert finding["message"] == "CUDA fails on 3 GPUs: cuCtxSynchronize returns 719 (CUDA_ERROR_LAUNCH_FAILED)."


def test_force_touches_a_gpu_in_use(tmp_path: Path) -> None:
    libraries = (Nvml(gpus=[NvmlGpu(compute_processes=[(4711, 1 << 30)])]), Cuda(gpus=1))
    recipe = healthy(libraries=libraries, arguments=TOUCH)
    status, report = examine(recipe, tmp_path / "left")
    assert (status, report["verdict"]) == (3, "unknown")
    assert "pid 4711" in report["because"]
    assert report["snapshot"]["contexts"][0].get("calls") is None
    status, report = examine(recipe, tmp_path / "forced", "--force")
    assert (status, report["verdict"]) == (0, "ready")


def test_a_hidden_gpu_is_not_touched(tmp_path: Path) -> None:
    libraries = (Nvml(gpus=2), Cuda(gpus=2))
    recipe = healthy(2, libraries=libraries, arguments=TOUCH, environment={"CUDA_VISIBLE_DEVICES": "1"})
    status, report = examine(recipe, tmp_path)
    assert (status, report["verdict"]) == (0, "ready")
    assert [context["pci_address"] for context in report["snapshot"]["contexts"]] == ["0000:0f:00.0"]


def test_look_touches_nothing_and_touch_takes_its_time(tmp_path: Path) -> None:
    libraries = (Nvml(gpus=1), Cuda(gpus=1, calls={"cuDevicePrimaryCtxRetain": "return 999"}))
    status, report = examine(healthy(libraries=libraries), tmp_path)
    assert (status, report["snapshot"]["contexts"]["cause"]) == (0, "not-asked")
    _, report = examine(healthy(libraries=libraries, arguments=TOUCH), tmp_path / "touch")
    assert "kernels" in {timing["what"] for timing in report["timings"]}


def test_a_hanging_gpu_is_not_touched() -> None:
    def why(snapshot: object) -> Missing | None:
        return reason_against_touching(MachineView(snapshot, shared_matrix(), Policy()))  # type: ignore[arg-type]

    sound = machine()
    assert why(sound) is None
    assert isinstance(sound.libcuda, Libcuda)
    hung = msgspec.structs.replace(sound, libcuda=msgspec.structs.replace(sound.libcuda, hang=Hang("cuDeviceGetName 0", 30.0, False)))
    missing = why(hung)
    assert missing is not None
    assert (missing.cause, missing.reason) == (Cause.TIMED_OUT, "skipped because cuDeviceGetName 0 hangs")
    missing = why(bare())
    assert missing is not None
    assert missing.cause is Cause.NOT_ASKED
