"""Lines of a whole machine's logs that have nothing to do with a GPU."""

from __future__ import annotations

import re

import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.read.gpu_lines import gpu_related_lines
from gpudoctor.signatures.driver_log import DRIVER_LOG
from tests.read.corpus import CASES
from tests.read.reading import causes

OTHERS = """\
[    0.000000] Command line: BOOT_IMAGE=/vmlinuz root=/dev/sda2 ro quiet
[    0.009097] ACPI: XSDT 0x00000000C9EAC098 0000BC (v01 _ASUS_ Notebook 01072009 AMI  00010013)
[    0.210595] PM: hibernation: Registered nosave memory: [mem 0x00000000-0x00000fff]
[    0.320110] pci 0000:00:1f.0: [8086:a145] type 00 class 0x060100
[    0.320227] pci 0000:00:1f.0: reg 0x18: [io  0xa800-0xa807]
[    0.557848] NR_IRQS: 524544, nr_irqs: 1160, preallocated irqs: 16
[    0.628239] DMA: preallocated 4096 KiB GFP_KERNEL pool for atomic allocations
[    0.628743] acpiphp: ACPI Hot Plug PCI Controller Driver version: 0.5
[    0.766326] smp: Brought up 2 nodes, 16 CPUs
[    0.791011] pci 0000:07:00.0: [1022:57ad] type 01 class 0x060400
[    0.791022] pci 0000:07:00.0: 63.012 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x4 link at 0000:00:01.2 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)
[    1.418388] e1000e 0000:00:1f.6: Interrupt Throttling Rate (ints/sec) set to dynamic conservative mode
[    3.755552] systemd[1]: Listening on systemd-oomd.socket - Userspace Out-Of-Memory (OOM) Killer Socket.
[    4.251707] Bluetooth: hci0: Secure boot is enabled
"""
LISTED = """\
02:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller PM9A1
\tLnkCap:\tPort #0, Speed 16GT/s, Width x4, ASPM L1
\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x1 (downgraded)
"""


DECODED = re.sub(r"(?m)^\[.{12}\]", "kern  :info  : 2026-05-03T10:00:01,285060+00:00", OTHERS)
RAW = re.sub(r"(?m)^\[.{12}\] ", "6,3973,227996636,-;", OTHERS)


@pytest.mark.parametrize("others", [OTHERS, DECODED, RAW, LISTED], ids=["dmesg", "dmesg -x", "/dev/kmsg", "lspci"])
def test_they_state_no_fault(others: str, matrix: Matrix) -> None:
    smi = "NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4\n"
    assert causes(others + smi, matrix) == []


def test_they_change_no_cause(matrix: Matrix) -> None:
    chosen = CASES[::40]
    assert {name: causes(OTHERS + text, matrix)[:1] for name, _, text in chosen} == {
        name: causes(text, matrix)[:1] for name, _, text in chosen
    }


@pytest.mark.parametrize("host", ["", "May  3 10:00:01 node7 kernel: ", "kern  :warn  : ", "4,1203,4080722,-;"])
def test_what_the_kernel_says_of_the_gpu_counts(host: str, matrix: Matrix) -> None:
    line = "[    4.080722] nouveau 0000:65:00.0: NVIDIA TU102 (162000a1)\n"
    assert causes(OTHERS + host + line, matrix) == ["nouveau-loaded"]


def test_every_kernel_line_of_a_signature_is_kept() -> None:
    """Of every line that a signature or a hint of the driver's log names: as the kernel writes it, it is related."""
    lines = [line for signature in DRIVER_LOG for line in signature.lines if line.startswith(("NVRM", "nvidia ", "pcieport ", "pci "))]
    lines.append("WARNING: CPU: 0 PID: 912 at kernel/resource.c:1859 request_free_mem_region.constprop.0+0x12c/0x140")
    written = [f"[   12.345678] {line}" for line in lines]
    assert gpu_related_lines(written, [True] * len(written)) == written


def test_a_link_of_the_gpu_counts(matrix: Matrix) -> None:
    gpu = LISTED.replace(
        "Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller PM9A1", "3D controller: NVIDIA Corporation GA100"
    )
    assert causes(gpu, matrix) == ["pcie-link-degraded"]
