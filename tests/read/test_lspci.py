"""`lspci` with and without -nn, -k and -vv."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.errors import UsageError
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Cause, Missing, Pci, PciBar, PciDevice
from tests.read import smi_texts
from tests.read.seeing import found, read

PLAIN = "01:00.0 VGA compatible controller: NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)\n"
NUMBERS = "0000:17:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 PCIe 80GB] [10de:20b5] (rev a1)\n"
DRIVER = """\
	Subsystem: NVIDIA Corporation Device [10de:1533]
	Kernel driver in use: nvidia
	Kernel modules: nvidiafb, nouveau, nvidia_drm, nvidia
17:00.1 Audio device [0403]: NVIDIA Corporation Device [10de:1aef] (rev a1)
	Kernel driver in use: snd_hda_intel
"""
NO_DRIVER = "\tSubsystem: Device [1043:87b5]\n\tKernel modules: nvidiafb, nouveau\n"
NOUVEAU = "\tKernel driver in use: nouveau\n\tKernel modules: nvidiafb, nouveau\n"
VERBOSE = """\
65:00.0 VGA compatible controller: NVIDIA Corporation TU102 [GeForce RTX 2080 Ti] (rev a1) (prog-if 00 [VGA controller])
	Subsystem: ASUSTeK Computer Inc. Device 866a
	Region 0: Memory at fa000000 (32-bit, non-prefetchable) [size=16M]
	Region 1: Memory at <unassigned> (64-bit, prefetchable) [size=32G]
	Region 5: I/O ports at e000 [size=128]
		LnkCap:	Port #0, Speed 8GT/s, Width x16, ASPM L0s L1, Exit Latency L0s <1us, L1 <4us
		LnkSta:	Speed 2.5GT/s (downgraded), Width x8 (downgraded)
"""
WHOLE = """\
00:00.0 Host bridge: Intel Corporation 440FX - 82441FX PMC [Natoma] (rev 02)
00:01.0 ISA bridge: Intel Corporation 82371SB PIIX3 ISA [Natoma/Triton II]
00:02.0 VGA compatible controller: Device 1234:1111 (rev 02)
00:02.1 PCI bridge: Red Hat, Inc. QEMU PCIe Root port
00:03.0 Ethernet controller: Red Hat, Inc. Virtio network device
"""


def devices(text: str, matrix: Matrix) -> tuple[PciDevice, ...]:
    try:
        pci = read(text, matrix).pci
    except UsageError:
        return ()
    return pci.devices if isinstance(pci, Pci) else ()


def test_a_plain_list_states_the_gpu_and_its_name(matrix: Matrix) -> None:
    (device,) = devices(PLAIN, matrix)
    assert (device.address, device.vendor, device.name) == ("0000:01:00.0", "10de", "GeForce RTX 3090")
    assert device.is_nvidia_gpu
    assert isinstance(device.driver, Missing)
    assert device.driver.cause is Cause.NOT_STATED


def test_a_name_that_is_broken_within_its_brackets_is_read_whole(matrix: Matrix) -> None:
    broken = PLAIN.replace("RTX 3090", "RTX\n3090")
    assert found(broken, matrix) == found(PLAIN, matrix)


def test_numbers_and_driver_are_read_and_the_audio_function_is_not(matrix: Matrix) -> None:
    (device,) = devices(NUMBERS + DRIVER, matrix)
    assert (device.device, device.class_code, device.driver) == ("20b5", "030200", "nvidia")


def test_a_gpu_without_a_driver(matrix: Matrix) -> None:
    (device,) = devices(NUMBERS + NO_DRIVER, matrix)
    assert isinstance(device.driver, Missing)
    assert device.driver.cause is Cause.ABSENT


def test_links_and_bars_are_read(matrix: Matrix) -> None:
    (device,) = devices(VERBOSE, matrix)
    assert (device.link_speed, device.link_speed_max, device.link_width, device.link_width_max) == (2.5, 8.0, 8, 16)
    assert device.bars == (PciBar(number=0, size=16 << 20, assigned=True), PciBar(number=1, size=32 << 30, assigned=False))
    assert found(VERBOSE, matrix) == ["pci-bar-not-assigned"]
    assert found(VERBOSE.replace("<unassigned>", "383800000000"), matrix) == []


def test_nouveau_is_found(matrix: Matrix) -> None:
    assert found(NUMBERS + NOUVEAU, matrix) == ["nouveau-loaded"]


def test_a_gpu_that_returns_ones_fell_off_the_bus_unless_a_laptop_switched_it_off(matrix: Matrix) -> None:
    gone = NUMBERS.replace("rev a1", "rev ff") + DRIVER
    assert found(gone, matrix) == ["gpu-fell-off-bus"]
    assert found(gone.replace("[A100 PCIe 80GB]", "[GeForce GTX 1050 Mobile]"), matrix) == []
    assert found("$ sudo tee /proc/acpi/bbswitch\n" + gone, matrix) == []


def test_a_whole_list_without_a_gpu_convicts_and_a_part_of_one_does_not(matrix: Matrix) -> None:
    error = "RuntimeError: No CUDA GPUs are available\n"
    assert found(WHOLE + error, matrix)[:1] == ["no-gpu"]
    part = "00:02.0 VGA compatible controller: Intel Corporation HD Graphics 630 (rev 04)\n"
    assert "no-gpu" not in found(part + error, matrix)


def test_the_same_gpu_is_listed_once(matrix: Matrix) -> None:
    table = smi_texts.DRIVER_580.replace("00000000:2D:00.0", "00000000:17:00.0")
    assert found(table + NUMBERS + DRIVER, matrix) == []
    assert found(table + NUMBERS, matrix) == []


def test_a_gpu_that_nvidia_smi_does_not_list_is_missing(matrix: Matrix) -> None:
    assert found(smi_texts.DRIVER_580 + NUMBERS + DRIVER, matrix) == ["gpu-count-mismatch"]


@pytest.mark.parametrize(
    "names",
    [
        "GPU 0: NVIDIA GeForce RTX 3090\n",
        "Nvidia driver version: 550.90.07\nGPU models and configuration: GPU 0: NVIDIA GeForce RTX 3090\n",
    ],
)
def test_a_list_without_addresses_contradicts_no_list_with_them(names: str, matrix: Matrix) -> None:
    assert found(names + PLAIN, matrix) == []
    assert found(names + PLAIN + NUMBERS, matrix) == []


@pytest.mark.parametrize("text", ["01:00.0 lost the game\n", "12:30:00.1 INFO: VGA compatible: yes\n", "at 10:00.5 VGA mode: on\n"])
def test_other_lines_are_no_devices(text: str, matrix: Matrix) -> None:
    assert devices(text, matrix) == ()


@settings(deadline=None)
@given(st.sampled_from([PLAIN, NUMBERS + DRIVER, VERBOSE, WHOLE]), st.integers(0, 800), st.integers(0, 300), st.text(max_size=60))
def test_any_cut_and_any_insertion_are_read_without_an_error(matrix: Matrix, text: str, at: int, length: int, insertion: str) -> None:
    devices(text[:at] + insertion + text[at + length :], matrix)


def test_a_link_with_a_quarter_of_the_lanes_is_found_and_half_of_them_are_common(matrix: Matrix) -> None:
    placed = VERBOSE.replace("<unassigned>", "383800000000")
    assert found(placed.replace("Width x8", "Width x4"), matrix) == ["pcie-link-degraded"]
    assert found(placed, matrix) == []
