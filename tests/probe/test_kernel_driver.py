"""Loaded or not, which version and flavour."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.probe.kernel_driver import VERSION_FILE, kernel_driver
from gpudoctor.snapshot import Cause, Fact, KernelDriver, Missing
from tests.probe.places import plant
from tests.seams.trees import PciCard, Tree

PROPRIETARY = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.154.05  Thu Dec 28 15:37:48 UTC 2023\nGCC version:  gcc 12.2.0\n"
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  555.42.02  Release Build  (builder@host)  Mon May 13 2024\n"
OLD = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  390.157  Wed Oct 12 2022\n"


def at(root: str) -> KernelDriver:
    found = kernel_driver(root)
    assert isinstance(found, KernelDriver)
    return found


@pytest.mark.parametrize(
    ("text", "version", "flavour"),
    [(PROPRIETARY, "535.154.05", "proprietary"), (OPEN, "555.42.02", "open"), (OLD, "390.157", "proprietary")],
)
def test_version_and_flavour_from_the_drivers_own_line(tmp_path: Path, text: str, version: str, flavour: str) -> None:
    found = at(plant(tmp_path, {VERSION_FILE: text}))
    assert (found.version, found.flavour) == (Fact(version, VERSION_FILE), flavour)


def test_a_loaded_driver_with_its_gpus_and_modules(tmp_path: Path) -> None:
    cards = [PciCard(address=f"0000:{bus:02x}:00.0") for bus in (7, 15)]
    found = at(str(Tree(pci=cards, kernel_driver="550.163.01").build(tmp_path)))
    assert found.modules == ("nvidia", "nvidia_uvm")
    assert not isinstance(found.gpus, Missing)
    assert [(gpu.address, gpu.minor, gpu.model) for gpu in found.gpus] == [
        ("0000:07:00.0", 0, "NVIDIA A100-SXM4-80GB"),
        ("0000:0f:00.0", 1, "NVIDIA A100-SXM4-80GB"),
    ]


def test_an_unloaded_driver_is_absent_and_other_drivers_are_listed(tmp_path: Path) -> None:
    found = at(str(Tree(modules=("nouveau", "vfio_pci")).build(tmp_path)))
    assert isinstance(found.version, Missing)
    assert found.version.cause is Cause.ABSENT
    assert found.modules == ("nouveau", "vfio_pci")


def test_a_sandbox_that_hides_the_drivers_file_still_shows_the_modules(tmp_path: Path) -> None:
    found = at(plant(tmp_path, {"/proc/x": "", "/sys/module/nvidia/version": "550.54.15\n"}))
    assert found.version == Fact("550.54.15", "/sys/module/nvidia/version")


def test_loaded_without_a_version_differs_from_not_loaded(tmp_path: Path) -> None:
    found = at(plant(tmp_path, {"/sys/module/nvidia/initstate": "live\n"}))
    assert isinstance(found.version, Missing)
    assert found.version.cause is Cause.FAILED


def test_an_unintelligible_version_file(tmp_path: Path) -> None:
    found = at(plant(tmp_path, {VERSION_FILE: "NVRM version: something new\n"}))
    assert isinstance(found.version, Missing)
    assert found.version.cause is Cause.FAILED


def test_without_proc_and_sys_the_section_is_missing(tmp_path: Path) -> None:
    found = kernel_driver(str(tmp_path))
    assert isinstance(found, Missing)
    assert found.cause is Cause.FAILED
