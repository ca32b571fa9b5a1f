"""Reads the kernel log: the driver's versions and its Xid and SXid errors, https://docs.nvidia.com/deploy/xid-errors/."""

from __future__ import annotations

from gpudoctor.read.readers.reader import VERSION_FORM, Reader, StatementForm
from gpudoctor.read.statements import Directness

READER = Reader(
    "kernel log",
    forms=(
        StatementForm("xid", r"NVRM: Xid \((?:PCI:)?(?P<name>[0-9A-Fa-f:.]{1,20})[^)]{0,100}\): (?P<value>\d+(?:, .{0,300})?)"),
        StatementForm("sxid", r"SXid \((?:PCI:)?(?P<name>[0-9A-Fa-f:.]{1,20})\): (?P<value>\d+(?:, .{0,300})?)"),
        StatementForm("nvml error", r"(?P<value>NVRM: API mismatch)"),
        StatementForm("kernel line", r"(?P<value>.{0,80}\b(?:NVRM: |nouveau \d{4}:|NovaCore |nova_core ).{3,300})", Directness.LOG),
        # drivers/pci/pcie/aer.c: "Corrected" and "Uncorrected" before Linux 6.6, then "Correctable" and "Uncorrectable"
        StatementForm(
            "kernel line",
            r"(?P<value>.{0,80}(?:PCIe Bus Error: severity=|AER: (?:Multiple )?(?:Correct|Uncorrect)(?:ed|able) ).{0,200})",
            Directness.LOG,
        ),
        # kernel/module/signing.c, security/lockdown/lockdown.c and what the kernel answers to modprobe
        StatementForm(
            "kernel line",
            r"(?P<value>.{0,120}(?:module with (?:unsupported crypto|unavailable key) is rejected|unsigned module is rejected|PKCS#7 signature not signed"
            r"|unsigned module loading is restricted|Key was rejected by service|Required key not available).{0,100})",
            Directness.LOG,
        ),
        StatementForm("module", rf"this kernel module has the version {VERSION_FORM}"),
        StatementForm("libraries", rf"API mismatch: the client has the version {VERSION_FORM}"),
        # since 570 it names the client too
        StatementForm("libraries", rf"NVRM:\s{{1,4}}has the version {VERSION_FORM}, but this kernel module has"),
        StatementForm("module", rf"NVRM:\s{{1,4}}the version {VERSION_FORM}\.(?:\s|$)"),
        # nvidia_init_module and its kin in kernel-open/nvidia/nv.c of https://github.com/NVIDIA/open-gpu-kernel-modules
        StatementForm("module", rf"NVRM: loading NVIDIA UNIX .{{0,60}}?Kernel Module .{{0,30}}?{VERSION_FORM}", Directness.LOG),
        StatementForm("flavour", r"NVRM: loading NVIDIA UNIX (?P<value>(?:\w{3,10} )?Kernel Module)", Directness.LOG),
    ),
    of_kernel=True,
)
