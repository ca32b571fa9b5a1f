"""What a text's other facts say for a cause, each with facts that say nothing for it."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.support import supported_causes
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import (
    NOT_ASKED,
    ContainerTools,
    DeviceNodes,
    Distribution,
    FabricManager,
    Fact,
    Host,
    KernelDriver,
    Limits,
    MigInstance,
    Missing,
    Node,
    Nvml,
    NvmlGpu,
    Packages,
    Platform,
    SharedMemory,
    TextLog,
    Variables,
)
from tests.builders import ABSENT, TIMED_OUT, address, bare, in_docker, tensorflow

MIB = 1 << 20
WINDOWS, JETSON, WSL, LINUX = (Host(platform=one) for one in (Platform.WINDOWS, Platform.JETSON, Platform.WSL2, Platform.LINUX))


def gpus(count: int = 1, **facts: Any) -> dict[str, Any]:
    return {"nvml": Nvml(gpus=tuple(NvmlGpu(number, address=address(number), **facts) for number in range(count)))}


def variable(value: str) -> dict[str, Any]:
    return {"variables": Variables({"CUDA_VISIBLE_DEVICES": value})}


def version(text: str) -> dict[str, Any]:
    return {"host": WINDOWS, "frameworks": (tensorflow(version=Fact(text, "the text")),)}


@pytest.mark.parametrize(
    ("cause", "facts", "value", "otherwise"),
    [
        ("cuda-visible-devices-masked", variable("-1"), "-1", variable("NoDevFiles")),
        ("cuda-visible-devices-masked", variable(""), '""', variable("MIG-1234")),
        ("cuda-visible-devices-uuid-unsupported", variable("GPU-8a5f"), "GPU-8a5f", variable("0")),
        (
            "gpu-memory-held-by-other-process",
            gpus(memory_used=9000 * MIB, memory_total=10000 * MIB),
            "9000 of 10000 MiB",
            gpus(memory_used=8000 * MIB, memory_total=10000 * MIB),
        ),
        ("exclusive-compute-mode", gpus(compute_mode="exclusive-process"), "exclusive-process", gpus(compute_mode="prohibited")),
        ("compute-prohibited", gpus(compute_mode="prohibited"), "prohibited", gpus(compute_mode="default")),
        ("mig-no-instances", gpus(mig_enabled=True), "enabled", gpus(mig_enabled=False)),
        ("mig-one-instance-per-process", gpus(mig_enabled=True), "enabled", gpus(mig_enabled=False)),
        ("mig-no-instances", gpus(mig_enabled=True, mig_instances=()), "enabled", gpus(mig_enabled=True, mig_instances=(MigInstance(0),))),
        ("mig-one-instance-per-process", gpus(mig_instances=(MigInstance(0), MigInstance(1))), "2", gpus(mig_instances=(MigInstance(0),))),
        ("mig-one-instance-per-process", gpus(2, mig_instances=(MigInstance(0),)), "2", gpus(2, mig_instances=ABSENT)),
        ("wsl-multi-gpu-limit", {"host": WSL, **gpus(2)}, "2", {"host": LINUX, **gpus(2)}),
        ("windows-native-no-gpu", version("2.11.0"), "without CUDA for Windows", version("2.10.1")),
        ("windows-native-no-gpu", version("nightly"), "without CUDA for Windows", {**version("2.15.0"), "host": LINUX}),
        ("jetson-needs-vendor-wheel", {"host": JETSON}, "Jetson", {"host": LINUX}),
    ],
)
def test_a_fact_speaks_for_a_cause(cause: str, facts: dict[str, Any], value: str, otherwise: dict[str, Any], matrix: Matrix) -> None:
    assert said(cause, facts, matrix) == value
    assert said(cause, otherwise, matrix) is None


@pytest.mark.parametrize(
    ("cause", "line", "value", "otherwise"),
    [
        (
            "glibc-too-old",
            "You're on Linux (`manylinux_2_28_x86_64`), but there are only wheels for manylinux_2_34_x86_64 and manylinux_2_35_x86_64",
            "2.28, and the package needs 2.34",
            "You're on Linux (`manylinux_2_35_x86_64`), but there are only wheels for manylinux_2_34_x86_64",
        ),
    ],
)
def test_a_line_speaks_for_a_cause(cause: str, line: str, value: str, otherwise: str, matrix: Matrix) -> None:
    assert said(cause, {}, matrix, line) == value
    assert said(cause, {}, matrix, otherwise) is None


def said(cause: str, facts: dict[str, Any], matrix: Matrix, line: str = "") -> str | None:
    log = TextLog(lines=(Fact(line, "line 1"),))
    found = supported_causes(MachineView(bare(text_log=log, **facts), matrix, Policy()), log)
    return found[cause].value if cause in found else None


FREE = "of which"  # words: ok


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (f"total capacity of 10.00 GiB {FREE} 512.00 MiB is free. this process has 1.50 GiB memory in use", "8192 of 10240 MiB"),
        (f"total capacity of 10.00 GiB {FREE} 512.00 KiB is free. this process has 1024.00 KiB memory in use", "10238 of 10240 MiB"),
        ("10485760 KiB total capacity; 0 bytes free; 2.00 GB cached", "8192 of 10240 MiB"),
        ("totalMemory: 8192.00MiB freeMemory: 1048576B", "8191 of 8192 MiB"),
        ("totalMemory: 8192.00MB freeMemory: 1048576bytes", "8191 of 8192 MiB"),
        ("totalMemory: 8192.00MiB freeMemory: 1024KiB", "8191 of 8192 MiB"),
        ("totalMemory: 8.00GB freeMemory: 1.00MB", "8191 of 8192 MiB"),
        ("totalMemory: 8.00GiB freeMemory: 4.00GiB", None),
        ("totalMemory: 8.00GiB", None),
    ],
)
def test_memory_that_is_neither_free_nor_the_programs_is_others(line: str, value: str | None, matrix: Matrix) -> None:
    assert said("gpu-memory-held-by-other-process", {}, matrix, line) == value


def listed(*names: str) -> dict[str, Any]:
    """The text lists these packages."""
    return {"packages": Packages(tuple(Distribution(name, "1.0", "line 2") for name in names))}


def loaded(*modules: str) -> dict[str, Any]:
    return {"kernel_driver": KernelDriver(version=ABSENT, modules=modules)}


def files(*paths: str) -> dict[str, Any]:
    return {"device_nodes": DeviceNodes(tuple(Node(path) for path in paths))}


def node(path: str, **changes: Any) -> dict[str, Any]:
    return {"device_nodes": DeviceNodes((Node(path, **changes),))}


def shared(size: int) -> dict[str, Any]:
    return {"limits": Limits(shared_memory=SharedMemory(size, free=0))}


NOT_IMPORTED = "ModuleNotFoundError: No module named 'torch'"
PINNED = "RuntimeError: CUDA error in cudaHostAlloc"


@pytest.mark.parametrize(
    ("cause", "facts", "line", "value"),
    [
        ("uvm-not-loaded", loaded("nvidia", "nvidia_modeset"), "", "nvidia, nvidia_modeset"),
        ("uvm-not-loaded", loaded("nvidia", "nvidia_uvm"), "", None),
        ("uvm-not-loaded", loaded("nouveau"), "", None),
        ("uvm-not-loaded", files("/dev/nvidia0", "/dev/nvidiactl"), "", "/dev/nvidia0, /dev/nvidiactl"),
        ("uvm-not-loaded", files("/dev/nvidia0", "/dev/nvidia-uvm"), "", None),
        ("uvm-not-loaded", files(), "", None),
        ("fabric-manager-missing", {"fabric_manager": FabricManager(running=False)}, "", "not running"),
        ("fabric-manager-missing", {"fabric_manager": FabricManager(running=True)}, "", None),
        ("fabric-manager-missing", {"fabric_manager": ABSENT}, "", "not installed"),
        ("fabric-manager-missing", {"fabric_manager": TIMED_OUT}, "", None),
        ("container-toolkit-missing", {"container_tools": ContainerTools((), (), runtime=False)}, "", "no nvidia among them"),
        ("container-toolkit-missing", {"container_tools": ContainerTools((), (), runtime=True)}, "", None),
        ("container-shm-too-small", shared(64 << 20), "", "64 MiB"),
        ("container-shm-too-small", shared((1 << 30) - 1), "", "1023 MiB"),
        ("container-shm-too-small", shared(1 << 30), "", None),
        ("device-nodes-missing", files(), "", "none"),
        ("device-nodes-missing", files("/dev/nvidia0"), "", None),
        ("device-permission-denied", node("/dev/nvidia0", mode="660"), "", "mode 660"),
        ("device-permission-denied", node("/dev/nvidia0", mode="664"), "", "mode 664"),
        ("device-permission-denied", node("/dev/nvidia0", mode="666"), "", None),
        ("device-permission-denied", node("/dev/nvidia0"), "", None),
        ("device-permission-denied", node("/dev/nvidia0", mode="660", accessible=True), "", None),
        ("device-permission-denied", node("/dev/nvidia-modeset", mode="660"), "", None),
        ("container-no-gpu-access", {"container": in_docker(), **files()}, "", "none"),
        ("container-no-gpu-access", files(), "", None),
        ("wsl-pinned-memory-limit", {"host": WSL}, PINNED, "cudaHostAlloc"),
        ("wsl-pinned-memory-limit", {"host": LINUX}, PINNED, None),
        ("wsl-pinned-memory-limit", {"host": WSL}, "RuntimeError: CUDA error", None),
        ("framework-missing", listed("numpy", "pip", "wheel"), NOT_IMPORTED, "no torch among 3"),
        ("framework-missing", listed("numpy", "pip"), NOT_IMPORTED, None),
        ("framework-missing", listed("numpy", "pip", "torch"), NOT_IMPORTED, None),
        ("framework-missing", listed("numpy", "pip", "wheel"), "", None),
        ("wsl1", {"host": Host(platform=Platform.WSL1)}, "", "WSL 1"),
        ("wsl1", {"host": WSL}, "", None),
        ("wsl-driver-stack-broken", {"host": WSL}, "", "WSL 2"),
        ("wsl-driver-stack-broken", {"host": WSL}, "[PhysicalDevice(name='/physical_device:GPU:0')]", None),
        ("wsl-driver-stack-broken", {"host": LINUX}, "", None),
        ("preloaded-library-intercepts-cuda", {"variables": Variables({"LD_PRELOAD": "/opt/trace.so"})}, "", "/opt/trace.so"),
        ("preloaded-library-intercepts-cuda", {"variables": Variables({"LD_PRELOAD": "/usr/lib/libtcmalloc.so.4"})}, "", None),
        ("preloaded-library-intercepts-cuda", {}, "[HAMI-core Msg(1:2)]: Initializing", "[HAMI-core Msg"),
    ],
)
def test_a_fact_of_the_system_speaks_for_a_cause(cause: str, facts: dict[str, Any], line: str, value: str | None, matrix: Matrix) -> None:
    assert said(cause, facts, matrix, line) == value


def built(*, for_cuda: bool | Missing, sees_gpu: bool | Missing = NOT_ASKED) -> dict[str, Any]:
    return {**gpus(), "frameworks": (tensorflow(cuda_build=for_cuda, sees_gpu=sees_gpu),)}


@pytest.mark.parametrize(
    ("facts", "speaks"),
    [
        (built(for_cuda=True), True),
        (built(for_cuda=NOT_ASKED), True),
        (built(for_cuda=False), False),
        (built(for_cuda=True, sees_gpu=False), True),
        (built(for_cuda=True, sees_gpu=True), False),
        ({**built(for_cuda=True), "nvml": ABSENT}, False),
    ],
)
def test_a_build_that_opens_cudas_libraries_speaks_for_missing_ones(facts: dict[str, Any], speaks: bool, matrix: Matrix) -> None:
    assert (said("cuda-library-missing", facts, matrix) is not None) is speaks
    assert said("cuda-library-missing", facts, matrix, "Could not load dynamic library libcudart.so.12") is None
