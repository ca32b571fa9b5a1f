"""Our libcuda.so.1 and NVIDIA's real one, through ctypes in a child."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.seams import BRANCHES, Cuda, DriverLibraries, Nvml, NvmlGpu, without_mknod
from tests.seams.fixtures import ShimEnvironment

CudaEnviron = Callable[..., dict[str, str]]

ASK = """
import ctypes, json
cuda = ctypes.CDLL("libcuda.so.1")
version, count, major, minor = (ctypes.c_int() for _ in range(4))
bytes_ = ctypes.c_size_t()
text, uuid = ctypes.create_string_buffer(96), (ctypes.c_ubyte * 16)()
answer = {"version": cuda.cuDriverGetVersion(ctypes.byref(version)) or version.value, "init": cuda.cuInit(0)}
answer["count"] = [cuda.cuDeviceGetCount(ctypes.byref(count)), count.value]
answer["gpus"] = []
for index in range(count.value):
    assert cuda.cuDeviceGetName(text, 96, index) == 0
    name = text.value.decode()
    assert cuda.cuDeviceGetPCIBusId(text, 96, index) == 0
    assert cuda.cuDeviceGetUuid_v2(uuid, index) == 0
    assert cuda.cuDeviceTotalMem_v2(ctypes.byref(bytes_), index) == 0
    assert cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, index) == 0 and cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, index) == 0
    answer["gpus"].append([name, text.value.decode(), bytes(uuid).hex(), bytes_.value, [major.value, minor.value]])
print(json.dumps(answer))
"""

ERRORS = """
import ctypes
cuda, text = ctypes.CDLL("libcuda.so.1"), ctypes.c_char_p()
for code in (0, 1, 3, 46, 100, 101, 214, 222, 303, 304, 500, 801, 802, 803, 804, 999):
    for ask in (cuda.cuGetErrorName, cuda.cuGetErrorString):
        print(code, ask(code, ctypes.byref(text)), text.value.decode())
print(cuda.cuGetErrorName(123456, ctypes.byref(text)), text.value)
"""


def run(code: str, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        without_mknod([sys.executable, "-c", code]), env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout


def ask(environment: Mapping[str, str], **variables: str) -> Any:
    return json.loads(run(ASK, {key: value for key, value in environment.items() if not key.startswith("CUDA_")} | variables))


def test_the_cards_agree_with_nvml(shim_environment: ShimEnvironment) -> None:
    nvml = Nvml(gpus=[NvmlGpu(), NvmlGpu(name="NVIDIA H100", compute_capability=(9, 0), memory_total=80 << 30)])
    answer = ask(shim_environment(nvml, Cuda(gpus=nvml.gpus, cuda="12.8")))
    assert answer == {
        "version": 12080, "init": 0, "count": [0, 2],
        "gpus": [
            ["NVIDIA A100-SXM4-80GB", "0000:07:00.0", "a10000001c2d3e4f5a6b700000000000", 81920 << 20, [8, 0]],
            ["NVIDIA H100", "0000:0F:00.0", "a10000011c2d3e4f5a6b700000000001", 80 << 30, [9, 0]],
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "buses"),
    [
        ("0,1,2", "07 0F 17"), ("2,0", "17 07"), ("1", "0F"), ("0,9,1", "07"), ("0,-1,1", "07"), ("1gpu2,2", "0F 17"), (" 1, 2", "0F 17"), ("1,x,2", "0F"),
        ("GPU-a1000002,GPU-a1000000", "17 07"), ("GPU-a1", None), ("GPU-a1000001,GPU-ffff,0", "0F"),
        ("", None), ("-1", None), ("none", None), ("3", None), ("MIG-x", None),
    ],
)  # fmt: skip
def test_visible_devices(fake_cuda: CudaEnviron, value: str, buses: str | None) -> None:
    answer = ask(fake_cuda(gpus=3), CUDA_VISIBLE_DEVICES=value)
    if buses is None:
        assert (answer["init"], answer["count"][0]) == (100, 3)
    else:
        assert [gpu[1][5:7] for gpu in answer["gpus"]] == buses.split()


@pytest.mark.parametrize("value", ["0,0", "0,1,0", "0,GPU-a1000000"])
def test_a_card_named_twice(fake_cuda: CudaEnviron, value: str) -> None:
    assert ask(fake_cuda(gpus=2), CUDA_VISIBLE_DEVICES=value)["init"] == 101


def test_device_order(fake_cuda: CudaEnviron) -> None:
    environment = fake_cuda(gpus=[NvmlGpu(address="00000000:C1:00.0"), NvmlGpu(address="00000000:0A:00.0")])
    assert [gpu[1] for gpu in ask(environment)["gpus"]] == ["0000:C1:00.0", "0000:0A:00.0"]
    assert [gpu[1] for gpu in ask(environment, CUDA_DEVICE_ORDER="PCI_BUS_ID", CUDA_VISIBLE_DEVICES="0")["gpus"]] == ["0000:0A:00.0"]


@pytest.mark.parametrize("code", [100, 304, 802, 803, 999])
def test_init_codes(fake_cuda: CudaEnviron, code: int) -> None:
    assert ask(fake_cuda(calls={"cuInit": f"return {code}"})) == {"version": 12040, "init": code, "count": [3, 0], "gpus": []}


@pytest.mark.parametrize("act", ["hang", "crash"])
def test_hang_and_crash(fake_cuda: CudaEnviron, act: str) -> None:
    command = [sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)"]
    environment = fake_cuda(calls={"cuInit": act})
    if act == "crash":
        assert subprocess.run(command, env=environment, timeout=60, check=False).returncode == -11
    else:
        with pytest.raises(subprocess.TimeoutExpired):
            subprocess.run(command, env=environment, timeout=1, check=False)


WORK = """
import ctypes
cuda, context, module, function, memory = ctypes.CDLL("libcuda.so.1"), *(ctypes.c_void_p() for _ in range(4))
by, free, total = ctypes.byref, ctypes.c_size_t(), ctypes.c_size_t()
print(cuda.cuMemGetInfo_v2(by(free), by(total)), cuda.cuInit(0), cuda.cuMemGetInfo_v2(by(free), by(total)))
print(cuda.cuDevicePrimaryCtxRetain(by(context), 0), cuda.cuCtxSetCurrent(context), cuda.cuMemGetInfo_v2(by(free), by(total)), total.value - free.value >> 20)
print(cuda.cuMemAlloc_v2(by(memory), ctypes.c_size_t(1 << 50)), cuda.cuMemAlloc_v2(by(memory), ctypes.c_size_t(4096)))
print(cuda.cuMemsetD32_v2(memory, 7, ctypes.c_size_t(1025)), cuda.cuMemsetD32_v2(memory, 7, ctypes.c_size_t(1024)))
print(cuda.cuModuleLoadData(by(module), b".entry another("), cuda.cuModuleLoadData(by(module), b".entry gpudoctor_mix("))
print(cuda.cuModuleGetFunction(by(function), module, b"another"), cuda.cuMemFree_v2(memory), cuda.cuMemFree_v2(memory))
print(cuda.cuDevicePrimaryCtxRelease_v2(0), cuda.cuDevicePrimaryCtxRelease_v2(0), cuda.cuCtxSynchronize())
"""


def test_a_context_and_its_memory(fake_cuda: CudaEnviron) -> None:
    assert run(WORK, fake_cuda(gpus=[NvmlGpu(memory_used=1 << 30)])) == "3 0 201\n0 0 0 2040\n2 0\n1 0\n801 0\n500 0 1\n0 201 201\n"


def test_refuses_cudarts_private_calls(fake_cuda: CudaEnviron) -> None:
    code = "import ctypes; c = ctypes.CDLL('libcuda.so.1'); p = ctypes.c_void_p(); print(c.cuGetExportTable(ctypes.byref(p), b'x' * 16)); c.cuInit(0); print("
    code += "c.cuGetExportTable(ctypes.byref(p), b'x' * 16), c.cuGetProcAddress(b'cuDeviceGetUuid', ctypes.byref(p), 12000, 0))"
    assert run(code, fake_cuda()) == "3\n801 0\n"


@pytest.mark.debian
def test_error_names_match_the_real_library(fake_cuda: CudaEnviron, driver_libraries: Callable[[str], DriverLibraries]) -> None:
    ours = run(ERRORS, fake_cuda())
    assert "803 0 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" in ours
    assert ours == run(ERRORS, driver_libraries("550").environ())


@pytest.mark.debian
@pytest.mark.parametrize(("branch", "served"), [("470", 11040), ("535", 12020), ("550", 12040)])
def test_real_library_without_a_kernel_driver(driver_libraries: Callable[[str], DriverLibraries], branch: str, served: int) -> None:
    assert branch in BRANCHES
    assert ask(driver_libraries(branch).environ()) == {"version": served, "init": 100, "count": [3, 0], "gpus": []}
