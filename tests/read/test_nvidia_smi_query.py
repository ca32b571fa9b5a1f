"""`nvidia-smi -q` as text and as XML, whole, cut off and mangled."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.matrix import Matrix
from gpudoctor.read.lines import lines_of
from gpudoctor.read.readers import nvidia_smi_query
from gpudoctor.snapshot import Cause, Fabric, Missing, Nvml, RemappedRows, RetiredPages
from tests.read import query_texts as texts
from tests.read import smi_texts
from tests.read.seeing import facts, found, gpus, read

MIB = 1 << 20


def stated(text: str) -> dict[str, str]:
    assert nvidia_smi_query.READER.blocks is not None
    return {block.what: block.value for block in nvidia_smi_query.READER.blocks(lines_of(text.encode(), "a text"))}


def test_the_text_states_all_of_a_gpu(matrix: Matrix) -> None:
    (gpu,) = gpus(texts.AMPERE, matrix)
    assert (gpu.address, gpu.name, gpu.uuid) == ("0000:3b:00.0", "NVIDIA A100-PCIE-40GB", "GPU-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9")
    assert (gpu.minor, gpu.persistence, gpu.compute_mode, gpu.virtualization) == (0, True, "default", "none")
    assert (gpu.mig_enabled, gpu.ecc_enabled, gpu.ecc_pending) == (False, True, True)
    assert (gpu.memory_total, gpu.memory_used, gpu.memory_reserved) == (40960 * MIB, 4 * MIB, 523 * MIB)
    assert (gpu.link_generation, gpu.link_generation_max, gpu.link_generation_own, gpu.link_width_max) == (1, 4, 4, 16)
    assert (gpu.ecc_uncorrected, gpu.ecc_uncorrected_total) == (0, 2)
    assert gpu.remapped_rows == RemappedRows(correctable=0, uncorrectable=2, pending=False, failed=False)
    assert (gpu.temperature, gpu.temperature_slowdown, gpu.temperature_shutdown) == (33, 89, 92)
    assert (gpu.power, gpu.power_limit, gpu.power_limit_default) == (35120, 250000, 250000)
    assert (gpu.clocks_event_reasons, gpu.recovery_action) == (1, "none")
    assert isinstance(gpu.compute_processes, tuple)
    assert [(process.label, process.memory) for process in gpu.compute_processes] == [("python3 (pid 4711)", 4 * MIB)]


def test_each_gpu_has_its_own_facts(matrix: Matrix) -> None:
    first, second = gpus(texts.TWO, matrix)
    assert (first.address, second.address) == ("0000:3b:00.0", "0000:af:00.0")
    assert isinstance(second.compute_processes, tuple)
    assert [process.pid for process in second.compute_processes] == [4712]


def test_the_layout_of_2017(matrix: Matrix) -> None:
    (gpu,) = gpus(texts.KEPLER, matrix)
    assert (gpu.ecc_uncorrected, gpu.ecc_uncorrected_total, gpu.ecc_pending) == (1, 7, False)
    assert gpu.retired_pages == RetiredPages(single_bit=1, double_bit=4, pending=True)
    assert (gpu.compute_mode, gpu.compute_processes, gpu.power_limit) == ("exclusive-process", (), 149000)


def test_the_xml_states_the_same_facts(matrix: Matrix) -> None:
    (gpu,) = gpus(texts.XML, matrix)
    assert (gpu.name, gpu.mig_enabled, gpu.memory_total) == ("NVIDIA H100 80GB HBM3", True, 81559 * MIB)
    assert isinstance(gpu.mig_instances, tuple)
    assert [(instance.place, instance.gpu_instance, instance.memory_total) for instance in gpu.mig_instances] == [(0, 1, 40448 * MIB)]
    assert isinstance(gpu.remapped_rows, RemappedRows)
    assert gpu.remapped_rows.pending
    assert (gpu.virtualization, gpu.clocks_event_reasons) == ("passthrough", 4)
    assert isinstance(gpu.fabric, Fabric)
    assert (gpu.fabric.state, gpu.fabric.status, gpu.fabric.clique) == ("in-progress", 0, 0)
    assert isinstance(gpu.compute_processes, tuple)
    assert [process.label for process in gpu.compute_processes] == ["python (pid 90210)"]
    nvml = read(texts.XML, matrix).nvml
    assert isinstance(nvml, Nvml)
    assert (nvml.driver_version, nvml.cuda_served) == ("550.90.07", "12.4")


def test_entities_are_not_expanded() -> None:
    assert stated(texts.BOMB)["gpu:0000:17:00.0"] == "&c;"
    assert stated(texts.BOMB)["uuid:0000:17:00.0"] == "&d;"


@pytest.mark.parametrize("text", [texts.AMPERE, texts.TWO, texts.KEPLER])
def test_lost_indentation_makes_no_difference(text: str, matrix: Matrix) -> None:
    assert [facts(gpu) for gpu in gpus(texts.flush_left(text), matrix)] == [facts(gpu) for gpu in gpus(text, matrix)]


@pytest.mark.parametrize("text", texts.ALL.values(), ids=texts.ALL)
def test_quotation_and_fences_make_no_difference(text: str, matrix: Matrix) -> None:
    for form in (smi_texts.quoted, smi_texts.indented, "```\n{}```\n".format):
        assert [facts(gpu) for gpu in gpus(form(text), matrix)] == [facts(gpu) for gpu in gpus(text, matrix)]


@pytest.mark.parametrize("text", texts.ALL.values(), ids=texts.ALL)
def test_a_cut_off_output_states_the_same_of_what_is_left(text: str) -> None:
    whole, lines = stated(text), text.splitlines(keepends=True)
    for end in range(0, len(lines), 3):
        assert stated("".join(lines[:end])).items() <= whole.items()


def test_an_idle_gpu_in_order_has_no_finding(matrix: Matrix) -> None:
    assert found(texts.AMPERE, matrix) == []


def test_a_gpu_under_full_load_is_not_throttled_by_its_own_limit(matrix: Matrix) -> None:
    busy = texts.AMPERE.replace("Idle                              : Active", "Idle                              : Not Active")
    busy = busy.replace("SW Power Cap                      : Not Active", "SW Power Cap                      : Active")
    assert gpus(busy, matrix)[0].clocks_event_reasons == 4
    assert found(busy, matrix) == []


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        ("Remapped Rows\n        Correctable Error                 : 0\n        Uncorrectable Error               : 2\n        Pending                           : No",
         "Remapped Rows\n        Correctable Error                 : 0\n        Uncorrectable Error               : 2\n        Pending                           : Yes", "row-remap-pending"),
        ("Remapping Failure Occurred        : No", "Remapping Failure Occurred        : Yes", "row-remap-failed"),
        ("DRAM Correctable              : 0\n            DRAM Uncorrectable            : 0", "DRAM Correctable              : 0\n            DRAM Uncorrectable            : 5", "ecc-hardware-error"),
        ("HW Thermal Slowdown           : Not Active", "HW Thermal Slowdown           : Active", "thermal-throttled"),
        ("HW Power Brake Slowdown       : Not Active", "HW Power Brake Slowdown       : Active", "power-throttled"),
        ("Reset Required                    : No", "Reset Required                    : Yes", "gpu-requires-reset"),
        ("GPU Current Temp                  : 33 C", "GPU Current Temp                  : 94 C", "thermal-throttled"),
        ("Gpu                               : 0 %", "Gpu                               : 97 %", "pcie-link-degraded"),
        ("Compute Mode                          : Default", "Compute Mode                          : Prohibited", "compute-prohibited"),
    ],
)  # fmt: skip
def test_one_changed_value_is_found(old: str, new: str, cause: str, matrix: Matrix) -> None:
    assert old in texts.AMPERE
    assert found(texts.AMPERE.replace(old, new), matrix)[:1] == [cause]


def test_an_unlicensed_virtual_gpu_is_found(matrix: Matrix) -> None:
    guest = texts.AMPERE.replace("Virtualization Mode               : None", "Virtualization Mode               : VGPU").replace(
        "    GPU Reset Status\n",
        "    vGPU Software Licensed Product\n"
        "        Product Name                      : NVIDIA Virtual Compute Server\n"
        "        License Status                    : Unlicensed (Unrestricted)\n"
        "    GPU Reset Status\n",
    )
    assert gpus(guest, matrix)[0].name == "NVIDIA A100-PCIE-40GB"
    assert found(guest, matrix) == ["vgpu-unlicensed"]
    assert found(guest.replace("Unlicensed (Unrestricted)", "Licensed (Expiry: 2026-12-1 0:0:0 GMT)"), matrix) == []


def test_a_lost_gpu_is_found(matrix: Matrix) -> None:
    lost = texts.AMPERE.replace("GPU Current Temp                  : 33 C", "GPU Current Temp                  : GPU is lost")
    (gpu,) = gpus(lost, matrix)
    assert isinstance(gpu.temperature, Missing)
    assert gpu.temperature.cause is Cause.LOST
    assert found(lost, matrix) == ["gpu-fell-off-bus"]


def test_the_table_and_the_query_of_one_machine_are_one_list(matrix: Matrix) -> None:
    table = smi_texts.DRIVER_470.replace("00000000:07:00.0", "00000000:3B:00.0")
    first, second = gpus(table + texts.AMPERE, matrix)
    assert (first.name, first.uuid, first.utilization) == ("NVIDIA A100-PCIE-40GB", "GPU-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", 0)
    assert isinstance(second.uuid, Missing)


@pytest.mark.parametrize(
    ("excerpt", "cause"),
    [
        (
            "    Remapped Rows\n        Uncorrectable Error : 4\n        Pending : Yes\n        Remapping Failure Occurred : No\n",
            "row-remap-pending",
        ),
        ("Retired Pages\n    Single Bit ECC : 2\n    Double Bit ECC : 1\n    Pending Page Blacklist : Yes\n", "pages-retirement-pending"),
        (
            "    ECC Mode\n        Current : Enabled\n    ECC Errors\n        Volatile\n            DRAM Uncorrectable : 17\n",
            "ecc-hardware-error",
        ),
        ("Clocks Throttle Reasons\n    HW Slowdown : Active\n        HW Thermal Slowdown : Active\n", "thermal-throttled"),
        ("Compute Mode : Prohibited\n", "compute-prohibited"),
    ],
)
def test_an_excerpt_that_names_no_gpu_is_read(excerpt: str, cause: str, matrix: Matrix) -> None:
    assert found(excerpt, matrix) == [cause]
    (gpu,) = gpus(f"GPU 0: Tesla T4 (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)\n{excerpt}", matrix)
    assert (gpu.name, gpu.index) == ("Tesla T4", 0)
    assert found(f"{smi_texts.DRIVER_470.replace('Default', 7 * ' ')}$ nvidia-smi -q -i 1\n{excerpt}", matrix)[:1] == [cause]


@pytest.mark.parametrize(
    "line", ["Product Name: PowerEdge R750\n", "Pending : Yes\n", "Fabric\nState : open\n", "Compute Mode\n", "Total : 24 GB\n"]
)
def test_labels_of_other_programs_state_nothing(line: str) -> None:
    assert not any(what.startswith(("gpu:", "memory", "remap", "retire", "compute mode")) for what in stated(f"{line}Remapped Rows\n"))


@settings(deadline=None)
@given(st.sampled_from(list(texts.ALL.values())), st.integers(0, 6000), st.integers(0, 800), st.text(max_size=60))
def test_any_cut_and_any_insertion_are_read_without_an_error(matrix: Matrix, text: str, at: int, length: int, insertion: str) -> None:
    gpus(text[:at] + insertion + text[at + length :], matrix)
