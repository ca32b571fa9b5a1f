"""The real program in containers: without GPU, with look-alikes of its files, with half of the driver, with devices refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.machines.build import diagnosed
from tests.machines.packages import environment
from tests.machines.recipes import TF, cards
from tests.seams import Cuda, Nvml, SeamUnavailable, Tree
from tests.seams.box import Box

DRIVER = "550.163.01"
FOLDER = "/usr/lib64"
NODES = {"nvidiactl": (195, 255), "nvidia0": (195, 0), "nvidia1": (195, 1), "nvidia-uvm": (507, 0)}
Examine = Callable[..., dict[str, Any]]


@pytest.fixture
def examine(tmp_path: Path) -> Examine:
    """`examine(nodes=…, mounts=…)`: the report from a container on a host with two A100 and a loaded driver, which writes nothing outside itself."""

    def run(**changes: Any) -> dict[str, Any]:
        target = environment(tmp_path / "environment", (TF,))
        before = sorted(Path(FOLDER).glob("*"))
        try:
            return Box(**{"host": Tree(pci=cards(2), kernel_driver=DRIVER), **changes}).examine(tmp_path, target)
        except SeamUnavailable as reason:
            pytest.skip(str(reason))
        finally:
            assert sorted(Path(FOLDER).glob("*")) == before

    return run


def libraries(place: Path, *wanted: Nvml | Cuda) -> tuple[dict[str, Path], dict[str, str]]:
    """The files to mount under a runtime's names, and the variables of their scenarios."""
    mounts: dict[str, Path] = {}
    variables: dict[str, str] = {}
    for library in wanted:
        variables |= library.install(place / "libraries")
        name = library.SONAME.removesuffix(".1")
        mounts[f"{FOLDER}/{name}.{DRIVER}"] = place / "libraries" / library.SONAME
    return mounts, {name: value for name, value in variables.items() if name != "LD_LIBRARY_PATH"}


def linked(mounts: Mapping[str, Path]) -> dict[str, str]:
    """The links that ldconfig makes."""
    return {f"{path.removesuffix(DRIVER)}1": Path(path).name for path in mounts}


def findings(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {finding["name"]: finding for finding in report["findings"]}


def test_without_gpu(examine: Examine) -> None:
    report = examine()
    assert diagnosed(report)["roots"] == ["container-no-gpu-access"]
    container = report["snapshot"]["container"]
    assert (container["runtime"], container["where"]) == ("podman", "/proc/1/environ (container=)")
    assert report["snapshot"]["device_nodes"]["cause"] == "absent"
    assert report["snapshot"]["kernel_driver"]["version"]["value"] == DRIVER  # the host's, as /proc shows it


def test_with_ordinary_files_named_like_devices(examine: Examine) -> None:
    report = examine(files={f"dev/{name}": "" for name in NODES})
    assert diagnosed(report)["roots"] == ["container-no-gpu-access"]
    finding = findings(report)["container-no-gpu-access"]
    assert "/dev/nvidia0 (a plain file)" in finding["evidence"][0]["value"]
    assert report["snapshot"]["container"]["control"] == "opened"


def test_with_real_devices_and_no_library(examine: Examine) -> None:
    report = examine(nodes=NODES)
    assert diagnosed(report)["roots"] == ["container-no-gpu-access"]
    assert "the driver libraries" in findings(report)["container-no-gpu-access"]["message"]


def test_with_libraries_unknown_to_ldconfig(examine: Examine, tmp_path: Path) -> None:
    mounts, variables = libraries(tmp_path, Nvml(gpus=2), Cuda(gpus=2))
    report = examine(nodes=NODES, mounts=mounts, environment=variables)
    assert diagnosed(report)["roots"] == ["container-ldcache-stale"]
    given = report["snapshot"]["container"]["driver_files"]
    assert sorted((file["path"], file["version"]) for file in given) == [
        (f"{FOLDER}/libcuda.so.{DRIVER}", DRIVER),
        (f"{FOLDER}/libnvidia-ml.so.{DRIVER}", DRIVER),
    ]


def test_with_half_of_the_libraries(examine: Examine, tmp_path: Path) -> None:
    mounts, variables = libraries(tmp_path, Nvml(gpus=2))
    variables |= {"LD_LIBRARY_PATH": FOLDER, "NVIDIA_DRIVER_CAPABILITIES": "utility"}
    report = examine(nodes=NODES, mounts=mounts, links=linked(mounts), environment=variables)
    assert diagnosed(report)["roots"] == ["container-no-gpu-access"]
    message = findings(report)["container-no-gpu-access"]["message"]
    assert "the driver's libcuda" in message
    assert "NVIDIA_DRIVER_CAPABILITIES is utility, without compute" in message


def test_with_devices_refused_by_its_control_group(examine: Examine, tmp_path: Path) -> None:
    mounts, variables = libraries(tmp_path, Nvml(calls={"nvmlInit": "return 999"}), Cuda(calls={"cuInit": "return 100"}))
    report = examine(nodes=NODES, mounts=mounts, links=linked(mounts), environment={**variables, "LD_LIBRARY_PATH": FOLDER}, refused=[195])
    assert report["snapshot"]["container"]["control"] == "EPERM"
    control, *_ = (node for node in report["snapshot"]["device_nodes"]["nodes"] if node["path"] == "/dev/nvidiactl")
    assert (control["mode"], control["accessible"]) == ("0666", False)  # the kernel's judgement counts the group in, the bits do not
    assert diagnosed(report)["roots"] == ["container-cgroup-device-lost"]
    assert "cuda-init-fails" in diagnosed(report)["folded"]


@pytest.mark.parametrize(("mebibytes", "roots"), [(64, ["container-shm-too-small"]), (1024, [])])
def test_with_everything_and_little_or_enough_shared_memory(examine: Examine, tmp_path: Path, mebibytes: int, roots: list[str]) -> None:
    mounts, variables = libraries(tmp_path, Nvml(gpus=2), Cuda(gpus=2))
    environ = {**variables, "LD_LIBRARY_PATH": FOLDER}
    report = examine(nodes=NODES, mounts=mounts, links=linked(mounts), environment=environ, shared_memory=mebibytes)
    assert diagnosed(report)["roots"] == roots
    shared = report["snapshot"]["limits"]["shared_memory"]
    assert (shared["size"], shared["kind"]) == (mebibytes << 20, "tmpfs")
    assert report["snapshot"]["container"]["control"] == "ENXIO"  # true numbers, and no driver behind them here
    assert report["proved_to"]["text"] == "CUDA initialised on 2 of 2 GPUs"


def test_a_job_whose_control_group_refuses_unassigned_gpus(examine: Examine, tmp_path: Path) -> None:
    mounts, variables = libraries(tmp_path, Nvml(gpus=0), Cuda(calls={"cuInit": "return 100"}))
    job = {"container": "", "SLURM_JOB_ID": "77", "LD_LIBRARY_PATH": FOLDER}
    report = examine(nodes=NODES, mounts=mounts, links=linked(mounts), environment={**variables, **job}, refused=[195])
    assert report["snapshot"]["container"]["cause"] == "absent"
    assert "device-permission-denied" not in findings(report)
    assert diagnosed(report)["roots"] == ["scheduler-gpu-not-allocated"]
    assert findings(report)["scheduler-gpu-not-allocated"]["confidence"] == "certain"
