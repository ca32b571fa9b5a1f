"""Reads the kernel log: the driver's versions and its Xid and SXid errors, https://docs.nvidia.com/deploy/xid-errors/."""

from __future__ import annotations

from gpudoctor.read.readers.reader import VERSION, Form, Reader
from gpudoctor.read.statements import Rank

READER = Reader(
    "kernel log",
    forms=(
        Form("xid", r"NVRM: Xid \((?:PCI:)?(?P<name>[0-9A-Fa-f:.]{1,20})[^)]{0,100}\): (?P<value>\d+(?:, .{0,300})?)"),
        Form("sxid", r"SXid \((?:PCI:)?(?P<name>[0-9A-Fa-f:.]{1,20})\): (?P<value>\d+(?:, .{0,300})?)"),
        Form("nvml error", r"(?P<value>NVRM: API mismatch)"),
        Form("kernel line", r"(?P<value>.{0,80}\b(?:NVRM: |nouveau \d{4}:|NovaCore |nova_core ).{3,300})", Rank.LOG),
        # drivers/pci/pcie/aer.c: "Corrected" and "Uncorrected" before Linux 6.6, then "Correctable" and "Uncorrectable"
        Form(
            "kernel line",
            r"(?P<value>.{0,80}(?:PCIe Bus Error: severity=|AER: (?:Multiple )?(?:Correct|Uncorrect)(?:ed|able) ).{0,200})",
            Rank.LOG,
        ),
        # kernel/module/signing.c, security/lockdown/lockdown.c and what the kernel answers to modprobe
        Form(
            "kernel line",
            r"(?P<value>.{0,120}(?:module with (?:unsupported crypto|unavailable key) is rejected|unsigned module is rejected|PKCS#7 signature not signed"
            r"|unsigned module loading is restricted|Key was rejected by service|Required key not available).{0,100})",
            Rank.LOG,
        ),
        Form("module", rf"this kernel module has the version {VERSION}"),
        Form("libraries", rf"API mismatch: the client has the version {VERSION}"),
        # since 570 it names the client too
        Form("libraries", rf"NVRM:\s{{1,4}}has the version {VERSION}, but this kernel module has"),
        Form("module", rf"NVRM:\s{{1,4}}the version {VERSION}\.(?:\s|$)"),
        # nvidia_init_module and its kin in kernel-open/nvidia/nv.c of https://github.com/NVIDIA/open-gpu-kernel-modules
        Form("module", rf"NVRM: loading NVIDIA UNIX .{{0,60}}?Kernel Module .{{0,30}}?{VERSION}", Rank.LOG),
        Form("flavour", r"NVRM: loading NVIDIA UNIX (?P<value>(?:\w{3,10} )?Kernel Module)", Rank.LOG),
    ),
    of_kernel=True,
)
