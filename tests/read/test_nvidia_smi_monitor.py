"""`nvidia-smi dmon` and `nvidia-smi pmon`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.matrix import Matrix
from gpudoctor.read.lines import lines_of
from gpudoctor.read.readers import nvidia_smi_monitor
from tests.read.mangled import mangled
from tests.read.reading import is_read_or_refused
from tests.read.seeing import gpus

OLD_DEVICES = """\
# gpu   pwr  temp    sm   mem   enc   dec  mclk  pclk
# Idx     W     C     %     %     %     %   MHz   MHz
    0    43    48     0     1     0     0  3505   936
    1   251    83    99    71     0     0  3505  1151
"""
DEVICES = """\
#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk     fb   bar1   ccpm  dbecc
#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %      %      %      %      %    MHz    MHz     MB     MB     MB   errs
 20250704   11:52:03      0     71     34     45      0      0      0      0      0      0   1593    345   9122      3      0      2
"""
VIOLATIONS = "# gpu  pviol  tviol     fb   bar1\n# Idx      %   bool     MB     MB\n    0      0      1   2020      9\n"
PROCESSES = """\
# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    fb   ccpm    command
# Idx           #    C/G      %      %      %      %      %      %    MB     MB    name
    0      40122     C     97     61      -      -      -      -  30210      0    python3 train.py
    1          -     -      -      -      -      -      -      -      -      -    -
"""
OLD_PROCESSES = "# gpu        pid  type    sm   mem   enc   dec   command\n# Idx          #   C/G     %     %     %     %   name\n    0       1719   C+G     4     2     0     0   gnome-shell\n"
ALL = (OLD_DEVICES, DEVICES, VIOLATIONS, PROCESSES, OLD_PROCESSES)
MIB = 1 << 20


def stated(text: str) -> dict[str, str]:
    assert nvidia_smi_monitor.READER.blocks is not None
    return {block.what: block.value for block in nvidia_smi_monitor.READER.blocks(lines_of(text.encode(), "a text"))}


def test_columns_of_older_drivers(matrix: Matrix) -> None:
    idle, busy = gpus(OLD_DEVICES, matrix)
    assert (idle.power, idle.temperature, idle.utilization) == (43000, 48, 0)
    assert (busy.power, busy.temperature, busy.utilization) == (251000, 83, 99)


def test_a_sample_with_its_time(matrix: Matrix) -> None:
    (gpu,) = gpus(DEVICES, matrix)
    assert (gpu.power, gpu.temperature, gpu.memory_used, gpu.ecc_uncorrected) == (71000, 34, 9122 * MIB, 2)


def test_a_thermal_violation_is_a_slowdown() -> None:
    assert stated(VIOLATIONS)["clock reason:0/sw_thermal_slowdown"] == "Active"
    assert "clock reason:0/sw_thermal_slowdown" not in stated(VIOLATIONS.replace("      1   2020", "      0   2020"))


def test_processes_are_listed(matrix: Matrix) -> None:
    busy, idle = gpus(PROCESSES, matrix)
    assert isinstance(busy.compute_processes, tuple)
    assert [(process.pid, process.name, process.memory) for process in busy.compute_processes] == [(40122, "python3", 30210 * MIB)]
    assert idle.compute_processes == ()
    (desktop,) = gpus(OLD_PROCESSES, matrix)
    assert isinstance(desktop.compute_processes, tuple)
    assert [process.pid for process in desktop.compute_processes] == [1719]


@pytest.mark.parametrize(
    "text",
    ["# gpu of ours\n    0    43    48\n", "    0    43    48     0\n", "# total  used\n 1 2\n", "# gpu   pid  type\n    0   812     C\n"],
)
def test_other_columns_state_nothing(text: str) -> None:
    assert stated(text) == {}


@pytest.mark.parametrize("text", ALL)
def test_a_cut_off_table_states_nothing_else(text: str) -> None:
    whole = stated(text)
    for place in range(len(text)):
        if text[place] == "\n":
            assert stated(text[:place]).items() <= whole.items()


@given(data=st.data())
def test_any_part_in_any_order_is_read(data: st.DataObject, matrix: Matrix) -> None:
    assert is_read_or_refused(data.draw(mangled("".join(ALL))), matrix)
