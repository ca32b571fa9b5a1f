"""The display devices on the bus."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.probe.pci import pci
from gpudoctor.snapshot import Cause, Missing, Pci, PciBar
from tests.probe.places import plant
from tests.seams.trees import PciCard, Tree


def devices(cards: list[PciCard], root: Path) -> Pci:
    found = pci(str(Tree(pci=cards).build(root)))
    assert isinstance(found, Pci)
    return found


def test_a_bound_card_with_its_link(tmp_path: Path) -> None:
    (card,) = devices([PciCard(link_gen=(1, 4), link_width=(8, 16))], tmp_path).devices
    assert (card.address, card.vendor, card.device, card.class_code, card.driver) == ("0000:07:00.0", "10de", "20b2", "030200", "nvidia")
    assert (card.link_speed, card.link_speed_max, card.link_width, card.link_width_max) == (2.5, 16.0, 8, 16)


def test_any_vendors_display_devices_and_only_nvidias_bridges(tmp_path: Path) -> None:
    cards = [
        PciCard(address="0000:00:02.0", vendor=0x8086, pci_class=0x030000, driver="i915"),
        PciCard(address="0000:03:00.0", vendor=0x1002, pci_class=0x038000, driver="amdgpu"),
        PciCard(address="0000:05:00.0", pci_class=0x068000),
        PciCard(address="0000:06:00.0", vendor=0x8086, pci_class=0x068000),
        PciCard(address="0000:07:00.1", pci_class=0x040300),
        PciCard(address="0000:08:00.0", vendor=0x8086, pci_class=0x020000),
    ]
    assert [card.address for card in devices(cards, tmp_path).devices] == ["0000:00:02.0", "0000:03:00.0", "0000:05:00.0"]


def test_a_card_without_driver_says_so(tmp_path: Path) -> None:
    (card,) = devices([PciCard(driver=None)], tmp_path).devices
    assert isinstance(card.driver, Missing)
    assert card.driver.cause is Cause.ABSENT


def test_a_card_off_the_bus_is_lost_and_not_sixty_three_lanes_wide(tmp_path: Path) -> None:
    (card,) = devices([PciCard(lost=True)], tmp_path).devices
    assert isinstance(card.link_width, Missing)
    assert card.link_width.cause is Cause.LOST
    assert isinstance(card.link_speed, Missing)


@pytest.mark.parametrize("speed", ["nan GT/s", "inf", "-1 GT/s", "Unknown", ""])
def test_a_speed_is_a_finite_number_or_missing(tmp_path: Path, speed: str) -> None:
    place = "/sys/bus/pci/devices/0000:07:00.0"
    files = {"vendor": "0x10de", "device": "0x20b2", "class": "0x030200", "current_link_speed": speed}
    found = pci(plant(tmp_path, {f"{place}/{name}": content for name, content in files.items()}))
    assert isinstance(found, Pci)
    assert isinstance(found.devices[0].link_speed, Missing)


def test_a_missing_bus_is_absent(tmp_path: Path) -> None:
    found = pci(str(tmp_path))
    assert isinstance(found, Missing)
    assert found.cause is Cause.ABSENT


def test_an_empty_bus_is_a_fact(tmp_path: Path) -> None:
    assert devices([], tmp_path) == Pci(devices=())


def test_location_and_bars_of_a_card(tmp_path: Path) -> None:
    (card,) = devices([PciCard(numa_node=1, bars={0: (16 << 20, True), 1: (128 << 30, False), 3: (32 << 20, True)})], tmp_path).devices
    assert (card.numa_node, card.cpus) == (1, "32-63")
    assert card.bars == (
        PciBar(number=0, size=16 << 20, assigned=True),
        PciBar(number=1, size=128 << 30, assigned=False),
        PciBar(number=3, size=32 << 20, assigned=True),
    )


def test_a_slot_without_numa_node(tmp_path: Path) -> None:
    (card,) = devices([PciCard(numa_node=-1)], tmp_path).devices
    assert isinstance(card.numa_node, Missing)
    assert card.numa_node.cause is Cause.ABSENT


@pytest.mark.parametrize("content", ["", "0x0 0x0", "nonsense nonsense nonsense\n", "0x1 0x2 0x200 0x3\n"])
def test_an_invalid_resource_list(tmp_path: Path, content: str) -> None:
    place = "/sys/bus/pci/devices/0000:07:00.0"
    files = {"vendor": "0x10de", "device": "0x20b2", "class": "0x030200", "resource": content}
    found = pci(plant(tmp_path, {f"{place}/{name}": text for name, text in files.items()}))
    assert isinstance(found, Pci)
    bars = found.devices[0].bars
    assert bars == () if not content else isinstance(bars, Missing)


def test_a_lost_card_reads_as_ones(tmp_path: Path) -> None:
    well, lost = devices([PciCard(), PciCard(address="0000:0f:00.0", lost=True)], tmp_path).devices
    assert (well.answers, lost.answers) == (True, False)
    assert isinstance(lost.link_width, Missing)
    assert lost.link_width.cause is Cause.LOST


def test_a_card_that_sleeps_is_not_woken(tmp_path: Path) -> None:
    root = str(Tree(pci=[PciCard(lost=True)]).build(tmp_path))
    plant(tmp_path, {"/sys/bus/pci/devices/0000:07:00.0/power/runtime_status": "suspended\n"})
    found = pci(root)
    assert isinstance(found, Pci)
    answers = found.devices[0].answers
    assert isinstance(answers, Missing)
    assert answers.cause is Cause.NOT_ASKED


@pytest.mark.parametrize("content", ["", "\x10"])
def test_a_truncated_configuration_space_is_inconclusive(tmp_path: Path, content: str) -> None:
    root = str(Tree(pci=[PciCard()]).build(tmp_path))
    plant(tmp_path, {"/sys/bus/pci/devices/0000:07:00.0/config": content})
    found = pci(root)
    assert isinstance(found, Pci)
    assert isinstance(found.devices[0].answers, Missing)
