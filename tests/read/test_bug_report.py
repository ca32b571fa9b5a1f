"""The file of nvidia-bug-report.sh: some of its hundred sections describe the machine as it is now."""

from __future__ import annotations

import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.read.bug_report import lines_of_this_boot
from gpudoctor.read.texts import read_text
from gpudoctor.snapshot import Likeness, Nvml, Pci, TextLog
from tests.read.reading import causes

RULE = "_" * 44
SMI = (
    "/usr/bin/nvidia-smi --query\n==============NVSMI LOG==============\n"
    "Driver Version                            : 550.54.15\nCUDA Version                              : 12.4\n"
    "Attached GPUs                             : 1\nGPU 00000000:3B:00.0\n"
    "    Product Name                          : NVIDIA A100-PCIE-40GB\n"
    "    Clocks Event Reasons\n        SW Power Cap                      : Active\n"
    "    GPU Power Readings\n        Current Power Limit               : 250.00 W\n        Default Power Limit               : 250.00 W\n"
)
LSPCI = (
    '/usr/bin/lspci -d "10de:*" -v -xxx\n3b:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 40GB] (rev a1)\n\tKernel driver in use: nvidia\n',
    (
        "/usr/bin/lspci -nn\n00:1f.0 ISA bridge [0601]: Intel Corporation C621 [8086:a1c1] (rev 04)\n"
        "3b:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 PCIe 40GB] [10de:20f1] (rev a1)\n"
    ),
)
VERSION = "*** /proc/driver/nvidia/version\nNVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"
DMESG = (
    "dmesg:\n[    0.000000] Linux version 6.5.0-28-generic (buildd@host) (gcc-12) #29-Ubuntu SMP\n"
    "[    0.591044] NR_IRQS: 524544, nr_irqs: 1024, preallocated irqs: 16\n"
    "[    0.781102] acpiphp: ACPI Hot Plug PCI Controller Driver version: 0.5\n"
    "[    2.481920] e1000e 0000:00:1f.6: Interrupt Throttling Rate (ints/sec) set to dynamic conservative mode\n"
    "[    3.026923] nouveau 0000:3b:00.0: enabling device (0100 -> 0103)\n"
    "[    3.755552] systemd[1]: Listening on systemd-oomd.socket - Userspace Out-Of-Memory (OOM) Killer Socket.\n"
    "[    5.917314] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"
)
KERNEL_LOGS = (
    "Scanning kernel log files for NVIDIA kernel messages:\n  /var/log/kern.log:\n"
    "May  2 08:01:10 node7 kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
    "  journalctl -b -0:\n{}"
    "  journalctl -b -1:\nMay  1 09:00:00 node7 kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
)
STARTING = "May  3 10:00:01 node7 nvidia-persistenced[1402]: nvidia-persistenced failed to initialize. Check syslog for more details.\n"
LEFT_OUT = (
    "journalctl -b -0 _COMM=Xorg\nMay  3 10:00:02 node7 Xorg[900]: (EE) NVIDIA: Failed to initialize the NVIDIA kernel module.\n",
    "*** /usr/share/X11/xorg.conf.d/10-amdgpu.conf\nDriver amdgpu\n",
    "*** /var/log/nvidia-installer.log\nERROR: Unable to load the kernel module 'nvidia.ko'.\n",
    "*** /var/lib/dkms/nvidia/550.54.15/6.5.0-27-generic/x86_64/log/make.log\nmake: *** [Makefile:240: __sub-make] Error 2\n",
)


def report(*sections: str) -> str:
    """Return a bug report with these sections after its head."""
    head = "Start of NVIDIA bug report log file.  Please include this file\n\nnvidia-bug-report.sh Version: 1\n\nuname: Linux node7 6.5.0-28-generic #29-Ubuntu SMP x86_64 GNU/Linux\n"
    return "".join(f"{RULE}\n\n{section}\n" for section in (head, *sections, "End of NVIDIA bug report log file.\n"))


HEALTHY = report(VERSION, *LEFT_OUT, *LSPCI, KERNEL_LOGS.format(STARTING), DMESG, SMI)


def test_what_was_once_is_no_finding(matrix: Matrix) -> None:
    assert causes(HEALTHY, matrix) == []


def test_the_machine_is_read_as_it_is_now(matrix: Matrix) -> None:
    found = read_text(HEALTHY.encode(), "nvidia-bug-report.log", matrix, "")
    assert isinstance(found.nvml, Nvml)
    assert found.nvml.driver_version == "550.54.15"
    assert any(remark.endswith("were not read; earlier boots logged Xid 79") for remark in found.remarks)
    assert isinstance(found.pci, Pci)
    (device,) = (device for device in found.pci.devices if device.is_nvidia_gpu)
    assert (device.device, device.driver) == ("20f1", "nvidia")


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("May  3 10:04:00 node7 kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n", "gpu-fell-off-bus"),
        (
            "May  3 10:04:00 node7 kernel: NVRM: Xid (PCI:0000:3b:00): 119, Timeout after 6s of waiting for RPC response from GPU0 GSP!\n",
            "gsp-firmware-failure",
        ),
    ],
)
def test_an_error_since_boot_is_found(line: str, cause: str, matrix: Matrix) -> None:
    assert causes(report(VERSION, *LSPCI, KERNEL_LOGS.format(line), DMESG), matrix)[0] == cause


def test_only_what_stands_before_a_report_counts_as_a_persons_words(matrix: Matrix) -> None:
    complaint = "Training on both cards is much slower over NVLink, and the link reports CRC errors. Why does the link fail?\n"
    (before, within) = (read_text(text.encode(), "x", matrix, "").text_log for text in (complaint + HEALTHY, HEALTHY + complaint))
    assert isinstance(before, TextLog)
    assert before.likeness.fault > 0
    assert not isinstance(within, TextLog) or within.likeness == Likeness()


def test_a_refusal_of_nvidia_smi_is_found(matrix: Matrix) -> None:
    smi = "/usr/bin/nvidia-smi --query\nFailed to initialize NVML: Driver/library version mismatch\n"
    assert causes(report(VERSION, *LSPCI, DMESG, smi), matrix) == ["driver-library-mismatch"]


def test_lines_keep_their_numbers_and_what_stands_before_a_report() -> None:
    lines = ["It hangs.", *HEALTHY.splitlines()]
    kept = lines_of_this_boot(lines)
    assert len(kept) == len(lines)
    assert all(line in {"", before} for line, before in zip(kept, lines, strict=True))
    assert kept[0] == "It hangs."


def test_other_text_is_left_as_it_is() -> None:
    lines = [RULE, "", "journalctl -b -1:", "anything"]
    assert lines_of_this_boot(lines) is lines
