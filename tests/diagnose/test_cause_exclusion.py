"""The causes that facts of a text exclude, and the same causes where the fact is another."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.cause_exclusion import excluded_causes
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import (
    ContainerTools,
    DeviceNodes,
    FabricManager,
    Fact,
    Host,
    KernelDriver,
    KernelModules,
    Limits,
    LoaderCache,
    ModuleFile,
    Node,
    Nvml,
    NvmlGpu,
    Platform,
    SharedMemory,
    Snapshot,
    Status,
    TextLog,
    Variables,
)
from tests.builders import ABSENT, address, bare, tensorflow, torch

NOT_LOADED = Nvml(init=Status(9, "DRIVER_NOT_LOADED", "the driver is not loaded"), driver_version="550.163.01")


def loaded(*modules: str) -> dict[str, Any]:
    return {"kernel_driver": KernelDriver(version=ABSENT, modules=modules)}


def logged(*lines: str) -> dict[str, Any]:
    return {"text_log": TextLog(lines=tuple(Fact(line, "") for line in lines))}


def memory(free: int) -> dict[str, Any]:
    return logged(f"Memory usage: {free} bytes free, 1000 bytes total")


def nodes(*paths: str) -> dict[str, Any]:
    return {"device_nodes": DeviceNodes(tuple(Node(path) for path in paths))}


def modules(**changes: Any) -> dict[str, Any]:
    return {"kernel_modules": KernelModules(**changes)}


def shared(size: int) -> dict[str, Any]:
    return {"limits": Limits(shared_memory=SharedMemory(size, free=0))}


WINDOWS = Host(platform=Platform.WINDOWS)
ONE_SEES = (tensorflow(sees_gpu=True), torch(sees_gpu=False))
NONE_SEES = (tensorflow(sees_gpu=False), torch(sees_gpu=False))
CACHED = LoaderCache(("/usr/lib/x86_64-linux-gnu/libcuda.so.1",))
BUILT = (ModuleFile("nvidia", "/lib/modules/6.8.0/updates/dkms/nvidia.ko"),)
WHOLE = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0")


@pytest.mark.parametrize(
    ("cause", "fact", "otherwise"),
    [
        ("no-driver", loaded("nvidia"), loaded("i915")),
        (
            "no-driver",
            {"kernel_driver": KernelDriver(version=Fact("550.163.01", "/proc"))},
            {"kernel_driver": KernelDriver(version=ABSENT)},
        ),
        ("no-driver", {"nvml": Nvml(driver_version="550.163.01")}, {"nvml": NOT_LOADED}),
        ("no-driver", {"frameworks": ONE_SEES}, {"frameworks": NONE_SEES}),
        ("container-no-gpu-access", {"frameworks": ONE_SEES}, {"frameworks": NONE_SEES}),
        ("cuda-visible-devices-masked", {"frameworks": ONE_SEES}, {"frameworks": NONE_SEES}),
        (
            "cuda-visible-devices-masked",
            {"frameworks": ONE_SEES},
            {"frameworks": ONE_SEES, "variables": Variables({"CUDA_VISIBLE_DEVICES": "-1"})},
        ),
        ("kernel-module-not-built", modules(installed=BUILT), modules(installed=())),
        ("kernel-module-not-built", loaded("nvidia"), loaded()),
        (
            "kernel-module-not-built",
            logged("v4l2loopback/0.12.7, 6.8.0: added"),
            logged("v4l2loopback/0.12.7: added", "nvidia/550.163: added"),
        ),
        ("nouveau-loaded", loaded("nvidia"), loaded("nouveau")),
        ("nouveau-loaded", logged("NVRM: No NVIDIA GPU found."), logged("NVRM: GPU 0000:01:00.0 is already bound to nouveau.")),
        ("secure-boot-unsigned-module", modules(secure_boot=False), modules(secure_boot=True)),
        ("secure-boot-unsigned-module", loaded("nvidia"), loaded()),
        ("uvm-not-loaded", loaded("nvidia", "nvidia_uvm"), loaded("nvidia")),
        ("device-nodes-missing", nodes(*WHOLE), nodes(*WHOLE[:2])),
        ("fabric-manager-missing", {"fabric_manager": FabricManager(running=True)}, {"fabric_manager": FabricManager(running=False)}),
        ("fabric-prerequisites-missing", logged("Detected NV_WARN_NOTHING_TO_DO"), logged("Detected nothing")),
        (
            "fabric-prerequisites-missing",
            logged("NV_WARN_NOTHING_TO_DO"),
            logged("NV_WARN_NOTHING_TO_DO", "Error 802: system not yet initialized"),
        ),
        (
            "fabric-manager-missing",
            logged("NV_WARN_NOTHING_TO_DO", "CUDA_ERROR_SYSTEM_NOT_READY on B200"),
            logged("NV_WARN_NOTHING_TO_DO", "CUDA_ERROR_SYSTEM_NOT_READY on A100"),
        ),
        ("container-shm-too-small", shared(1 << 30), shared((1 << 30) - 1)),
        (
            "container-toolkit-missing",
            {"container_tools": ContainerTools((), (), runtime=True)},
            {"container_tools": ContainerTools((), (), runtime=False)},
        ),
        ("libcuda-not-on-loader-path", {"loader_cache": CACHED}, {"loader_cache": LoaderCache(("/usr/lib/libnvidia-ml.so.1",))}),
        (
            "wsl-libcuda-not-on-path",
            {"loader_cache": CACHED},
            {"loader_cache": CACHED} | logged("/usr/bin/ld: cannot find -lcuda: No such file or directory"),
        ),
        (
            "cpu-lacks-avx",
            logged("TensorFlow wasn't compiled to use AVX2 instructions, but these are available on your machine"),
            logged("TensorFlow was compiled to use AVX instructions, but these aren't available on your machine."),
        ),
        ("gpu-memory-insufficient", memory(501), memory(500)),
        (
            "scheduler-gpu-not-allocated",
            logged("srun --gres=gpu:1 --pty bash"),
            logged("srun --gres=gpu:1 --pty bash", "it worked with --gres=gpu:1"),
        ),
        ("scheduler-gpu-not-allocated", logged("salloc --gpus=2"), logged("salloc --mem=8G")),
        (
            "windows-native-no-gpu",
            {"host": WINDOWS, "frameworks": (tensorflow(version=Fact("2.10.1", "")),)},
            {"host": WINDOWS, "frameworks": (tensorflow(version=Fact("2.11.0", "")),)},
        ),
    ],
)
def test_a_fact_excludes_a_cause(cause: str, fact: dict[str, Any], otherwise: dict[str, Any], matrix: Matrix) -> None:
    assert cause in found(bare(**fact), matrix)
    assert cause not in found(bare(**otherwise), matrix)


@pytest.mark.parametrize(("names", "geforce"), [(("NVIDIA GeForce RTX 4090",), True), (("NVIDIA GeForce RTX 4090", "NVIDIA A100"), False)])
def test_no_nvswitch_connects_geforce_gpus(names: tuple[str, ...], geforce: bool, matrix: Matrix) -> None:
    gpus = tuple(NvmlGpu(number, address=address(number), name=name) for number, name in enumerate(names))
    assert ("fabric-manager-missing" in found(bare(nvml=Nvml(gpus=gpus)), matrix)) is geforce


@pytest.mark.parametrize(
    ("names", "capable"),
    [
        (("NVIDIA GeForce RTX 3090",), True),
        (("NVIDIA GeForce RTX 3090", "Tesla V100-SXM2-16GB"), False),
        (("NVIDIA GeForce RTX 3090", "NVIDIA Graphics Device"), False),
        ((), False),
    ],
)
def test_gpus_that_all_compute_in_bf16_do_not_lack_it(names: tuple[str, ...], capable: bool, matrix: Matrix) -> None:
    gpus = tuple(NvmlGpu(number, address=address(number), name=name) for number, name in enumerate(names))
    assert ("gpu-lacks-bf16" in found(bare(nvml=Nvml(gpus=gpus)), matrix)) is capable


@pytest.mark.parametrize(
    ("host", "excludes", "leaves"),
    [
        (Host(platform=Platform.WSL2), "nouveau-loaded", "wsl1"),
        (Host(platform=Platform.WINDOWS), "glibc-too-old", "no-driver"),
        (Host(platform=Platform.WINDOWS), "wsl1", "no-driver"),
        (Host(platform=Platform.JETSON), "uvm-not-loaded", "glibc-too-old"),
        (Host(platform=Platform.MACOS), "glibc-too-old", "no-gpu"),
        (Host(platform=Platform.LINUX, kernel="6.8.0-45-generic"), "wsl1", "no-driver"),
        (Host(platform=Platform.LINUX, kernel="5.15.153.1-microsoft-standard-WSL2"), "", "wsl1"),
        (Host(platform=Platform.LINUX), "", "wsl1"),
    ],
)
def test_a_platform_excludes_the_causes_of_others(host: Host, excludes: str, leaves: str, matrix: Matrix) -> None:
    causes = found(bare(host=host), matrix)
    assert leaves not in causes
    assert not excludes or excludes in causes


def found(snapshot: Snapshot, matrix: Matrix) -> frozenset[str]:
    return excluded_causes(MachineView(snapshot, matrix, Policy()))
