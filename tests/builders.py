"""Snapshots of imaginary machines, for tests of one rule or function; whole machines are recorded, not imagined."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from gpudoctor.snapshot import (
    Agreement,
    Cause,
    Container,
    CudaContext,
    CudaDevice,
    DeviceNodes,
    Fact,
    Framework,
    Host,
    Kernel,
    KernelDriver,
    Libcuda,
    Missing,
    Node,
    Nvml,
    NvmlGpu,
    Pci,
    PciDevice,
    Platform,
    ProcGpu,
    Python,
    Real,
    Smoke,
    SmokeDevice,
    Snapshot,
    Stage,
    StageKind,
    StageState,
    Status,
    Training,
    Variables,
)

ABSENT = Missing(Cause.ABSENT, "looked for and not there")
TIMED_OUT = Missing(Cause.TIMED_OUT, "did not respond for 30 s in nvmlInit")
SUCCESS = Status(0, "SUCCESS", "no error")


def address(number: int) -> str:
    return f"0000:{number + 1:02x}:00.0"


def card(number: int, **changes: Any) -> PciDevice:
    whole = PciDevice(address=address(number), vendor="10de", device="20b2", class_code="030200", driver="nvidia")
    return msgspec.structs.replace(whole, **changes)


def machine(gpus: int = 1, **changes: Any) -> Snapshot:
    """A Linux machine with `gpus` healthy GPUs on every layer; `changes` replace sections."""
    numbers = range(gpus)
    nodes = (Node("/dev/nvidiactl", mode="0666", uid=0, gid=0, group="root", accessible=True),) if gpus else ()
    healthy = Snapshot(
        created="2026-01-02T03:04:05Z",
        host=Host(platform=Platform.LINUX, distribution="ubuntu", distribution_like="debian", uid=1000),
        container=ABSENT,
        variables=Variables({}),
        pci=Pci(tuple(card(number) for number in numbers)),
        kernel_driver=KernelDriver(
            version=Fact("550.163.01", "/proc/driver/nvidia/version"),
            gpus=tuple(ProcGpu(address(number), minor=number) for number in numbers),
        ),
        device_nodes=DeviceNodes((*nodes, *(Node(f"/dev/nvidia{number}", mode="0666", accessible=True) for number in numbers))),
        nvml=Nvml(
            init=SUCCESS,
            driver_version="550.163.01",
            nvml_version="12.550.163.01",
            cuda_served="12.4",
            gpus=tuple(NvmlGpu(number, address=address(number), name="NVIDIA A100-SXM4-80GB", minor=number) for number in numbers),
        ),
        libcuda=libcuda(gpus),
        python=Python("/env/bin/python", "the active virtual environment", version="3.12.1"),
        frameworks=(tensorflow(),),
    )
    return msgspec.structs.replace(healthy, **changes)


def libcuda(gpus: int, code: int = 0, name: str = "CUDA_SUCCESS") -> Libcuda:
    init = Status(code, name, name)
    if code:
        return Libcuda(init=init, cuda_served="12.4", devices=Missing(Cause.FAILED, f"cuInit: {name}"))
    return Libcuda(init=init, cuda_served="12.4", devices=tuple(CudaDevice(number, address=address(number)) for number in range(gpus)))


def bare(**changes: Any) -> Snapshot:
    """A Linux machine without any trace of NVIDIA."""
    nothing = {
        "kernel_driver": KernelDriver(version=ABSENT, modules=(), gpus=ABSENT),
        "device_nodes": ABSENT,
        "nvml": ABSENT,
        "libcuda": ABSENT,
    }
    return machine(0, **{**nothing, **changes})


def touched(gpus: int, **changes: Any) -> tuple[CudaContext, ...]:
    """The results of our own kernel on `gpus` GPUs; `changes` are those of the last one."""
    right = [CudaContext(number, address=address(number), kernel_right=True, elements=8192, wrong=0) for number in range(gpus)]
    return (*right[:-1], msgspec.structs.replace(right[-1], **changes))


def in_docker() -> Container:
    return Container("docker", "/.dockerenv")


def tensorflow(**changes: Any) -> Framework:
    whole = Framework(
        name="tensorflow",
        distribution="tensorflow",
        version=Fact("2.18.0", "dist-info"),
        cuda_build=True,
        built_with_cuda=Fact("12.5.1", "build_info.py"),
        built_with_cudnn=Fact("9", "build_info.py"),
    )
    return msgspec.structs.replace(whole, **changes)


def torch(**changes: Any) -> Framework:
    whole = Framework(
        name="torch",
        distribution="torch",
        version=Fact("2.6.0+cu124", "torch/version.py"),
        cuda_build=True,
        built_with_cuda=Fact("12.4", "torch/version.py"),
    )
    return msgspec.structs.replace(whole, **changes)


def training(number: int | None = 0, **changes: Any) -> Training:
    """A successful training run, on a GPU or, for None, on the CPU."""
    device = "CPU:0" if number is None else f"GPU:{number}"
    whole = Training(
        device=device,
        placed_on=(f"/job:localhost/replica:0/task:0/device:{device}",),
        steps=300,
        losses=(2.3, 0.9, 0.1),
        accuracy=0.99,
        expected_accuracy=1.0,
        seconds=1.0,
        samples_per_second=1000.0,
        address=Missing(Cause.NOT_ASKED, "CPU") if number is None else address(number),
        agreement=Agreement(steps=10, loss_difference=1e-7, weight_difference=1e-8, loss_tolerance=1e-5, weight_tolerance=1e-6),
    )
    return msgspec.structs.replace(whole, **changes)


def smoke(gpus: int = 1, **changes: Any) -> Smoke:
    """A successful smoke training on `gpus` GPUs."""
    numbers = range(gpus)
    whole = Smoke(
        framework="tensorflow",
        version="2.18.0",
        stages=(Stage(StageKind.IMPORT, StageState.DONE, seconds=1.0),),
        devices=(SmokeDevice("CPU:0", "cpu"), *(SmokeDevice(f"GPU:{number}", "gpu", address=address(number)) for number in numbers)),
        kernels=tuple(Kernel(f"GPU:{number}", f"/device:GPU:{number}", 1e-7, 1e-5, address=address(number)) for number in numbers),
        trainings=tuple(training(number) for number in numbers),
    )
    return msgspec.structs.replace(whole, **changes)


def real(number: float) -> Real:
    """`number` in a form that survives JSON."""
    if math.isfinite(number):
        return number
    if math.isnan(number):
        return "nan"
    return "inf" if number > 0 else "-inf"
