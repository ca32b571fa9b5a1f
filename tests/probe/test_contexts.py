"""Our own kernel, run by the child over our libcuda, which computes the same independently in C: right, wrong, refused, hung, crashed."""

from __future__ import annotations

import importlib.util
import itertools
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import pytest

import gpudoctor
from gpudoctor.derive.libcuda import failed_call
from gpudoctor.probe.contexts import context_of_device
from gpudoctor.probe.inventory import ProbeTimeouts
from gpudoctor.process import Supervisor
from gpudoctor.snapshot import Cause, CudaContext, Hang, Missing
from tests.probe.places import SHORT
from tests.probe.test_children import FOUND
from tests.seams import Cuda
from tests.seams import NvmlGpu as Card

Shims = Callable[..., dict[str, str]]
CHILD = Path(gpudoctor.__file__).parent / "children" / "target"
CALLS = (
    "cuInit",
    "cuDeviceGet",
    "cuDevicePrimaryCtxRetain",
    "cuCtxSetCurrent",
    "cuMemGetInfo",
    "cuModuleLoadData",
    "cuModuleGetFunction",
    "cuMemAlloc",
    "cuMemsetD32",
    "cuLaunchKernel",
    "cuCtxSynchronize",
    "cuMemcpyDtoH",
)
AFTERWARDS = ("cuMemFree", "cuModuleUnload", "cuDevicePrimaryCtxRelease")


def run(
    environ: Mapping[str, str], ordinal: int = 0, patience: ProbeTimeouts | None = None, interpreter: str = sys.executable
) -> CudaContext:
    with Supervisor(time.monotonic() + 60) as supervisor:
        return context_of_device(supervisor, interpreter, (ordinal, "0000:07:00.0"), environ, patience)


def kernel() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gpudoctor_kernel", CHILD / "gpudoctor_kernel.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_kernel_that_runs(fake_cuda: Shims) -> None:
    seen = run(fake_cuda(gpus=[Card(), Card(memory_used=1 << 30, ecc=(0, 0), compute_mode=3, compute_capability=(9, 0))]), 1)
    assert (seen.kernel_right, seen.elements, seen.wrong) == (True, 8192, 0)
    assert (seen.compute_capability, seen.multiprocessors, seen.memory_clock, seen.memory_bus_width) == ("9.0", 108, 1593000, 5120)
    assert (seen.compute_mode, seen.ecc_enabled, seen.unified_addressing, seen.integrated) == ("exclusive-process", False, True, False)
    assert (seen.ordinal, seen.address, seen.pci_address) == (1, "0000:07:00.0", "0000:0f:00.0")
    assert isinstance(seen.hang, Missing)
    assert seen.hang.cause is Cause.ABSENT
    assert [call.status.code for call in seen.calls] == [0] * len(seen.calls)
    assert {*CALLS, *AFTERWARDS} == {call.call for call in seen.calls}


def test_memory_is_freed(fake_cuda: Shims) -> None:
    seen = run(fake_cuda(gpus=1))
    assert isinstance(seen.memory_free, int)
    assert isinstance(seen.memory_allocated, int)
    assert seen.memory_free_meanwhile == seen.memory_free - seen.memory_allocated
    assert seen.memory_free_after == seen.memory_free
    assert seen.memory_total == 81920 << 20


@pytest.mark.parametrize("element", [0, 4711, 8191])
def test_one_wrong_bit_is_detected(fake_cuda: Shims, element: int) -> None:
    seen = run(fake_cuda(gpus=[Card(facts={"wrong_element": element})]))
    assert (seen.kernel_right, seen.wrong) == (False, 1)
    assert isinstance(seen.first_wrong, str)
    found, wanted = (int(word, 16) for word in seen.first_wrong.split() if word.startswith("0x"))
    assert seen.first_wrong.startswith(f"element {element} is ")
    assert found ^ wanted == 1 << 7


@pytest.mark.parametrize("call", CALLS)
def test_a_refused_call_has_its_number_and_name(fake_cuda: Shims, call: str) -> None:
    seen = run(fake_cuda(gpus=2, calls={f"{call}.1" if call != "cuInit" else call: "return 999"}), 1)
    assert isinstance(seen.kernel_right, Missing)
    assert seen.kernel_right.cause is Cause.FAILED
    assert seen.kernel_right.reason == f"{call} answered 999 (CUDA_ERROR_UNKNOWN)"
    failed = failed_call(seen)
    assert failed is not None
    assert (failed.call, failed.status.code, failed.status.text) == (call, 999, "unknown error")
    assert seen.calls[-1] == failed


@pytest.mark.parametrize("call", AFTERWARDS)
def test_failures_after_the_kernel_do_not_invalidate_it(fake_cuda: Shims, call: str) -> None:
    seen = run(fake_cuda(calls={call: "return 700"}))
    failed = failed_call(seen)
    assert seen.kernel_right is True
    assert failed is not None
    assert failed.call == call


@pytest.mark.parametrize(("act", "uninterruptible"), [("hang", False), ("stuck", True)])
@pytest.mark.parametrize("call", ["cuDevicePrimaryCtxRetain", "cuCtxSynchronize"])
def test_a_hang_names_its_call_and_keeps_earlier_answers(fake_cuda: Shims, call: str, act: str, *, uninterruptible: bool) -> None:
    seen = run(fake_cuda(calls={call: act}), patience=SHORT)
    assert isinstance(seen.hang, Hang)
    assert (seen.hang.call, seen.hang.uninterruptible) == (call, uninterruptible)
    assert isinstance(seen.kernel_right, Missing)
    assert seen.kernel_right.cause is Cause.TIMED_OUT
    assert seen.multiprocessors == 108


@pytest.mark.parametrize("call", ["cuInit", "cuModuleLoadData", "cuLaunchKernel"])
def test_a_crash_names_its_call(fake_cuda: Shims, call: str) -> None:
    seen = run(fake_cuda(calls={call: "crash"}))
    assert isinstance(seen.kernel_right, Missing)
    assert seen.kernel_right.cause is Cause.FAILED
    assert f"SIGSEGV in {call}" in seen.kernel_right.reason
    assert isinstance(seen.hang, Missing)


def test_a_slow_call_is_not_hung(fake_cuda: Shims) -> None:
    seen = run(fake_cuda(calls={"cuDevicePrimaryCtxRetain": "sleep 400"}), patience=SHORT)
    assert seen.kernel_right is True
    assert next(call for call in seen.calls if call.call == "cuDevicePrimaryCtxRetain").milliseconds >= 400


def test_ordinals_count_visible_devices(fake_cuda: Shims) -> None:
    assert run({**fake_cuda(gpus=3), "CUDA_VISIBLE_DEVICES": "2,0"}).pci_address == "0000:17:00.0"


def test_without_a_library(tmp_path: Path) -> None:
    seen = run({"LD_LIBRARY_PATH": str(tmp_path)})
    assert isinstance(seen.kernel_right, Missing)
    assert seen.kernel_right.cause is Cause.ABSENT
    assert "libcuda.so.1" in seen.kernel_right.reason


def test_an_interpreter_without_an_answer(fake_cuda: Shims) -> None:
    seen = run(fake_cuda(), interpreter="/bin/true")
    assert isinstance(seen.kernel_right, Missing)
    assert seen.kernel_right.cause is Cause.FAILED
    assert seen.calls == ()


def test_an_older_library_lacks_a_function(shim_environment: Shims) -> None:
    seen = run(shim_environment(Cuda(gpus=1, without=("cuMemsetD32_v2",))))
    assert isinstance(seen.kernel_right, Missing)
    assert (seen.kernel_right.cause, seen.kernel_right.reason) == (Cause.UNSUPPORTED, "the library has no cuMemsetD32")


def test_a_failing_attribute_only_loses_its_field(fake_cuda: Shims) -> None:
    seen = run(fake_cuda(calls={"cuDeviceGetAttribute": "after 1 return 1"}))
    assert seen.multiprocessors == 108
    assert isinstance(seen.memory_clock, Missing)
    assert isinstance(seen.compute_capability, Missing)
    assert seen.kernel_right is True


@pytest.mark.parametrize("version", [version for version in FOUND if not version.startswith("2.")])
def test_under_other_interpreters(fake_cuda: Shims, version: str) -> None:
    assert run(fake_cuda(), interpreter=FOUND[version]).kernel_right is True


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"])
def test_the_assembler_accepts_the_kernel(tmp_path: Path, architecture: str) -> None:
    ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
    if ptxas is None:
        pytest.skip("needs ptxas of a CUDA toolkit")
    known = subprocess.run([ptxas, "--help"], capture_output=True, text=True, check=True).stdout
    if f"'{architecture}'" not in known:
        pytest.skip(f"needs ptxas of a CUDA toolkit that knows {architecture}")
    (tmp_path / "kernel.ptx").write_bytes(kernel().PTX)
    command = [ptxas, "-arch", architecture, "-o", str(tmp_path / "kernel.cubin"), str(tmp_path / "kernel.ptx")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert kernel().NAME in (tmp_path / "kernel.cubin").read_bytes()


def test_neighbouring_inputs_give_distant_results() -> None:
    mix = kernel().mix
    mixed = [mix(number) for number in range(8192)]
    assert len(set(mixed)) == len(mixed)
    assert sum((a ^ b).bit_count() for a, b in itertools.pairwise(mixed)) / len(mixed) > 12
