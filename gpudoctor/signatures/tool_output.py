"""Output of ps, ldd, strace, df and others in which no line is an error, and one shows the fault."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

_NVIDIA = r"(?:/\S{1,80}/)?nvidia-(?:smi|persistenced|modprobe|powerd|debugdump|bug-report\S{0,4}|fabricmanager|docker-plugin|container-\w{1,12}|cuda-\S{1,20})"
_STUB = r"/[^\s\"':]{1,200}/stubs/libcuda\.so(?:\.1)?"
_FULL_PART = r"\s{1,20}(?:8[5-9]|9\d|100)%\s{1,4}/dev/shm\s{0,4}$"

TOOL_OUTPUT = (
    # ps aux, ps -l, ps -eo pid,stat,wchan,cmd and top: D is uninterruptible sleep, and the driver's programs never sleep long
    Signature(
        rf"^\s{{0,8}}(?:[\w.+-]{{1,32}}\s{{1,12}})?\d{{1,8}}\s[^\n]{{0,70}}?\bD[<NLsl+]{{0,4}}\s[^\n]{{0,60}}?(?<!\S){_NVIDIA}(?:\s|$)|^\d D \S{{1,32}}\s{{1,12}}\d{{1,8}}\s[^\n]{{0,80}}(?<!\S){_NVIDIA}(?:\s|$)",
        ("driver-hung",),
        "a call into the driver does not return",
        (
            "root        1201  0.0  0.0  17284  4980 ?        D    09:14   0:00 /usr/bin/nvidia-smi",
            " 2210 D    rwsem_down_write_slo nvidia-smi -L",
            " 8812 root      20   0   34912   5120   4096 D   0.0   0.0   0:00.03 nvidia-smi",
        ),
        tells="sudo dmesg -T | grep -E 'NVRM|Xid|blocked for more than'",
    ),
    # sched_show_task() of kernel/sched/core.c until and since 5.15; the frames below it show whether the driver waits
    Signature(
        r"\btask:\S{1,20}\s{1,16}state:D\s|^\s{0,4}\S{1,16}\s{1,16}D(?: [0-9a-f]{8,16})?\s{1,8}\d{1,3}\s{1,8}\d{1,8}\s{1,8}\d{1,8} 0x[0-9a-f]{8}",
        ("driver-hung",),
        "a call into the driver does not return",
        ("task:python3         state:D stack:    0 pid:40021 ppid:     1 flags:0x00004006",),
        vague=True,
        needs_support=True,
    ),
    # /proc/PID/stack: a process that sleeps in the driver
    Signature(
        r"\[<[0-9a-f]{1,16}>\] \S{1,80}\+0x[0-9a-f]{1,6}/0x[0-9a-f]{1,6} \[nvidia(?:_uvm)?\]",
        ("driver-hung",),
        "a process waits in the driver",
        ("[<0>] os_acquire_mutex+0x37/0x50 [nvidia]",),
        vague=True,
    ),
    # ldd, ldconfig -p, /proc/PID/maps, strace, LD_DEBUG=libs, numba's cuda.cudadrv.libs.test() and errors of dlopen and dlsym
    Signature(
        rf"\blibcuda\.so(?:\.1(?: \([^)\n]{{1,30}}\))?)? => {_STUB}|\b[rwxps-]{{4}} [0-9a-f]{{8}} \S{{1,8}} \d{{1,12}}\s{{1,40}}{_STUB}|\bopen(?:at)?\([^\n]{{0,20}}\"{_STUB}\"[^\n]{{0,60}}\) = \d"
        rf"|\b(?:calling init: |Loaded from |Mapped libcuda\.so paths: {{1,20}}){_STUB}|{_STUB}: undefined symbol",
        ("libcuda-is-stub",),
        "the CUDA toolkit's stub is loaded instead of libcuda",
        (
            "libcuda.so.1 => /usr/local/cuda/lib64/stubs/libcuda.so.1 (0x00007f3a1c000000)",
            'openat(AT_FDCWD, "/opt/cuda/lib64/stubs/libcuda.so", O_RDONLY|O_CLOEXEC) = 3',
            "AttributeError: /opt/cuda/lib64/stubs/libcuda.so: undefined symbol: cuInit_v2",
        ),
    ),
    # df: size, used, available, use
    Signature(
        rf"^\S{{1,40}}\s{{1,40}}(?:\d{{1,6}}(?:\.\d)?[KM]|[0-3](?:\.\d)?G|\d{{1,7}})\s{{1,20}}\S{{1,12}}\s{{1,20}}\S{{1,12}}{_FULL_PART}",
        ("container-shm-too-small",),
        "shared memory (/dev/shm) is small and almost full",
        ("shm              64M   61M  3.0M  96% /dev/shm",),
        last=True,
    ),
    Signature(
        r"DataLoader worker \(pid[^\n]{0,60}\) exited unexpectedly|\bdata ?loaders?'?s? workers?\b[^\n]{0,40}\b(?:zombies?|defunct|die|died|dead)\b",
        ("container-shm-too-small",),
        "shared memory (/dev/shm) is too small for the data loader's workers",
        ("RuntimeError: DataLoader worker (pid(s) 211) exited unexpectedly",),
        vague=True,
        last=True,
        needs_support=True,
    ),
    # what gpudoctor reads of several lines: gpudoctor/read/readers/across_lines.py
    Signature(
        r"\bthe CDI specification names [^\n]{1,80}, the host has \d",
        ("container-cdi-spec-stale",),
        "the CDI specification is of another driver release than the host's",
        ("the CDI specification names driver 550.54.14, the host has 560.35.03",),
    ),
    Signature(
        r"\bACSCtl of a PCIe bridge is [0-9a-f]{4}",
        ("nccl-p2p-acs-iommu",),
        "ACS redirects the traffic between GPUs, so transfers hang or are slow",
        ("ACSCtl of a PCIe bridge is 001d: it redirects peer-to-peer traffic",),
        vague=True,
    ),
)
