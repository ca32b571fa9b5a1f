"""nvidia-smi's table in the layouts of many releases, whole, cut off and mangled."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.matrix import Matrix
from gpudoctor.read.lines import lines_of
from gpudoctor.read.readers import nvidia_smi_table
from gpudoctor.snapshot import Cause, Host, Missing, Nvml, Platform
from tests.read import smi_texts as texts
from tests.read.seeing import facts, found, gpus, read

MIB = 1 << 20


def stated(text: str) -> dict[str, str]:
    assert nvidia_smi_table.READER.blocks is not None
    return {block.what: block.value for block in nvidia_smi_table.READER.blocks(lines_of(text.encode(), "a text"))}


def test_a_table_of_2016(matrix: Matrix) -> None:
    first, second = gpus(texts.DRIVER_367, matrix)
    assert (first.address, first.name, first.compute_capability) == ("0000:04:00.0", "GeForce GTX 980", "5.2")
    assert (first.persistence, first.temperature, first.performance_state, first.power, first.power_limit) == (False, 41, 8, 18000, 180000)
    assert (first.memory_used, first.memory_total, first.utilization) == (301 * MIB, 4037 * MIB, 1)
    assert isinstance(first.ecc_uncorrected, Missing)
    assert first.ecc_uncorrected.cause is Cause.UNSUPPORTED
    assert (second.ecc_enabled, second.ecc_uncorrected, second.compute_mode) == (True, 2, "exclusive-process")
    assert isinstance(second.compute_processes, tuple)
    assert [(process.pid, process.name, process.memory) for process in second.compute_processes] == [(20211, "python", 10231 * MIB)]
    assert isinstance(first.graphics_processes, tuple)
    assert [process.name for process in first.graphics_processes] == ["Xorg"]
    assert first.compute_processes == ()


def test_processes_of_2014_have_no_type(matrix: Matrix) -> None:
    (gpu,) = gpus(texts.DRIVER_340, matrix)
    assert isinstance(gpu.compute_processes, tuple)
    assert [(process.pid, process.name, process.memory) for process in gpu.compute_processes] == [(9412, "caffe", 4096 * MIB)]


def test_mig_mode_and_instances(matrix: Matrix) -> None:
    whole, divided = gpus(texts.DRIVER_470, matrix)
    assert (whole.mig_enabled, divided.mig_enabled) == (False, True)
    assert isinstance(divided.mig_instances, tuple)
    (instance,) = divided.mig_instances
    assert (instance.place, instance.gpu_instance, instance.memory_total) == (0, 2, 20096 * MIB)
    assert whole.compute_capability == "8.0"


def test_the_wide_table_and_its_processes(matrix: Matrix) -> None:
    (gpu,) = gpus(texts.DRIVER_580, matrix)
    assert (gpu.name, gpu.compute_capability) == ("NVIDIA GeForce RTX 5070 Ti", "12.0")
    assert isinstance(gpu.compute_processes, tuple)
    assert [process.label for process in gpu.compute_processes] == ["rack-uuid=3190708988185955192 (pid 9034)", "python3 (pid 51234)"]


def test_a_table_of_windows(matrix: Matrix) -> None:
    laptop, server = gpus(texts.WINDOWS, matrix)
    assert (laptop.compute_capability, server.compute_capability) == ("8.9", "6.1")
    assert isinstance(laptop.compute_processes, tuple)
    assert [process.name for process in laptop.compute_processes] == ["opera.exe"]


@pytest.mark.parametrize("table", texts.ALL.values(), ids=texts.ALL)
@pytest.mark.parametrize(
    "form",
    [texts.wrapped, texts.in_markdown, texts.quoted, texts.indented, texts.flush_left],
    ids=lambda form: form.__name__,
)
def test_how_a_table_was_pasted_makes_no_difference(table: str, form: Callable[[str], str], matrix: Matrix) -> None:
    assert [facts(gpu) for gpu in gpus(form(table), matrix)] == [facts(gpu) for gpu in gpus(table, matrix)]


@pytest.mark.parametrize("table", texts.ALL.values(), ids=texts.ALL)
def test_a_table_without_borders_states_all_but_that_its_process_list_is_whole(table: str, matrix: Matrix) -> None:
    for bare, whole in zip(gpus(texts.without_borders(table), matrix), gpus(table, matrix), strict=True):
        assert facts(bare).items() <= facts(whole).items()
        assert facts(whole).keys() - facts(bare).keys() <= {"compute_processes", "graphics_processes"}


@pytest.mark.parametrize("table", texts.ALL.values(), ids=texts.ALL)
def test_a_cut_off_table_states_the_same_of_what_is_left(table: str) -> None:
    whole, lines = stated(table), table.splitlines(keepends=True)
    for end in range(len(lines)):
        assert stated("".join(lines[:end])).items() <= whole.items()


def test_a_shortened_table_is_read(matrix: Matrix) -> None:
    (gpu,) = gpus(
        "| NVIDIA-SMI 515.43.04   Driver Version: 515.43.04 |\n|   0  Quadro RTX 8000    512MiB / 48601MiB    Prohibited |\n", matrix
    )
    assert (gpu.name, gpu.memory_total, gpu.compute_mode) == ("Quadro RTX 8000", 48601 * MIB, "prohibited")


def test_the_second_of_two_tables_adds_nothing_to_the_process_list(matrix: Matrix) -> None:
    later = texts.DRIVER_580.replace("51234", "60001")
    (gpu,) = gpus(texts.DRIVER_580 + later, matrix)
    assert isinstance(gpu.compute_processes, tuple)
    assert [process.pid for process in gpu.compute_processes] == [9034, 51234]


def test_a_gpu_whose_sensors_all_fail_fell_off_the_bus(matrix: Matrix) -> None:
    assert found(texts.LOST, matrix) == ["gpu-fell-off-bus"]


@pytest.mark.parametrize(
    "row",
    [
        "|ERR!   38C    P8              15W / 230W |",
        "| 30%   38C    P8             ERR! / 230W |",
        "|ERR!  38C    P8             ERR! / 230W |",
    ],
)
def test_one_or_two_failing_sensors_are_no_fault(row: str, matrix: Matrix) -> None:
    odd = texts.LOST.replace("|ERR!  ERR! ERR!             ERR! / ERR!  |", row).replace(
        "    ERR!         ERR! |", "      0%      Default |"
    )
    assert row in odd
    assert found(odd, matrix) == []


def test_mig_without_instances_is_found(matrix: Matrix) -> None:
    assert found(texts.MIG_WITHOUT_INSTANCES, matrix) == ["mig-no-instances"]
    assert found(texts.DRIVER_470, matrix) == []


def test_uncorrected_errors_are_found(matrix: Matrix) -> None:
    assert "ecc-hardware-error" in found(texts.DRIVER_367, matrix)
    assert found(texts.DRIVER_367.replace("|                    2 |", "|                    0 |"), matrix) == ["exclusive-compute-mode"]


@pytest.mark.parametrize("table", [texts.DRIVER_470, texts.DRIVER_580, texts.WINDOWS])
def test_a_healthy_table_has_no_finding(table: str, matrix: Matrix) -> None:
    assert found(table, matrix) == []


def test_memory_in_use_is_a_fault_only_where_a_program_ran_out_of_it(matrix: Matrix) -> None:
    full = texts.DRIVER_580.replace("     655MiB", "   16009MiB").replace(" 120MiB", "15480MiB")
    assert found(full, matrix) == []
    assert found(full + "cudaErrorMemoryAllocation: out of memory\n", matrix) == ["gpu-memory-held-by-other-process"]


@pytest.mark.parametrize(
    "text",
    [
        "| 12 | Alice | 300 | 12MiB / 40MiB |\n",
        "CONTAINER  CPU %  MEM USAGE / LIMIT\nweb  0.1%  512MiB / 2048MiB  Default\n",
        "| GPU | Name |\n|---|---|\n",
        "Processes:\n  12 C foo\n",
    ],
)
def test_other_tables_name_no_gpu(text: str) -> None:
    assert not any(what.startswith(("gpu:", "memory", "address:")) for what in stated(text))


def test_driver_and_cuda_are_read_with_the_table(matrix: Matrix) -> None:
    nvml = read(texts.DRIVER_580, matrix).nvml
    assert isinstance(nvml, Nvml)
    assert (nvml.driver_version, nvml.cuda_served) == ("580.65.06", "13.0")


def test_versions_that_differ_show_wsl_and_a_driver_model_shows_windows(matrix: Matrix) -> None:
    in_wsl = texts.DRIVER_580.replace("Driver Version: 580.65.06", "Driver Version: 580.97   ")
    platforms = [
        read(text, matrix).host for text in (in_wsl, texts.WINDOWS, texts.DRIVER_580, texts.WINDOWS + "$ cat /etc/os-release # Ubuntu\n")
    ]
    assert [platform.platform for platform in platforms if isinstance(platform, Host)][:2] == [Platform.WSL2, Platform.WINDOWS]
    assert all(isinstance(platform, Host) and isinstance(platform.platform, Missing) for platform in platforms[2:])


def test_an_nvidia_smi_newer_than_the_driver_is_not_of_wsl(matrix: Matrix) -> None:
    of_an_image = read("| NVIDIA-SMI 580.65.06    Driver Version: 418.67    CUDA Version: 10.1 |\n", matrix).host
    assert isinstance(of_an_image, Missing) or isinstance(of_an_image.platform, Missing)


def test_the_header_of_610_is_read(matrix: Matrix) -> None:
    header = "| NVIDIA-SMI 610.57.04              KMD Version: 610.57.04     CUDA UMD Version: 13.3     |"
    nvml = read(header, matrix).nvml
    assert isinstance(nvml, Nvml)
    assert (nvml.driver_version, nvml.cuda_served) == ("610.57.04", "13.3")


def test_readings_of_two_moments_are_no_contradiction(matrix: Matrix) -> None:
    later = texts.DRIVER_580.replace("44C", "61C").replace("655MiB", "901MiB").replace("RTX 5070 Ti ", "RTX 507...   ")
    assert read(texts.DRIVER_580 + later, matrix).remarks == ()


@settings(deadline=None)
@given(st.sampled_from(list(texts.ALL.values())), st.integers(0, 4000), st.integers(0, 400), st.text(max_size=60))
def test_any_cut_and_any_insertion_are_read_without_an_error(matrix: Matrix, table: str, at: int, length: int, insertion: str) -> None:
    gpus(table[:at] + insertion + table[at + length :], matrix)
