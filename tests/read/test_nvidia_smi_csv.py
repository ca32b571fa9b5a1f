"""`nvidia-smi --query-gpu` as CSV: with a header, without one, and what only looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.matrix import Matrix
from gpudoctor.read.lines import lines_of
from gpudoctor.read.readers import nvidia_smi_csv
from tests.read.seeing import facts, found, gpus

MIB = 1 << 20
QUERY = "index,name,pci.bus_id,memory.total,memory.used,compute_mode,compute_cap,driver_version"
COMMAND = f"$ nvidia-smi --query-gpu={QUERY} --format=csv"
HEADER = "index, name, pci.bus_id, memory.total [MiB], memory.used [MiB], compute_mode, compute_cap, driver_version"
ROWS = (
    "0, NVIDIA L4, 00000000:00:03.0, 23034 MiB, 0 MiB, Default, 8.9, 550.54.15",
    "1, NVIDIA L4, 00000000:00:04.0, 23034 MiB, 22790 MiB, Exclusive_Process, 8.9, 550.54.15",
)
WHOLE = "\n".join((COMMAND, HEADER, *ROWS, "done"))
FORMS = {
    "header": "\n".join((HEADER, *ROWS)),
    "command and header": WHOLE,
    "noheader": "\n".join((f"{COMMAND},noheader", *ROWS)),
    "nounits": "\n".join((f"{COMMAND},noheader,nounits", *(row.replace(" MiB", "") for row in ROWS))),
    "quoted": "".join(f"> {line}\n" for line in WHOLE.splitlines()),
}


def stated(text: str) -> dict[str, str]:
    assert nvidia_smi_csv.READER.blocks is not None
    return {block.what: block.value for block in nvidia_smi_csv.READER.blocks(lines_of(text.encode(), "a text"))}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_each_form_states_the_same(text: str, matrix: Matrix) -> None:
    first, second = gpus(text, matrix)
    assert (first.name, first.address, first.compute_capability) == ("NVIDIA L4", "0000:00:03.0", "8.9")
    assert (first.memory_total, first.memory_used, first.compute_mode) == (23034 * MIB, 0, "default")
    assert (second.memory_used, second.compute_mode) == (22790 * MIB, "exclusive-process")


def test_a_cut_off_table_states_the_same_of_what_is_left() -> None:
    lines = WHOLE.splitlines()
    for end in range(len(lines)):
        assert stated("\n".join(lines[:end])).items() <= stated(WHOLE).items()


def test_rows_without_a_number_are_counted(matrix: Matrix) -> None:
    text = "name, memory.total [MiB], mig.mode.current\nTesla T4, 15360 MiB, [N/A]\nTesla T4, 15360 MiB, [N/A]\n"
    assert [gpu.name for gpu in gpus(text, matrix)] == ["Tesla T4", "Tesla T4"]
    assert "mig_enabled" not in facts(gpus(text, matrix)[0])


def test_pending_remaps_and_reasons_are_found(matrix: Matrix) -> None:
    text = "index, clocks_event_reasons.hw_thermal_slowdown, clocks_event_reasons.sw_power_cap\n0, Active, Active\n"
    named = "index, name\n0, NVIDIA H100 PCIe\n"
    assert found(named + text, matrix) == ["thermal-throttled"]
    assert found(named + text.replace("Active, Active", "Not Active, Active"), matrix) == []


@pytest.mark.parametrize(
    "text",
    [
        "name, age\nAlice, 30\n",
        "index,name\n0,Alice\n",
        "epoch, loss, accuracy\n1, 0.3, 0.9\n",
        "--query-gpu=name\n",
        "name, version\nnumpy, 2.1.0\n",
    ],
)
def test_other_rows_name_no_gpu(text: str) -> None:
    assert "0" not in {what.partition(":")[2] for what in stated(text)} or text.startswith("index,name")


@settings(deadline=None)
@given(st.integers(0, 500), st.integers(0, 200), st.text(max_size=60))
def test_any_cut_and_any_insertion_are_read_without_an_error(matrix: Matrix, at: int, length: int, insertion: str) -> None:
    gpus(WHOLE[:at] + insertion + WHOLE[at + length :], matrix)
