"""NVML and libcuda, queried in children over our driver libraries and NVIDIA's own: healthy, lost, failing, hung, crashed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import pytest

from gpudoctor.probe.inventory import ProbeScope, ProbeTimeouts
from gpudoctor.snapshot import NOT_ASKED, Cause, Hang, Libcuda, Missing, Nvml, NvmlGpu, Status
from tests.probe.places import SHORT, look
from tests.seams import LACKED, LACKED_BY_NONE, READ_TWICE, Cuda
from tests.seams import Nvml as Library
from tests.seams import NvmlGpu as Card

Shims = Callable[..., dict[str, str]]
OWN = ProbeScope(python=sys.executable)


def nvml_of(environ: dict[str, str], patience: ProbeTimeouts | None = None) -> Nvml:
    snapshot, _ = look(OWN, environ, patience)
    assert isinstance(snapshot.nvml, Nvml), snapshot.nvml
    return snapshot.nvml


def gpus_of(nvml: Nvml) -> tuple[NvmlGpu, ...]:
    assert not isinstance(nvml.gpus, Missing), nvml.gpus
    return nvml.gpus


def missing(thing: NvmlGpu | Nvml | Libcuda) -> dict[str, Missing]:
    return {name: value for name in thing.__struct_fields__ if isinstance(value := getattr(thing, name), Missing)}


def gaps(gpu: NvmlGpu) -> dict[str, Missing]:
    """Missing values that should exist: all except what our A100 does not support."""
    return {name: gap for name, gap in missing(gpu).items() if not (name in LACKED and gap.cause is Cause.UNSUPPORTED)}


def test_eight_healthy_gpus_have_every_field(shim_environment: Shims) -> None:
    card = Card(compute_processes=((41, 1 << 30), (42, None)), pcie_gen=(1, 4), mig=(0, 1), retired_pages=(0, 0, 0), facts=LACKED_BY_NONE)
    library = Library(gpus=[card] * 8)
    nvml = nvml_of(shim_environment(library, Cuda(gpus=library.gpus)))
    assert (nvml.init, nvml.driver_version, nvml.cuda_served) == (Status(0, "NVML_SUCCESS", "Success"), "550.163.01", "12.4")
    assert set(missing(nvml)) == {"hang"}
    assert isinstance(nvml.hang, Missing)
    assert nvml.hang.cause is Cause.ABSENT
    gpus = gpus_of(nvml)
    assert [missing(gpu) for gpu in gpus] == [{}] * 8
    assert [gpu.address for gpu in gpus[:3]] == ["0000:07:00.0", "0000:0f:00.0", "0000:17:00.0"]
    first = gpus[0]
    assert (first.minor, first.compute_capability, first.memory_total, first.ecc_enabled) == (0, "8.0", 81920 << 20, True)
    assert (first.link_generation, first.link_generation_max, first.mig_enabled, first.mig_pending) == (1, 4, False, True)
    assert (first.compute_mode, first.persistence, first.power, first.power_limit) == ("default", True, 61000, 400000)
    assert isinstance(first.compute_processes, tuple)
    assert [
        (process.pid, process.memory if isinstance(process.memory, int) else process.memory.cause) for process in first.compute_processes
    ] == [
        (41, 1 << 30),
        (42, Cause.UNSUPPORTED),
    ]


def test_an_a100_lacks_only_unsupported_fields(fake_nvml: Shims) -> None:
    (gpu,) = gpus_of(nvml_of(fake_nvml(gpus=1)))
    assert {name: gap.cause for name, gap in missing(gpu).items()} == dict.fromkeys(LACKED, Cause.UNSUPPORTED)


def test_used_memory_excludes_the_drivers_reserve(fake_nvml: Shims) -> None:
    (gpu,) = gpus_of(nvml_of(fake_nvml(gpus=[Card(memory_used=1 << 30, memory_reserved=600 << 20)])))
    assert gpu.memory_used == 1 << 30


def test_one_lost_gpu_of_eight_only_loses_itself(fake_nvml: Shims) -> None:
    gpus = gpus_of(nvml_of(fake_nvml(gpus=8, calls={"nvmlDeviceGetHandleByIndex.3": "return 15"})))
    assert [index for index, gpu in enumerate(gpus) if gaps(gpu)] == [3]
    assert {gap.cause for gap in gaps(gpus[3]).values()} == {Cause.LOST}
    assert isinstance(gpus[3].address, Missing)
    assert "answered 15 (GPU is lost)" in gpus[3].address.reason


@pytest.mark.parametrize(
    ("code", "cause"), [(3, Cause.UNSUPPORTED), (4, Cause.DENIED), (15, Cause.LOST), (25, Cause.UNSUPPORTED), (999, Cause.FAILED)]
)
def test_one_failing_call_loses_one_field(fake_nvml: Shims, code: int, cause: Cause) -> None:
    gpus = gpus_of(nvml_of(fake_nvml(gpus=2, calls={"nvmlDeviceGetTemperature.1": f"return {code}"})))
    assert gaps(gpus[0]) == {}
    assert {name: gap.cause for name, gap in gaps(gpus[1]).items()} == {"temperature": cause}


@pytest.mark.parametrize("code", [1, 2, 4, 8, 9, 10, 12, 17, 18, 28, 999])
def test_each_answer_of_nvml_init(fake_nvml: Shims, code: int) -> None:
    nvml = nvml_of(fake_nvml(calls={"nvmlInit": f"return {code}"}))
    assert isinstance(nvml.init, Status)
    assert nvml.init.code == code
    assert nvml.init.name.startswith("NVML_ERROR_")
    assert nvml.init.text
    assert nvml.nvml_version == "12.550.163.01"
    assert isinstance(nvml.gpus, Missing)
    assert f"nvmlInit answered {code} " in nvml.gpus.reason


@pytest.mark.parametrize("answers", [1, 2, 3])
def test_a_gpu_that_answered_and_then_refuses_the_same_call_is_reported(answers: int, fake_nvml: Shims) -> None:
    steady, gone = gpus_of(nvml_of(fake_nvml(gpus=2, calls={"nvmlDeviceGetFieldValues.1": f"after {answers} return 2"})))
    assert not isinstance(steady.refusals, Missing)
    assert isinstance(gone.refusals, Missing)
    assert "answered at first, and then nvmlDeviceGetFieldValues answered 2" in gone.refusals.reason


def test_errors_by_place_are_missing_where_none_can_be_read(fake_nvml: Shims) -> None:
    (gpu,) = gpus_of(nvml_of(fake_nvml(gpus=1, calls={"*.0": "after 20 return 15"})))
    assert isinstance(gpu.ecc_places, Missing)
    assert gpu.ecc_places.cause is Cause.LOST


def test_what_was_told_before_a_crash_stays(fake_nvml: Shims) -> None:
    (gpu,) = gpus_of(nvml_of(fake_nvml(gpus=1, calls={"nvmlDeviceGetPlatformInfo": "crash"})))
    assert not {"bar1", "spare_rows", "board", "heat", "held_back", "application_clocks", "ecc_places"} & missing(gpu).keys()
    assert isinstance(gpu.rack, Missing)


def test_no_gpu_is_a_valid_answer(fake_nvml: Shims) -> None:
    assert nvml_of(fake_nvml(gpus=0)).gpus == ()


def test_older_drivers_are_called_by_older_names(shim_environment: Shims) -> None:
    lacking = (
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetGraphicsRunningProcesses_v3",
    )
    (gpu,) = gpus_of(nvml_of(shim_environment(Library(gpus=1, without=lacking))))
    assert {name: gap.cause for name, gap in gaps(gpu).items()} == {"memory_reserved": Cause.UNSUPPORTED}  # only the newer name tells it
    assert (gpu.memory_total, gpu.clocks_event_reasons) == (81920 << 20, 1)


def test_a_function_under_no_name_is_unsupported(shim_environment: Shims) -> None:
    lacking = ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2")
    (gpu,) = gpus_of(nvml_of(shim_environment(Library(gpus=1, without=lacking))))
    assert {name: gap.cause for name, gap in gaps(gpu).items()} == {"compute_processes": Cause.UNSUPPORTED}


@pytest.mark.parametrize("act", ["hang", "stuck"])
def test_a_hang_keeps_earlier_answers_and_names_the_call(fake_nvml: Shims, act: str) -> None:
    uninterruptible = act == "stuck"
    began = time.monotonic()
    nvml = nvml_of(fake_nvml(gpus=8, calls={"nvmlDeviceGetName.5": act}), SHORT)
    assert time.monotonic() - began < 30
    assert isinstance(nvml.hang, Hang)
    assert (nvml.hang.call, nvml.hang.uninterruptible) == ("nvmlDeviceGetName 5", uninterruptible)
    assert nvml.hang.seconds >= 0.6
    gpus = gpus_of(nvml)
    assert [set(gaps(gpu)) for gpu in gpus[:5]] == [READ_TWICE] * 5
    assert gpus[5].uuid == "GPU-a1000005-1c2d-3e4f-5a6b-700000000005"
    assert {gap.cause for gap in gaps(gpus[5]).values()} == {Cause.TIMED_OUT}
    assert "name" in gaps(gpus[5])
    assert ("state D" in gaps(gpus[5])["name"].reason) is uninterruptible
    unreached = [gap.reason.partition(":")[0] for gpu in gpus[6:] for gap in gaps(gpu).values()]
    assert unreached == ["not reached"] * 2 * (len(NvmlGpu.__struct_fields__) - len(("index",)))


def test_a_hang_at_the_first_call_for_a_gpu(fake_nvml: Shims) -> None:
    gpus = gpus_of(nvml_of(fake_nvml(gpus=3, calls={"nvmlDeviceGetHandleByIndex.1": "hang"}), SHORT))
    assert not isinstance(gpus[0].name, Missing)
    assert isinstance(gpus[1].name, Missing)
    assert gpus[1].name.reason == "the NVML probe did not respond for 1 s in nvmlDeviceGetHandleByIndex 1"
    assert isinstance(gpus[2].name, Missing)
    assert gpus[2].name.reason.startswith("not reached")


@pytest.mark.parametrize("act", ["hang", "crash"])
def test_an_initialisation_that_always_fails(fake_nvml: Shims, act: str) -> None:
    nvml = nvml_of(fake_nvml(calls={"nvmlInit": act}), SHORT)
    assert isinstance(nvml.library, str)
    assert isinstance(nvml.init, Missing)
    assert nvml.init.cause is (Cause.TIMED_OUT if act == "hang" else Cause.FAILED)
    assert isinstance(nvml.hang, Hang) is (act == "hang")
    assert "nvmlInit" in nvml.init.reason
    assert isinstance(nvml.gpus, Missing)


def test_a_slow_call_is_not_hung(fake_nvml: Shims) -> None:
    nvml = nvml_of(fake_nvml(gpus=2, calls={"nvmlDeviceGetName": "sleep 450"}), SHORT)
    assert isinstance(nvml.hang, Missing)
    assert [gaps(gpu) for gpu in gpus_of(nvml)] == [{}, {}]


def test_a_crash_in_the_middle_keeps_the_gpus_before_it(fake_nvml: Shims) -> None:
    nvml = nvml_of(fake_nvml(gpus=3, calls={"nvmlDeviceGetUUID.1": "crash"}))
    gpus = gpus_of(nvml)
    assert set(gaps(gpus[0])) == READ_TWICE
    assert isinstance(gpus[1].uuid, Missing)
    assert gpus[1].uuid.cause is Cause.FAILED
    assert "SIGSEGV in nvmlDeviceGetUUID 1" in gpus[1].uuid.reason
    assert gpus[1].address == "0000:0f:00.0"


def test_libcuda_with_and_without_the_mask(fake_cuda: Shims) -> None:
    snapshot, _ = look(OWN, {**fake_cuda(gpus=3), "CUDA_VISIBLE_DEVICES": "1"})
    masked, unmasked = snapshot.libcuda, snapshot.libcuda_unmasked
    assert isinstance(masked, Libcuda)
    assert isinstance(unmasked, Libcuda)
    assert not isinstance(masked.devices, Missing)
    assert not isinstance(unmasked.devices, Missing)
    assert [device.address for device in masked.devices] == ["0000:0f:00.0"]
    assert [device.address for device in unmasked.devices] == ["0000:07:00.0", "0000:0f:00.0", "0000:17:00.0"]
    device = masked.devices[0]
    assert (device.uuid, device.compute_capability, device.memory_total) == ("GPU-a1000001-1c2d-3e4f-5a6b-700000000001", "8.0", 81920 << 20)
    assert (masked.cuda_served, masked.init) == ("12.4", Status(0, "CUDA_SUCCESS", "no error"))


def test_without_a_mask_nothing_is_queried_twice(fake_cuda: Shims) -> None:
    environ = {name: value for name, value in fake_cuda(gpus=1).items() if name != "CUDA_VISIBLE_DEVICES"}
    assert look(OWN, environ)[0].libcuda_unmasked == NOT_ASKED


@pytest.mark.parametrize(
    ("code", "name"), [(3, "CUDA_ERROR_NOT_INITIALIZED"), (100, "CUDA_ERROR_NO_DEVICE"), (803, ""), (999, "CUDA_ERROR_UNKNOWN")]
)
def test_each_answer_of_cu_init(fake_cuda: Shims, code: int, name: str) -> None:
    libcuda = look(OWN, fake_cuda(calls={"cuInit": f"return {code}"}))[0].libcuda
    assert isinstance(libcuda, Libcuda)
    assert isinstance(libcuda.init, Status)
    assert libcuda.init.code == code
    assert libcuda.init.name.startswith(name or "CU")
    assert libcuda.cuda_served == "12.4"
    assert isinstance(libcuda.devices, Missing)


def test_libcuda_hung_and_crashed(fake_cuda: Shims) -> None:
    hung = look(OWN, fake_cuda(calls={"cuInit": "hang"}), SHORT)[0].libcuda
    assert isinstance(hung, Libcuda)
    assert isinstance(hung.hang, Hang)
    assert (hung.hang.call, hung.cuda_served) == ("cuInit", "12.4")
    crashed = look(OWN, fake_cuda(gpus=2, calls={"cuDeviceGetName": "crash"}))[0]
    assert isinstance(crashed.libcuda, Libcuda)
    assert isinstance(crashed.libcuda.init, Status)
    assert not isinstance(crashed.libcuda.devices, Missing)
    assert len(crashed.libcuda.devices) == 2
    assert crashed.remarks == ()


@pytest.mark.debian
@pytest.mark.parametrize(("branch", "cuda"), [("470", "11.4"), ("535", "12.2"), ("550", "12.4")])
def test_real_driver_libraries_without_a_kernel_driver(driver_libraries: Shims, branch: str, cuda: str) -> None:
    snapshot, _ = look(OWN, driver_libraries(branch).environ())  # type: ignore[attr-defined]
    assert isinstance(snapshot.nvml, Nvml)
    assert snapshot.nvml.init == Status(9, "NVML_ERROR_DRIVER_NOT_LOADED", "Driver Not Loaded")
    assert isinstance(snapshot.nvml.library, str)
    assert f".so.{branch}." in snapshot.nvml.library
    assert isinstance(snapshot.libcuda, Libcuda)
    assert snapshot.libcuda.init == Status(100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected")
    assert snapshot.libcuda.cuda_served == cuda
    assert isinstance(snapshot.libcuda.devices, Missing)


@pytest.mark.debian
def test_real_mismatch_of_kernel_module_and_libraries(driver_libraries: Shims) -> None:
    nvml = look(OWN, driver_libraries("550").environ(kernel_driver="535.154.05"))[0].nvml  # type: ignore[attr-defined]
    assert isinstance(nvml, Nvml)
    assert isinstance(nvml.init, Status)
    assert (nvml.init.code, nvml.init.name) == (18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH")
