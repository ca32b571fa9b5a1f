"""NVML queries for slow, hot and worn GPUs and for support tickets; a GPU only loses the fields that it lacks."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from gpudoctor.probe.inventory import ProbeScope
from gpudoctor.snapshot import (
    ApplicationClocks,
    Bar1,
    Cause,
    EccPlace,
    GpuBoard,
    Heat,
    HeldBack,
    Missing,
    Nvml,
    NvmlGpu,
    RackPlace,
    SpareRows,
)
from tests.probe.places import look
from tests.seams import Nvml as Library
from tests.seams import NvmlGpu as Card

Shims = Callable[..., dict[str, str]]
AskCard = Callable[..., NvmlGpu]
MIB = 1 << 20


@pytest.fixture
def card(shim_environment: Shims) -> AskCard:
    def asked(gpu: Card, *, identify: bool = False, **changes: object) -> NvmlGpu:
        options = ProbeScope(python=sys.executable, identify=identify)
        nvml = look(options, shim_environment(Library(gpus=[gpu], **changes)))[0].nvml  # type: ignore[arg-type]
        assert isinstance(nvml, Nvml), nvml
        assert isinstance(nvml.gpus, tuple)
        return nvml.gpus[0]

    return asked


def test_the_serial_number_is_only_read_on_request(card: AskCard) -> None:
    gsp: dict[str, int | str] = {"gsp_firmware": "550.163.01", "gsp_enabled": 1, "gsp_default": 1}
    board = card(Card(facts=gsp)).board
    assert isinstance(board, GpuBoard)
    assert (board.vbios, board.inforom, board.inforom_oem, board.inforom_ecc) == ("92.00.9E.00.01", "G506.0212.00.01", "2.0", "6.16")
    assert (board.board_id, board.part_number) == (0x700, "692-2G506-0212-002")
    assert (board.gsp_firmware, board.gsp_enabled, board.gsp_default) == ("550.163.01", True, True)
    assert isinstance(board.inforom_power, Missing)
    assert isinstance(board.serial, Missing)
    assert board.serial.cause is Cause.NOT_ASKED
    named = card(Card(), identify=True).board
    assert isinstance(named, GpuBoard)
    assert named.serial == "1324620035047"


def test_reserved_memory_and_the_bar1_window(card: AskCard) -> None:
    gpu = card(Card(memory_reserved=616 * MIB, facts={"bar1_total": 256 * MIB, "bar1_used": 3 * MIB}))
    assert (gpu.memory_reserved, gpu.bar1) == (616 * MIB, Bar1(total=256 * MIB, used=3 * MIB))
    old = card(Card(), without=("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetBAR1MemoryInfo"))
    assert [old.memory_reserved.cause, old.bar1.cause] == [Cause.UNSUPPORTED] * 2  # type: ignore[union-attr]
    assert old.memory_total == 81920 * MIB


def test_temperatures_and_limits_of_both_kinds(card: AskCard) -> None:
    absolute = card(Card()).heat
    assert isinstance(absolute, Heat)
    assert (absolute.memory, absolute.memory_limit, absolute.gpu_limit) == (38, 95, 85)
    assert isinstance(absolute.margin, Missing)
    limits: dict[str, int | str] = {"tlimit_shutdown": -8, "tlimit_slowdown": -2, "tlimit_memory": -1, "tlimit_gpu": 0}
    relative = card(Card(facts={"temperature_margin": 41, **limits})).heat
    assert isinstance(relative, Heat)
    assert (relative.margin, relative.shutdown_tlimit, relative.slowdown_tlimit) == (41, -8, -2)
    assert (relative.memory_tlimit, relative.gpu_tlimit) == (-1, 0)


def test_throttling_times_are_read_twice(card: AskCard) -> None:
    gpu = card(Card(facts={"held.thermal": "7000000000+", "held.power_brake": 5}))
    assert isinstance(gpu.held_back, HeldBack)
    assert isinstance(gpu.held_back_later, HeldBack)
    assert (gpu.held_back.thermal, gpu.held_back_later.thermal) == (7_000_000_000, 7_100_000_000)
    assert (gpu.held_back.power_brake, gpu.held_back.power) == (5, 812_000_000_000)
    assert isinstance(gpu.held_back.thermal_by_driver, Missing)
    assert gpu.held_back.thermal_by_driver.cause is Cause.UNSUPPORTED


def test_spare_rows_by_number_left(card: AskCard) -> None:
    assert card(Card(facts={"spare_rows": "630 4 3 2 1"})).spare_rows == SpareRows(max=630, high=4, partial=3, low=2, none=1)


def test_memory_errors_by_place_with_ecc(card: AskCard) -> None:
    counts: dict[str, int | str] = {"ecc.l2": "1 2 3 4", "ecc.cbu": "0 5 0 6", "ecc.sram": "7 8 9 10"}
    places = card(Card(facts=counts)).ecc_places
    assert places == (
        EccPlace("l2", corrected=1, uncorrected=2, corrected_total=3, uncorrected_total=4),
        EccPlace("memory", corrected=0, uncorrected=0, corrected_total=0, uncorrected_total=0),
        EccPlace("cbu", uncorrected=5, uncorrected_total=6),
        EccPlace("sram", corrected=7, uncorrected=8, corrected_total=9, uncorrected_total=10),
    )
    assert card(Card(ecc=(0, 0), facts=counts)).ecc_places == ()
    without_ecc = card(Card(ecc=None, facts=counts)).ecc_places
    assert isinstance(without_ecc, Missing)
    assert without_ecc.cause is Cause.UNSUPPORTED


def test_application_clocks_and_the_default_ones(card: AskCard) -> None:
    clocks = card(Card(facts={"clock_set_sm": 705})).application_clocks
    assert clocks == ApplicationClocks(sm=705, sm_default=1410, memory=1593, memory_default=1593)
    newer = card(Card(), without=("nvmlDeviceGetApplicationsClock", "nvmlDeviceGetDefaultApplicationsClock")).application_clocks
    assert isinstance(newer, Missing)
    assert newer.cause is Cause.UNSUPPORTED


def test_the_gpus_own_link_generation(card: AskCard) -> None:
    gpu = card(Card(pcie_gen=(3, 3), facts={"pcie_gen_own": 4}))
    assert (gpu.link_generation_max, gpu.link_generation_own) == (3, 4)


def test_a_links_speed_and_its_peer(card: AskCard) -> None:
    facts: dict[str, int | str] = {"nvlink.0.remote": 0, "nvlink.2.speed": 20_000, "nvlink.3.remote": 255}
    links = card(Card(nvlinks="1011", facts=facts)).nvlinks
    assert isinstance(links, tuple)
    assert [link.remote for link in links if link.active] == ["gpu", "switch", "unknown"]
    assert [link.speed for link in links if link.active] == [25_781, 20_000, 25_781]
    assert isinstance(links[1].speed, Missing)
    old = card(Card(nvlinks="1"), without=("nvmlDeviceGetNvLinkRemoteDeviceType",)).nvlinks
    assert isinstance(old, tuple)
    assert isinstance(old[0].remote, Missing)
    assert old[0].remote.cause is Cause.UNSUPPORTED


@pytest.mark.parametrize("form", [1, 2])
def test_the_rack_position_in_both_versions_of_the_struct(card: AskCard, form: int) -> None:
    facts: dict[str, int | str] = {"rack": "7 3 1 2 4", "rack_form": form, "chassis_serial": "182A123456789", "numa_memory": 9}
    gpu = card(Card(facts=facts))
    assert isinstance(gpu.rack, RackPlace)
    assert (gpu.rack.slot, gpu.rack.tray, gpu.rack.host, gpu.rack.peer, gpu.rack.module) == (7, 3, 1, 2, 4)
    assert isinstance(gpu.rack.chassis_serial, Missing)
    assert gpu.numa_memory == 9
    named = card(Card(facts=facts), identify=True).rack
    assert isinstance(named, RackPlace)
    assert isinstance(named.chassis_serial, Missing) if form == 1 else named.chassis_serial == "182A123456789"


def test_an_unopened_gpu_has_a_reason_for_each_detail(card: AskCard) -> None:
    gpu = card(Card(), calls={"nvmlDeviceGetHandleByIndex": "return 15"})
    for value in (gpu.board, gpu.bar1, gpu.heat, gpu.held_back, gpu.held_back_later, gpu.spare_rows, gpu.ecc_places, gpu.rack):
        assert isinstance(value, Missing)
        assert value.cause is Cause.LOST


def test_a_driver_without_details_loses_nothing_else(card: AskCard) -> None:
    lacking = (
        "nvmlDeviceGetVbiosVersion", "nvmlDeviceGetInforomImageVersion", "nvmlDeviceGetInforomVersion", "nvmlDeviceGetBoardId",
        "nvmlDeviceGetGspFirmwareMode", "nvmlDeviceGetGspFirmwareVersion", "nvmlDeviceGetMarginTemperature", "nvmlDeviceGetRowRemapperHistogram",
        "nvmlDeviceGetPlatformInfo", "nvmlDeviceGetNumaNodeId", "nvmlDeviceGetGpuMaxPcieLinkGeneration", "nvmlDeviceGetMemoryErrorCounter",
    )  # fmt: skip
    gpu = card(Card(), without=lacking)
    assert isinstance(gpu.board, GpuBoard)
    assert gpu.board.part_number == "692-2G506-0212-002"
    assert isinstance(gpu.board.vbios, Missing)
    assert gpu.board.vbios.cause is Cause.UNSUPPORTED
    assert gpu.temperature == 33


def test_one_failing_detail_only_loses_itself(card: AskCard) -> None:
    heat = card(Card(facts={"field_fails": "82:999"})).heat
    assert isinstance(heat, Heat)
    assert isinstance(heat.memory, Missing)
    assert heat.memory.cause is Cause.FAILED
    assert heat.memory_limit == 95
