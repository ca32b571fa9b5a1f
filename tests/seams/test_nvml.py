"""Our libnvidia-ml.so.1 and NVIDIA's real one, through the real nvidia-ml-py in a child."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.seams import BRANCHES, DriverLibraries, Mig, Nvml, NvmlGpu, without_mknod

NvmlEnviron = Callable[..., dict[str, str]]
Libraries = Callable[[str], DriverLibraries]

#: runs each named call of nvidia-ml-py for each GPU; prints {"init": CODE | None, "gpus": [{call: value or {"error": CODE}}]}
ASK = """
import ctypes, json, sys
import pynvml as nvml

def plain(value):
    if isinstance(value, ctypes.Structure):
        return {name: plain(getattr(value, name)) for name, _ in value._fields_}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.decode() if isinstance(value, bytes) else getattr(value, "__dict__", value) if not hasattr(value, "contents") else "handle"

def ask(call, *arguments):
    try:
        return getattr(nvml, call)(*arguments)
    except nvml.NVMLError as error:
        return {"error": error.value}

init = ask("nvmlInit")
answer = {"init": init and init["error"], "gpus": []}
if init is None:
    answer["system"] = {call: plain(ask(call)) for call in
        ("nvmlDeviceGetCount", "nvmlSystemGetDriverVersion", "nvmlSystemGetNVMLVersion", "nvmlSystemGetCudaDriverVersion_v2")}
    for index in range(answer["system"]["nvmlDeviceGetCount"]):
        handle = ask("nvmlDeviceGetHandleByIndex", index)
        answer["gpus"].append(handle if isinstance(handle, dict) else {call: plain(ask(call, handle, *more)) for call, *more in json.loads(sys.argv[1])})
print(json.dumps(answer))
"""


def ask(environment: Mapping[str, str], *calls: str | list[Any]) -> Any:
    wanted = json.dumps([[call] if isinstance(call, str) else call for call in calls])
    command = without_mknod([sys.executable, "-c", ASK, wanted])
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


FACTS = {
    "nvmlDeviceGetName": "NVIDIA A100-SXM4-80GB",
    "nvmlDeviceGetCudaComputeCapability": [8, 0],
    "nvmlDeviceGetMigMode": [0, 0],
    "nvmlDeviceGetEccMode": [1, 1],
    "nvmlDeviceGetRemappedRows": [0, 0, 0, 0],
    "nvmlDeviceGetComputeMode": 0,
    "nvmlDeviceGetPersistenceMode": 1,
    "nvmlDeviceGetCurrPcieLinkGeneration": 4,
    "nvmlDeviceGetMaxPcieLinkGeneration": 4,
    "nvmlDeviceGetCurrPcieLinkWidth": 16,
    "nvmlDeviceGetMaxPcieLinkWidth": 16,
    "nvmlDeviceGetCurrentClocksEventReasons": 1,
    "nvmlDeviceGetCurrentClocksThrottleReasons": 1,
    "nvmlDeviceGetPowerUsage": 61_000,
    "nvmlDeviceGetEnforcedPowerLimit": 400_000,
    "nvmlDeviceGetUtilizationRates": {"gpu": 0, "memory": 0},
    "nvmlDeviceGetComputeRunningProcesses": [],
    "nvmlDeviceGetGraphicsRunningProcesses": [],
}


def test_eight_healthy_cards(fake_nvml: NvmlEnviron) -> None:
    answer = ask(
        fake_nvml(gpus=8, driver="550.163.01", cuda="12.4"), *FACTS, "nvmlDeviceGetUUID", "nvmlDeviceGetPciInfo", "nvmlDeviceGetMinorNumber"
    )
    assert answer["system"] == {
        "nvmlDeviceGetCount": 8,
        "nvmlSystemGetDriverVersion": "550.163.01",
        "nvmlSystemGetNVMLVersion": "12.550.163.01",
        "nvmlSystemGetCudaDriverVersion_v2": 12040,
    }
    for index, gpu in enumerate(answer["gpus"]):
        assert {call: gpu[call] for call in FACTS} == FACTS
        assert gpu["nvmlDeviceGetMinorNumber"] == index
        assert gpu["nvmlDeviceGetPciInfo"] == {
            "busIdLegacy": f"0000:{7 + 8 * index:02X}:00.0", "domain": 0, "bus": 7 + 8 * index, "device": 0,
            "pciDeviceId": 0x20B210DE, "pciSubSystemId": 0x147F10DE, "busId": f"00000000:{7 + 8 * index:02X}:00.0",
        }  # fmt: skip
    assert len({gpu["nvmlDeviceGetUUID"] for gpu in answer["gpus"]}) == 8


def test_a_fully_described_card(fake_nvml: NvmlEnviron) -> None:
    gpu = NvmlGpu(
        name="Tesla T4", address="00000001:3B:00.0", minor=5, memory_total=16 << 30, memory_used=3 << 30, memory_reserved=1 << 30, mig=None,
        ecc=(0, 1), ecc_corrected=4, ecc_uncorrected=2, remapped=(1, 2, 1, 0), pcie_gen=(1, 3), pcie_width=(8, 16), clocks_event_reasons=0x44,
        compute_processes=[(4321, 2 << 30), (4322, None)], graphics_processes=[(900, 5 << 20)], facts={"serial": "123"},
    )  # fmt: skip
    calls = (
        "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMigMode", "nvmlDeviceGetEccMode", "nvmlDeviceGetRemappedRows", "nvmlDeviceGetSerial",
        "nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses", ["nvmlDeviceGetTotalEccErrors", 1, 0], "nvmlDeviceGetPciInfo",
    )  # fmt: skip
    answer = ask(fake_nvml(gpus=[gpu]), *calls)["gpus"][0]
    assert answer["nvmlDeviceGetMemoryInfo"] == {"total": 16 << 30, "free": 12 << 30, "used": 4 << 30}
    assert answer["nvmlDeviceGetMigMode"] == {"error": 3}
    assert answer["nvmlDeviceGetEccMode"] == [0, 1]
    assert answer["nvmlDeviceGetTotalEccErrors"] == 2
    assert answer["nvmlDeviceGetRemappedRows"] == [1, 2, 1, 0]
    assert answer["nvmlDeviceGetSerial"] == "123"
    assert answer["nvmlDeviceGetPciInfo"]["busId"] == "00000001:3B:00.0"
    assert [(row["pid"], row["usedGpuMemory"]) for row in answer["nvmlDeviceGetComputeRunningProcesses"]] == [(4321, 2 << 30), (4322, None)]
    assert [row["pid"] for row in answer["nvmlDeviceGetGraphicsRunningProcesses"]] == [900]


def test_versioned_memory_and_look_ups(fake_nvml: NvmlEnviron) -> None:
    code = """
import pynvml as n
n.nvmlInit()
h = n.nvmlDeviceGetHandleByPciBusId(b"0000:0f:00.0")
assert n.nvmlDeviceGetIndex(h) == 1
assert n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByUUID(n.nvmlDeviceGetUUID(h))) == 1
two = n.nvmlDeviceGetMemoryInfo(h, version=n.nvmlMemory_v2)
assert two.total == two.free + two.used + two.reserved and two.reserved > 0, two
for wrong, code in (lambda: n.nvmlDeviceGetMemoryInfo(h, version=7), 25), (lambda: n.nvmlDeviceGetHandleByPciBusId(b"0000:99:00.0"), 6), (lambda: n.nvmlDeviceGetHandleByIndex(2), 2):
    try: wrong()
    except n.NVMLError as e: assert e.value == code, (e.value, code)
    else: raise AssertionError(code)
n.nvmlShutdown()
try: n.nvmlDeviceGetCount()
except n.NVMLError as e: assert e.value == 1
else: raise AssertionError
print("all held")
"""
    done = subprocess.run([sys.executable, "-c", code], env=fake_nvml(gpus=2), capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "all held\n", done.stderr


def test_mig_instances(fake_nvml: NvmlEnviron) -> None:
    code = """
import pynvml as n
n.nvmlInit()
h = n.nvmlDeviceGetHandleByIndex(0)
assert n.nvmlDeviceGetMaxMigDeviceCount(h) == 7
m = n.nvmlDeviceGetMigDeviceHandleByIndex(h, 1)
assert n.nvmlDeviceIsMigDeviceHandle(m) and not n.nvmlDeviceIsMigDeviceHandle(h)
print(n.nvmlDeviceGetUUID(m), n.nvmlDeviceGetMemoryInfo(m).total, n.nvmlDeviceGetUUID(n.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(m)) == n.nvmlDeviceGetUUID(h))
try: n.nvmlDeviceGetMigDeviceHandleByIndex(h, 2)
except n.NVMLError_NotFound: print("two")
"""
    card = NvmlGpu(mig=(1, 1), mig_instances=[Mig(uuid="MIG-a"), Mig(uuid="MIG-b", memory_total=5 << 30)])
    done = subprocess.run([sys.executable, "-c", code], env=fake_nvml(gpus=[card]), capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == f"MIG-b {5 << 30} True\ntwo\n", done.stderr


def test_one_lost_of_eight(fake_nvml: NvmlEnviron) -> None:
    answer = ask(fake_nvml(gpus=8, calls={"nvmlDeviceGetHandleByIndex.3": "return 15"}), "nvmlDeviceGetName")
    assert answer["gpus"].pop(3) == {"error": 15}
    assert answer["gpus"] == [{"nvmlDeviceGetName": "NVIDIA A100-SXM4-80GB"}] * 7


def test_a_card_lost_after_its_handle(fake_nvml: NvmlEnviron) -> None:
    calls = {"*.1": "return 15", "nvmlDeviceGetHandleByIndex.1": "ok", "nvmlDeviceGetName.0": "after 1 return 999"}
    answer = ask(fake_nvml(gpus=2, calls=calls), "nvmlDeviceGetName", "nvmlDeviceGetUUID")
    assert answer["gpus"][1] == {"nvmlDeviceGetName": {"error": 15}, "nvmlDeviceGetUUID": {"error": 15}}
    assert answer["gpus"][0]["nvmlDeviceGetName"] == "NVIDIA A100-SXM4-80GB"
    again = ask(fake_nvml(gpus=1, calls=calls), "nvmlDeviceGetName", "nvmlDeviceGetUUID")
    assert again["gpus"][0]["nvmlDeviceGetUUID"].startswith("GPU-")


@pytest.mark.parametrize("code", [1, 4, 9, 11, 12, 15, 17, 18, 27, 999])
def test_init_codes(fake_nvml: NvmlEnviron, code: int) -> None:
    assert ask(fake_nvml(calls={"nvmlInit": f"return {code}"})) == {"init": code, "gpus": []}


def test_a_function_that_an_old_driver_lacks(fake_nvml: NvmlEnviron) -> None:
    answer = ask(fake_nvml(without=("nvmlDeviceGetRemappedRows",)), "nvmlDeviceGetRemappedRows", "nvmlDeviceGetName")
    assert answer["gpus"] == [{"nvmlDeviceGetRemappedRows": {"error": 13}, "nvmlDeviceGetName": "NVIDIA A100-SXM4-80GB"}]


def test_crash(fake_nvml: NvmlEnviron) -> None:
    environment = fake_nvml(gpus=2, calls={"nvmlDeviceGetPowerUsage.1": "crash"})
    code = (
        "import pynvml as n; n.nvmlInit(); [print(n.nvmlDeviceGetPowerUsage(n.nvmlDeviceGetHandleByIndex(i)), flush=True) for i in (0, 1)]"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGSEGV, "61000\n")


@pytest.mark.parametrize(("act", "state"), [("hang", "S"), ("stuck", "D")])
def test_a_call_that_never_returns(fake_nvml: NvmlEnviron, act: str, state: str) -> None:
    code = "import pynvml; print('in', flush=True); pynvml.nvmlInit()"
    environment = fake_nvml(calls={"nvmlInit": act})
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, start_new_session=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"in\n"
        deadline = time.monotonic() + 10
        while (shown := Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0]) != state and time.monotonic() < deadline:
            time.sleep(0.05)
        assert shown == state
        time.sleep(0.3)
        assert child.poll() is None
        child.kill()
        assert child.wait(timeout=10) == -signal.SIGKILL


def test_slow_call(fake_nvml: NvmlEnviron) -> None:
    environment = fake_nvml(calls={"nvmlInit": "sleep 700 return 10"})
    begin = time.monotonic()
    assert ask(environment)["init"] == 10
    assert time.monotonic() - begin >= 0.7


def test_a_misspelt_scenario_is_refused() -> None:
    with pytest.raises(ValueError, match="no function nvmlDeviceGetNmae"):
        Nvml(calls={"nvmlDeviceGetNmae": "hang"})
    with pytest.raises(ValueError, match="no act"):
        Nvml(calls={"nvmlInit": "retrun 9"})


def test_error_strings_match_the_real_library(fake_nvml: NvmlEnviron, driver_libraries: Libraries) -> None:
    code = """
import ctypes
library = ctypes.CDLL("libnvidia-ml.so.1")
library.nvmlErrorString.restype = ctypes.c_char_p
print([library.nvmlErrorString(code).decode() for code in (*range(32), 999)])
"""

    def strings(environment: Mapping[str, str]) -> str:
        return subprocess.run(
            without_mknod([sys.executable, "-c", code]), env=environment, capture_output=True, text=True, check=True, timeout=60
        ).stdout

    assert "GPU is lost" in strings(fake_nvml())
    assert strings(fake_nvml()) == strings(driver_libraries("550").environ())


@pytest.mark.debian
@pytest.mark.parametrize("branch", BRANCHES)
class TestRealLibraries:
    def test_without_a_kernel_driver(self, driver_libraries: Libraries, branch: str) -> None:
        library = driver_libraries(branch)
        assert library.version.startswith(f"{branch}.")
        assert ask(library.environ()) == {"init": 9, "gpus": []}

    def test_nvidia_smi_without_a_kernel_driver(self, driver_libraries: Libraries, branch: str) -> None:
        library = driver_libraries(branch)
        done = subprocess.run(
            without_mknod([str(library.smi)]), env=library.environ(), capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 9
        assert "couldn't communicate with the NVIDIA driver" in done.stdout

    def test_another_kernel_driver(self, driver_libraries: Libraries, branch: str) -> None:
        library = driver_libraries(branch)
        environment = library.environ(kernel_driver="999.12.34")
        assert ask(environment) == {"init": 18, "gpus": []}
        done = subprocess.run(without_mknod([str(library.smi)]), env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == (255 if branch == "470" else 18)
        assert "Driver/library version mismatch" in done.stdout
        assert ("NVML library version" in done.stdout) is (branch != "470")

    def test_the_same_kernel_driver_is_no_mismatch(self, driver_libraries: Libraries, branch: str) -> None:
        library = driver_libraries(branch)
        assert ask(library.environ(kernel_driver=library.version))["init"] == 9
