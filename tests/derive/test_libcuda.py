from __future__ import annotations

import msgspec
import pytest

from gpudoctor.derive import MachineView
from gpudoctor.derive.libcuda import failed_call, is_compat, is_loadable, is_stub, libcuda_of_driver, release_in_name
from gpudoctor.findings import Policy, Rung, RungState, Step
from gpudoctor.snapshot import NOT_ASKED, Cause, CudaCall, CudaContext, CudaFile, CudaFiles, Libcuda, Missing, Python, Smoke, Status
from tests.builders import ABSENT, TIMED_OUT, address, machine, smoke, touched
from tests.shipped import shared_matrix

REFUSED = Missing(Cause.FAILED, "cuDevicePrimaryCtxRetain answered 46 (CUDA_ERROR_DEVICE_UNAVAILABLE)")
BUSY = "in use by 1 other process"


@pytest.mark.parametrize(
    ("path", "compat"),
    [
        ("/usr/local/cuda-12.8/compat/libcuda.so.570.124.06", True),
        ("/usr/local/cuda/compat/lib.real/libcuda.so.1", True),
        ("/opt/cuda-compat-12-8/libcuda.so.1", True),
        ("/usr/local/cuda-compat/libcuda.so.1", True),
        ("/usr/lib/x86_64-linux-gnu/libcuda.so.550.163.01", False),
        ("/srv/incompatible/libcuda.so.1", False),
        ("/home/me/compatible/libcuda.so.1", False),
        ("", False),
    ],
)
def test_a_compat_library_by_its_folder(path: str, *, compat: bool) -> None:
    assert is_compat(path) is compat


@pytest.mark.parametrize("unknown", [ABSENT, Libcuda(), Libcuda(devices=TIMED_OUT)])
def test_devices_that_cuda_did_not_list_are_none(unknown: Libcuda | Missing) -> None:
    assert MachineView(machine(2, libcuda=unknown), shared_matrix(), Policy()).cuda_devices == ()
    assert len(MachineView(machine(2), shared_matrix(), Policy()).cuda_devices) == 2


def test_a_stub_by_its_folder() -> None:
    assert is_stub("/usr/local/cuda-13.0/targets/x86_64-linux/lib/stubs/libcuda.so")
    assert not is_stub("/usr/lib/libcuda.so.1")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/usr/lib/libcuda.so.550.163.01", "550.163.01"),
        ("/usr/lib/libcuda.so.1460.12", "1460.12"),
        ("/usr/lib/libcuda.so.1", ""),
        ("/usr/lib/libcuda.so.1.1", ""),  # NVIDIA's for Jetson
        ("/stubs/libcuda.so", ""),
    ],
)
def test_the_version_at_the_end_of_a_file_name(path: str, text: str) -> None:
    found = release_in_name(path)
    assert (found.text if found else "") == text
    assert release_in_name(ABSENT) is None


@pytest.mark.parametrize(
    ("bits", "machine_", "answer"),
    [(64, "x86_64", True), (32, "i386", False), (64, "aarch64", False), (ABSENT, ABSENT, None), (64, ABSENT, None)],
)
def test_whether_a_file_fits_the_interpreter(bits: int | Missing, machine_: str | Missing, answer: bool | None) -> None:
    python = Python("/usr/bin/python3", "", bits=64, machine="x86_64")
    assert is_loadable(CudaFile("/usr/lib/libcuda.so.1", bits=bits, machine=machine_), python) is answer
    assert is_loadable(CudaFile("/usr/lib/libcuda.so.1", bits=bits, machine=machine_), ABSENT) is None


def test_a_drivers_own_library_is_neither_stub_nor_compat_behind_its_link() -> None:
    own = CudaFile("/usr/lib/libcuda.so.1", real="/usr/lib/libcuda.so.550.54.14")
    linked = CudaFile("/usr/lib64/libcuda.so.1", real="/usr/local/cuda-12.8/compat/libcuda.so.570.26")
    stub = CudaFile("/usr/local/cuda/lib64/stubs/libcuda.so")
    assert libcuda_of_driver(CudaFiles((own, linked, stub), ())) == [own]


def test_the_first_call_that_failed() -> None:
    ok, bad, worse = (CudaCall("cuInit", Status(code, "", ""), 0) for code in (0, 46, 999))
    assert failed_call(CudaContext(0, calls=(ok, bad, worse))) == bad
    assert failed_call(CudaContext(0, calls=(ok,))) is None


def kernel_ran(contexts: tuple[CudaContext, ...] | Missing, smokes: tuple[Smoke, ...] | Missing = NOT_ASKED) -> Step:
    facts = MachineView(machine(1, contexts=contexts, smoke=smokes), shared_matrix(), Policy())
    return next(step for step in facts.ladder.rows[0].steps if step.rung is Rung.KERNEL_RAN)


TRAINED = (smoke(1),)
CRASHED = (smoke(1, devices=ABSENT, kernels=(), trainings=()),)


@pytest.mark.parametrize(
    ("contexts", "smokes", "state"),
    [
        pytest.param(NOT_ASKED, NOT_ASKED, RungState.NOT_ASKED, id="nobody asked"),
        pytest.param(touched(1), NOT_ASKED, RungState.PROVEN, id="our own kernel alone"),
        pytest.param(touched(1), TRAINED, RungState.PROVEN, id="both"),
        pytest.param(NOT_ASKED, TRAINED, RungState.PROVEN, id="a framework's alone"),
        pytest.param(touched(1, kernel_right=False, wrong=1), NOT_ASKED, RungState.FAILED, id="wrong results"),
        pytest.param(touched(1, kernel_right=False, wrong=1), TRAINED, RungState.FAILED, id="wrong results outweigh a training"),
        pytest.param(touched(1, kernel_right=REFUSED), NOT_ASKED, RungState.FAILED, id="refused"),
        pytest.param(touched(1, kernel_right=TIMED_OUT), NOT_ASKED, RungState.NOT_SHOWN, id="hung"),
        pytest.param(touched(1, kernel_right=TIMED_OUT), TRAINED, RungState.PROVEN, id="slow once, trained then"),
        pytest.param(touched(1, skipped=BUSY, kernel_right=NOT_ASKED), NOT_ASKED, RungState.NOT_SHOWN, id="in use"),
        pytest.param(touched(1), CRASHED, RungState.PROVEN, id="the framework crashed, not the GPU"),
        pytest.param(touched(2)[1:], NOT_ASKED, RungState.NOT_SHOWN, id="only another GPU was touched"),
        pytest.param(ABSENT, NOT_ASKED, RungState.FAILED, id="no library"),
    ],
)
def test_the_rung_of_the_kernel(contexts: tuple[CudaContext, ...] | Missing, smokes: tuple[Smoke, ...] | Missing, state: RungState) -> None:
    assert kernel_ran(contexts, smokes).state is state


def test_a_wrong_matmul_of_a_framework_outweighs_our_kernel() -> None:
    (whole,) = TRAINED
    wrong = msgspec.structs.replace(whole, kernels=tuple(msgspec.structs.replace(kernel, error=3.0) for kernel in whole.kernels))
    assert whole.kernels[0].address == address(0)
    assert kernel_ran(touched(1), (wrong,)).state is RungState.FAILED


def test_the_ladder_says_why_a_gpu_was_skipped() -> None:
    assert kernel_ran(touched(1, skipped=BUSY)).detail == BUSY
    assert kernel_ran(touched(1)).detail == "gpudoctor's test kernel"
    assert kernel_ran(touched(1), TRAINED).detail == "gpudoctor's test kernel, tensorflow"
