"""Processor, memory, limits, services, Docker's runtimes and paths, and the causes that they decide. The first texts are of a real Debian."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Cause, ContainerTools, Details, FabricManager, Host, Limits, Missing, Platform, SharedMemory
from tests.read.mangled import mangled
from tests.read.reading import causes, is_read_or_refused, read

LSCPU = """\
Architecture:                            x86_64
CPU(s):                                  2
Vendor ID:                               AuthenticAMD
Model name:                              AMD EPYC
Flags:                                   fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ht syscall avx avx2 fma hypervisor
"""
FREE = "               total        used        free      shared  buff/cache   available\nMem:            23Gi       610Mi        13Gi       8.5Mi       9.6Gi        22Gi\n"
DF = "Filesystem      Size  Used Avail Use% Mounted on\ntmpfs            24G     0   24G   0% /dev/shm\n"
SMALL = DF.replace("tmpfs            24G     0   24G", "shm              64M     0   64M")
MOUNT = "shm on /dev/shm type tmpfs (rw,nosuid,nodev,noexec,relatime,size=65536k)\n"
ULIMIT = "open files                          (-n) 1024\nmax locked memory           (kbytes, -l) 8192\n"
MANAGER = """\
● nvidia-fabricmanager.service - NVIDIA fabric manager service
     Loaded: loaded (/lib/systemd/system/nvidia-fabricmanager.service; enabled; vendor preset: enabled)
     Active: {state} since Tue 2025-03-04 10:11:12 UTC; 3min ago
"""
RUNNING, FAILED = MANAGER.format(state="active (running)"), MANAGER.format(state="failed (Result: exit-code)")
NOT_READY = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized\n"
DOCKER = " Runtimes: io.containerd.runc.v2 {nvidia}runc\n Default Runtime: runc\n"
WITHOUT, WITH = DOCKER.format(nvidia=""), DOCKER.format(nvidia="nvidia ")
DAEMON = (
    '{\n    "default-runtime": "nvidia",\n    "runtimes": {\n        "nvidia": {\n            "path": "/usr/bin/nvidia-container-runtime"\n'
)
ALL = (LSCPU, FREE, DF, SMALL, MOUNT, ULIMIT, RUNNING, FAILED, WITHOUT, WITH, DAEMON, "MemTotal:       16308936 kB\n")


def test_processor_and_memory_are_read(matrix: Matrix) -> None:
    found = read(LSCPU + FREE, matrix).details
    assert isinstance(found, Details)
    assert found.cpu.model == "AMD EPYC"
    assert found.cpu.flags == ("avx", "avx2", "fma", "hypervisor")
    assert found.memory.total == 23 << 30
    meminfo = read("MemTotal:       16308936 kB\n", matrix).details
    assert isinstance(meminfo, Details)
    assert meminfo.memory.total == 16308936 << 10


def test_a_cut_list_of_features_states_nothing(matrix: Matrix) -> None:
    found = read("model name\t: Intel(R) Xeon(R)\nflags\t\t: fpu vme de pse\n", matrix).details
    assert isinstance(found, Details)
    assert isinstance(found.cpu.flags, Missing)


@pytest.mark.parametrize(
    ("text", "size"), [(DF, 24 << 30), (SMALL, 64 << 20), (MOUNT, 64 << 20), ("shm 65536 0 65536 0% /dev/shm\n", 64 << 20)]
)
def test_the_size_of_shared_memory_is_read(text: str, size: int, matrix: Matrix) -> None:
    found = read(text, matrix).limits
    assert isinstance(found, Limits)
    assert isinstance(found.shared_memory, SharedMemory)
    assert found.shared_memory.size == size


def test_limits_are_read(matrix: Matrix) -> None:
    found = read(ULIMIT, matrix).limits
    assert isinstance(found, Limits)
    assert (found.memlock, found.open_files) == (8 << 20, 1024)


@pytest.mark.parametrize(
    ("text", "running"), [(RUNNING, True), (FAILED, False), ("$ systemctl is-active nvidia-fabricmanager\ninactive\n", False)]
)
def test_the_state_of_the_fabric_manager_is_read(text: str, running: bool, matrix: Matrix) -> None:
    found = read(text, matrix).fabric_manager
    assert isinstance(found, FabricManager)
    assert found.running is running


def test_a_unit_that_is_not_found_is_absent(matrix: Matrix) -> None:
    found = read("Unit nvidia-fabricmanager.service could not be found.\n", matrix).fabric_manager
    assert isinstance(found, Missing)
    assert found.cause is Cause.ABSENT


@pytest.mark.parametrize(("text", "known"), [(WITHOUT, False), (WITH, True), (DAEMON, True)])
def test_the_runtimes_of_docker_are_read(text: str, known: bool, matrix: Matrix) -> None:
    found = read(text, matrix).container_tools
    assert isinstance(found, ContainerTools)
    assert found.runtime is known


@pytest.mark.parametrize(
    ("text", "platform"),
    [
        ('  File "C:\\Users\\al\\train.py", line 3, in <module>\nPython 3.11.4\n', Platform.WINDOWS),
        ('  File "/Users/al/train.py", line 3, in <module>\nPython 3.11.4\n', Platform.MACOS),
        ('  File "/home/al/train.py", line 3, in <module>\nPython 3.11.4\n', Platform.LINUX),
        ("Downloading torch-2.6.0-cp311-cp311-win_amd64.whl (204.2 MB)\n", Platform.WINDOWS),
        ("Using cached torch-2.6.0-cp311-none-macosx_11_0_arm64.whl\n", Platform.MACOS),
        ("/usr/lib/wsl/lib/libcuda.so.1\n", Platform.WSL2),
        ('OS platform: Windows 11\n  File "/mnt/c/Users/al/train.py", line 3, in <module>\n', Platform.WSL2),
    ],
)
def test_paths_show_the_platform(text: str, platform: Platform, matrix: Matrix) -> None:
    host = read(text, matrix).host
    assert isinstance(host, Host)
    assert host.platform is platform


def test_a_list_of_available_wheels_shows_no_platform(matrix: Matrix) -> None:
    host = read("wheels are available for: manylinux_2_28_x86_64, win_amd64\nPython 3.13.1\n", matrix).host
    assert isinstance(host, Host)
    assert isinstance(host.platform, Missing)


def test_a_service_that_runs_or_not_decides(matrix: Matrix) -> None:
    assert causes(FAILED + NOT_READY, matrix)[:1] == ["fabric-manager-missing"]
    assert causes(RUNNING + NOT_READY, matrix)[:1] != ["fabric-manager-missing"]


@pytest.mark.parametrize("text", [*ALL, SMALL + FREE, WITHOUT + LSCPU])
def test_a_healthy_text_has_no_finding(text: str, matrix: Matrix) -> None:
    assert causes(text, matrix) == []


@given(data=st.data())
def test_any_part_in_any_order_is_read(data: st.DataObject, matrix: Matrix) -> None:
    assert is_read_or_refused(data.draw(mangled("".join(ALL) + NOT_READY)), matrix)
