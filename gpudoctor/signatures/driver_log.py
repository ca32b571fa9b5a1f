"""What the NVIDIA driver, nvidia-smi and the fabric manager say about a faulty GPU or fabric."""

from __future__ import annotations

from gpudoctor.signatures.phrases import smi_status_pattern
from gpudoctor.signatures.signature import Signature

_XID_PREFIX = r"(?:\bXid \([^)\n]{1,100}\): |XidCriticalError: Xid=)"
"""How the driver's kernel log lines begin, and the device plugin's: https://docs.nvidia.com/deploy/xid-errors/"""

_PCI_PLACE = r"[0-9a-f]{2}:[0-9a-f]{2}\.\d"
_LARGE_SIZE = r" 0x[1-9a-f][0-9a-f]{7,}"
_BAR_WITHOUT_ADDRESS = r"BAR [0-5](?: \[mem size{size}[^\]\n]{{0,60}}\])?: (?:can't assign; no space|(?:no space for|failed to assign) \[mem size{size}|failed to assign$)"
"""How the kernel says that a window of a device has no address."""

# The other lines were read in https://github.com/NVIDIA/open-gpu-kernel-modules and in nvidia-smi 550.163.01, unless noted.
DRIVER_LOG = (
    Signature(
        rf"{_XID_PREFIX}79\b|(?<![A-Za-z])(?i:xid)(?: error| code)?:? {{0,2}}79(?!\d)|GPU has fallen off (?:of )?the bus|(?i:\b(?:gpus?|cards?|nvrm|xid)\b[^\n]{{0,30}}\b(?:falls?|fell|fallen|falling|felt) (?:of|off|out)(?: of)? (?:the )?(?:pcie? )?bus\b)|fallen off the bus and is not responding to commands",
        ("gpu-fell-off-bus",),
        "the GPU has fallen off the bus",
        ("NVRM: Xid (PCI:0000:1f:00): 79, GPU has fallen off the bus.", "fallen off the bus and is not responding to commands."),
    ),
    Signature(
        rf"{_XID_PREFIX}(?:48|9[45]|140|17[12])\b|(?<![A-Za-z])(?i:xid)(?: error| code)?:? {{0,2}}(?:48|9[45])(?!\d)",
        ("ecc-hardware-error",),
        "the GPU's memory had an uncorrectable error",
        ("NVRM: Xid (PCI:0000:1f:00): 48, An uncorrectable double bit error (DBE) has been detected",),
    ),
    Signature(
        r"Row Remapper Error: ",
        ("row-remap-failed",),
        "the GPU failed to remap a bad memory row",
        ("NVRM: Xid (PCI:0000:07:00): 64, Row Remapper Error: (0x0000000018f31d80) - All reserved rows for bank are remapped",),
    ),
    Signature(
        r"Row Remapper: New row (?:\(0x[0-9a-f]{1,16}\) )?marked for remapping",
        ("row-remap-pending",),
        "the GPU needs a reset to remap a bad memory row",
        ("NVRM: Xid (PCI:0000:07:00): 63, Row Remapper: New row (0x0000000018f31d80) marked for remapping, reset gpu to activate.",),
    ),
    # GPUs before Ampere retire pages instead, with the same numbers
    Signature(
        r"Dynamic Page Retirement: New page retired",
        ("pages-retirement-pending",),
        "the GPU needs a reset to retire a bad memory page",
        ("NVRM: Xid (PCI:0000:3b:00): 63, Dynamic Page Retirement: New page retired, reboot to activate (0x00000000002a41c7).",),
    ),
    Signature(
        rf"{_XID_PREFIX}63\b(?![^\n]{{0,60}}Dynamic Page)|(?<![A-Za-z])(?i:xid)(?: error| code)?:? {{0,2}}63(?!\d)",
        ("row-remap-pending",),
        "the GPU takes bad memory out of use",
        ("NVRM: Xid (PCI:0000:07:00): 63, pid=2204, name=python3",),
    ),
    Signature(
        rf"{_XID_PREFIX}64\b|(?<![A-Za-z])(?i:xid)(?: error| code)?:? {{0,2}}64(?!\d)|Dynamic Page Retirement: Fatal error",
        ("row-remap-failed",),
        "the GPU could not take bad memory out of use",
        ("NVRM: Xid (PCI:0000:07:00): 64, pid=2204, name=python3",),
    ),
    Signature(
        rf"{_XID_PREFIX}(?:119|120)\b|(?<![A-Za-z])(?i:xid)(?: error| code)?:? {{0,2}}(?:119|120)(?!\d)|Cannot initialize GSP firmware RM|firmware load for nvidia/[\d.]{{1,20}}/gsp_\w{{1,20}}\.bin failed|unexpected WPR2 already up|failed to wait for GFW_BOOT"
        r"|RmInitAdapter: No firmware image found|GSP-RM proxy boot command failed|GSP-CrashCat Report|Rate limiting GSP RPC error prints|GSP_INIT_DONE RPC failed|NVRM: GPU\d{1,2} RPC (?:event )?history \(CPU|_kgspIsHeartbeatTimedOut: Heartbeat timed out|Back to back GSP RPC timeout|\*{8} GSP Timeout \*{8}",
        ("gsp-firmware-failure",),
        "the GPU's firmware (GSP) failed or stopped responding",
        (
            "NVRM: Xid (PCI:0000:0f:00): 119, Timeout after 6s of waiting for RPC response from GPU1 GSP!",
            "RmInitAdapter: Cannot initialize GSP firmware RM",
            "unexpected WPR2 already up, cannot proceed with booting GSP",
            "NVRM: GPU6 RPC history (CPU -> GSP):",
            "NVRM: GPU2 _kgspIsHeartbeatTimedOut: Heartbeat timed out, currentTimeMs 4411 heartbeat 881",
        ),
    ),
    Signature(
        rf"{_XID_PREFIX}54\b|GPU does not have the necessary power cables connected|Insufficient External Power|{smi_status_pattern(8)}",
        ("power-cable-missing",),
        "the GPU has no auxiliary power",
        ("GPU does not have the necessary power cables connected.", "Insufficient External Power"),
    ),
    Signature(
        r"This PCI I/O region assigned to your NVIDIA device is invalid|NVRM: BAR\d is \d{1,6}M @ 0x0\b|NVRM: (?:No address space to allocate resized BAR1|FATAL: Failed to re-allocate BAR1|Fatal Error while attempting to resize PCIe BARs|request_mem_region failed for)|\bBAR ?[01] (?:is |was )?not assigned",
        ("pci-bar-not-assigned",),
        "a PCI BAR of the GPU has no address",
        ("NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:", "NVRM: Fatal Error while attempting to resize PCIe BARs."),
    ),
    # drivers/pci/setup-res.c, until and since 6.12; of other drivers' devices only windows of 256 MiB and more, as GPUs have
    Signature(
        rf"\bnvidia [0-9a-f]{{4}}:{_PCI_PLACE}: {_BAR_WITHOUT_ADDRESS.format(size='')}|\bpci [0-9a-f]{{4}}:{_PCI_PLACE}: {_BAR_WITHOUT_ADDRESS.format(size=_LARGE_SIZE)}",
        ("pci-bar-not-assigned",),
        "a PCI BAR of the GPU has no address",
        (
            "nvidia 0000:84:00.0: BAR 1 [mem size 0x800000000 64bit pref]: can't assign; no space",
            "pci 0000:41:00.0: BAR 1: no space for [mem size 0x400000000 64bit pref]",
        ),
        vague=True,
    ),
    # the stage that failed and its status, by osinit.c's rm_init_status and nvstatuscodes.h: 0x60 and above is firmware, 0xf a lost GPU, 0x56 not supported
    Signature(
        r"RmInitAdapter failed! \(0x6[0-9a-f]:",
        ("gsp-firmware-failure",),
        "the GPU's firmware (GSP) did not start",
        ("NVRM: GPU 0000:98:00.0: RmInitAdapter failed! (0x62:0x65:1792)",),
    ),
    Signature(
        r"RmInitAdapter failed! \(0x[0-5][0-9a-f]:0xf:",
        ("gpu-fell-off-bus",),
        "the GPU stopped responding while the driver started it",
        ("NVRM: GPU 0000:41:00.0: RmInitAdapter failed! (0x24:0xf:1589)",),
    ),
    # https://github.com/NVIDIA/open-gpu-kernel-modules/issues/862
    Signature(
        r"RmInitAdapter failed! \(0x22:0x56:",
        ("gpu-too-new-for-driver", "pci-bar-not-assigned"),
        "the driver cannot attach to this GPU: it needs the open kernel modules or a newer driver, or the firmware gave its BAR no address",
        ("NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)",),
        tells="cat /proc/driver/nvidia/version; sudo dmesg | grep -A6 'NVRM: The NVIDIA GPU'; lspci -vs 01:00.0 | grep Region",
    ),
    # kernel-open/nvidia/nv.c and nv-pci.c; NVML's status 11
    Signature(
        r"Can't find an IRQ for your NVIDIA card|NVRM:[^\n]{0,40} Tried to get IRQ \d|No interrupts of any type are available\. Cannot use this GPU|NVML: Interrupt Request Issue|NVMLError_IrqIssue|NVML_ERROR_IRQ_ISSUE",
        ("gpu-not-responding",),
        "the GPU's interrupts do not work",
        ("NVRM: Can't find an IRQ for your NVIDIA card!", "pynvml.NVMLError_IrqIssue: Interrupt Request Issue"),
    ),
    # drivers/pci/pci.c and pcie/err.c: the device does not answer, or its link had a fatal error
    Signature(
        rf"\bnvidia [0-9a-f]{{4}}:{_PCI_PLACE}: (?:Unable to change power state from D3cold|can't change power state from D3cold|not ready \d{{1,6}}ms after|AER: can't recover|PCIe Bus Error: severity=Uncorrect(?:ed|able) \(Fatal\))",
        ("gpu-fell-off-bus",),
        "the GPU does not answer on the PCIe bus",
        (
            "nvidia 0000:01:00.0: Unable to change power state from D3cold to D0, device inaccessible",
            "nvidia 0000:65:00.0: AER: can't recover (no error_detected callback)",
        ),
    ),
    # lspci -vv: half of 16 lanes is common, as a board that splits its lanes gives
    Signature(
        r"LnkSta:[^\n]{0,80}\bWidth x[124] \(downgraded\)",
        ("pcie-link-degraded",),
        "the PCIe link has fewer lanes than device and slot allow",
        ("LnkSta: Speed 8GT/s, Width x4 (downgraded)",),
        vague=True,
    ),
    # drivers/pci/pci.c, pcie_report_downtraining(), and nvidia-smi -q
    Signature(
        r"limited by [\d.]{1,5} GT/s (?:PCIe )?x[124] link at [^\n]{1,40}\(capable of [^\n]{1,40} x16 link\)|Replays Since Reset\s{0,40}: [1-9]\d{3,}|Replay Number Rollovers\s{0,40}: [1-9]",
        ("pcie-link-degraded",),
        "the PCIe link has few lanes or repeats its packets",
        (
            "7.876 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x4 link at 0000:00:1b.4 (capable of 126.016 Gb/s with 8.0 GT/s PCIe x16 link)",
            "        Replays Since Reset               : 20417",
        ),
        vague=True,
    ),
    Signature(
        r"(?i)\bpci[- ]?e?x?(?:press)?\b[^\n]{0,60}\bx(?:1|2|4|8)\b[^\n]{0,40}\b(?:instead of|rather than|not|should be|expected)\b[^\n]{0,12}\bx(?:8|16)\b|\bpcie\.link\.width\.current\b[^\n,]{0,12}\b(?:1|2|4)\b"
        r"|(?i:\blink width\b[^\n]{0,30}\b(?:only |stuck at )x?(?:1|2|4|8)x?\b)",
        ("pcie-link-degraded",),
        "the PCIe link has fewer lanes than device and slot allow",
        ("the second card runs at PCIe Gen4 x4 instead of x16",),
        vague=True,
    ),
    # nvidia-smi -q -d ROW_REMAPPER
    Signature(
        r"Remapping Failure Occurred\s{0,40}: Yes",
        ("row-remap-failed",),
        "the GPU failed to remap a bad memory row",
        ("        Remapping Failure Occurred        : Yes",),
    ),
    Signature(
        r"NVRM: No NVIDIA (?:GPU|graphics adapter) found",
        ("no-gpu", "driver-too-new-for-gpu", "gpu-too-new-for-driver", "nouveau-loaded", "vfio-bound", "nova-loaded"),
        "the driver found no NVIDIA GPU",
        ("NVRM: No NVIDIA GPU found.",),
    ),
    # kernel-open/nvidia/nv.c: there are GPUs, and none was offered to the driver
    Signature(
        r"NVRM: No NVIDIA (?:graphics adapter|devices) probed",
        ("nouveau-loaded", "vfio-bound", "nova-loaded", "driver-too-new-for-gpu", "gpu-too-new-for-driver"),
        "there is an NVIDIA GPU that the driver did not get, as another driver is bound to it",
        ("NVRM: No NVIDIA devices probed.",),
        tells="lspci -nnk -d 10de:",
    ),
    Signature(
        rf"{_XID_PREFIX}(?:74|14[4-9]|150)\b|\b(?i:xid)(?: error| code)?:? {{0,2}}(?:74|14[4-9]|150)\b|NVLink: fatal error detected on link",
        ("nvlink-errors",),
        "an NVLink had errors",
        ("NVLink: fatal error detected on link 5(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",),
    ),
    # nvidia-smi nvlink -e of 470 to 550; a link repeats a few packets in its life
    Signature(
        r"Link \d{1,2}: (?:(?:Replay|CRC) Errors: [1-9]\d{2,}|Recovery Errors: [1-9])",
        ("nvlink-errors",),
        "an NVLink had errors",
        ("\t Link 3: CRC Errors: 90211", "\t Link 3: Recovery Errors: 7"),
        vague=True,
    ),
    # nvidia-smi conf-compute -grs
    Signature(
        r"Confidential Compute GPUs Ready state: not-ready",
        ("confidential-computing-not-ready",),
        "the GPU waits for attestation",
        ("Confidential Compute GPUs Ready state: not-ready",),
    ),
    Signature(
        r"SXid \([^)\n]{1,100}\): \d{5}, Fatal",
        ("nvswitch-fatal-error",),
        "an NVSwitch had a fatal error",
        ("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",),
    ),
    # https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
    Signature(
        r"fabric manager NVIDIA GPU driver interface version \S{1,40} do(?:es)?n.t match with driver version",
        ("fabric-manager-version-mismatch",),
        "fabric manager and driver have different versions",
        ("fabric manager NVIDIA GPU driver interface version 550.54.15 don't match with driver version 550.163.01.",),
    ),
    Signature(
        rf"infoROM is corrupted(?: at gpu|$)|NVML: Corrupted infoROM|NVML_ERROR_CORRUPTED_INFOROM|NVMLError_CorruptedInforom|{smi_status_pattern(14)}",
        ("inforom-corrupt",),
        "the GPU's infoROM is corrupt",
        ("WARNING: infoROM is corrupted at gpu 0000:07:00.0", "pynvml.NVMLError_CorruptedInforom: infoROM is corrupted"),
    ),
    Signature(
        r"Unable to determine the device handle for (?:GPU|gpu)[^\n]{0,60}: GPU requires reset|NVML: GPU requires reset|GPU recovery action changed from [^\n]{1,40} to 0x[1-9a-f]\d{0,2} \((?!None)|NVML_ERROR_RESET_REQUIRED|NVMLError_ResetRequired|\[NV_ERR_RESET_REQUIRED\]|\bXid\W{0,3}154\b[^\n]{0,24}\bGPU Reset Required",
        ("gpu-requires-reset",),
        "the GPU needs a reset",
        (
            "Unable to determine the device handle for GPU0000:07:00.0: GPU requires reset",
            "pynvml.NVMLError_ResetRequired: GPU requires reset",
            "NVRM: nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062)",
            "Xid 154 (GPU Reset Required)",
        ),
    ),
    # https://github.com/NVIDIA/open-gpu-kernel-modules/issues/387
    Signature(
        r"Unable to determine the device handle for (?:GPU|gpu)",
        ("gpu-fell-off-bus", "gpu-count-mismatch", "gpu-requires-reset"),
        "the driver lists a GPU that it cannot open",
        ("Unable to determine the device handle for GPU0000:1F:00.0: Unknown Error",),
    ),
)
