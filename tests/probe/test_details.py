"""The machine around its GPUs, its packages and preloads."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest

from gpudoctor.probe.details import details
from gpudoctor.probe.inventory import ProbeScope
from gpudoctor.probe.kernel_driver import kernel_driver
from gpudoctor.probe.preloads import preloaded_libraries
from gpudoctor.probe.system_packages import system_packages
from gpudoctor.snapshot import Board, Cause, Cpu, Details, Fact, KernelDriver, Memory, Missing, SystemPackages
from tests.machines.packages import Package
from tests.probe.places import look, plant

DMI = "/sys/class/dmi/id"
RPMDB = Path(__file__).parent / "rpmdb.sqlite.gz"
"""A database of five packages, made by rpm 4.18."""


def of(root: Path, files: dict[str, str | bytes]) -> Details:
    return details(plant(root, {"/proc/x": "", **files}))


def test_processor_memory_board_and_uptime(tmp_path: Path) -> None:
    found = of(
        tmp_path,
        {
            "/proc/cpuinfo": "processor\t: 0\nmodel name\t: AMD EPYC 7763 64-Core Processor\nflags\t\t: fpu sse4_2 avx2 avx fma\n\nprocessor\t: 1\n",
            "/proc/meminfo": "MemTotal:       1056612340 kB\nMemAvailable:   1030000000 kB\nSwapTotal:       8388604 kB\nSwapFree:        8388604 kB\n",
            "/proc/uptime": "913.53 1440.49\n",
            f"{DMI}/sys_vendor": "Supermicro\n",
            f"{DMI}/product_name": "SYS-420GP-TNAR\n",
            f"{DMI}/board_name": "X12DGO-6\n",
            f"{DMI}/bios_vendor": "AMI\n",
            f"{DMI}/bios_version": "2.1\n",
            f"{DMI}/bios_date": "08/31/2025\n",
            f"{DMI}/product_serial": "S412345X\n",
            f"{DMI}/board_serial": "B-SERIAL\n",
            f"{DMI}/product_uuid": "4c4c4544-0042\n",
        },
    )
    assert isinstance(found.cpu, Cpu)
    assert (found.cpu.model, found.cpu.flags) == ("AMD EPYC 7763 64-Core Processor", ("sse4_2", "avx", "avx2", "fma"))
    assert found.memory == Memory(1056612340 << 10, 1030000000 << 10, 8388604 << 10, 8388604 << 10)
    assert found.uptime == 913.53
    assert found.board == Board("Supermicro", "SYS-420GP-TNAR", "X12DGO-6", "AMI", "2.1", "08/31/2025")
    assert not any(word in repr(found) for word in ("S412345X", "B-SERIAL", "4c4c4544"))


def test_arm_names_its_processor_by_numbers_and_its_board_in_the_device_tree(tmp_path: Path) -> None:
    text = "processor\t: 0\nFeatures\t: fp asimd sve bf16\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"
    found = of(tmp_path, {"/proc/cpuinfo": text, "/proc/device-tree/model": b"NVIDIA Jetson AGX Orin Developer Kit\0"})
    assert found.cpu.model == "ARM implementer 0x41 part 0xd4f"
    assert found.cpu.flags == ("asimd", "sve", "bf16")
    assert isinstance(found.board, Board)
    assert found.board.product == "NVIDIA Jetson AGX Orin Developer Kit"


def test_only_known_kernel_parameters_are_kept(tmp_path: Path) -> None:
    line = (
        "BOOT_IMAGE=/vmlinuz root=UUID=5f-1 nokaslr intel_iommu=on nvidia-drm.modeset=1 ds=nocloud;password=hunter2 "
        "inst.ks=https://user:secret@host/ks token=abcdef0123456789 rd.luks.key=/k systemd.set_credential=x:y iommu=pt\n"
    )
    found = of(tmp_path, {"/proc/cmdline": line}).kernel_parameters
    assert isinstance(found, tuple)
    assert [(parameter.name, parameter.value) for parameter in found] == [
        ("nokaslr", ""),
        ("intel_iommu", "on"),
        ("nvidia-drm.modeset", "1"),
        ("iommu", "pt"),
    ]


def test_missing_details_are_named(tmp_path: Path) -> None:
    found = of(tmp_path, {})
    for value in (found.cpu.model, found.cpu.flags, found.memory.total, found.board, found.uptime, found.kernel_parameters):
        assert isinstance(value, Missing)
        assert value.cause is Cause.ABSENT


def test_parameters_of_the_nvidia_modules(tmp_path: Path) -> None:
    files = {
        "/proc/driver/nvidia/params": 'DeviceFileMode: 438\nRegistryDwords: ""\n',
        "/sys/module/nvidia/version": "550.163.01\n",
        "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm": "N\n",
        "/sys/module/nouveau/parameters/modeset": "-1\n",
    }
    found = kernel_driver(plant(tmp_path, files))
    assert isinstance(found, KernelDriver)
    assert isinstance(found.parameters, tuple)
    assert {(parameter.name, parameter.value) for parameter in found.parameters} == {
        ("nvidia.DeviceFileMode", "438"), ("nvidia.RegistryDwords", '""'), ("nvidia_uvm.uvm_disable_hmm", "N"),
    }  # fmt: skip


def named(section: SystemPackages | Missing) -> dict[str, str]:
    assert isinstance(section, SystemPackages)
    assert isinstance(section.packages, tuple)
    return {package.name: package.version for package in section.packages}


def test_gpu_packages_of_debian(tmp_path: Path) -> None:
    stanzas = (
        ("nvidia-driver", "install ok installed", "535.247.01-1~deb12u1"),
        ("libcuda1", "install ok installed", "535.247.01-1~deb12u1"),
        ("nvidia-smi", "deinstall ok config-files", "525.1"),
        ("cuda-toolkit-12-8", "install ok installed", "12.8.1-1"),
        ("bash", "install ok installed", "5.2"),
        ("podman", "hold ok installed", "4.3.1+ds1-8+deb12u1"),
    )
    text = "".join(
        f"Package: {name}\nStatus: {status}\nPriority: optional\nVersion: {version}\nDescription: x\n Version: 9\n .\n more\n\n"
        for name, status, version in stanzas
    )
    found = system_packages(plant(tmp_path, {"/var/lib/dpkg/status": text}))
    assert named(found) == {
        "nvidia-driver": "535.247.01-1~deb12u1",
        "libcuda1": "535.247.01-1~deb12u1",
        "cuda-toolkit-12-8": "12.8.1-1",
        "podman": "4.3.1+ds1-8+deb12u1",
    }


@pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="this machine has no dpkg")
def test_versions_agree_with_dpkg() -> None:
    for name, version in named(system_packages("/")).items():
        told = subprocess.run(["dpkg-query", "-W", "-f", "${Version} ", name], capture_output=True, text=True, check=True).stdout
        assert version in told.split()


def test_the_rpm_database_is_read_without_rpm(tmp_path: Path) -> None:
    root = plant(tmp_path, {"/var/lib/rpm/rpmdb.sqlite": gzip.decompress(RPMDB.read_bytes())})
    found = system_packages(root)
    assert named(found) == {
        "libcudnn9-cuda-12": "9.10.2.21-1",
        "nvidia-container-toolkit": "1.17.8-1",
        "nvidia-driver-cuda": "3:580.65.06-1.fc42",
        "podman": "5:5.4.2-1.fc42",
    }


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0garbage", b"\xff" * 4096])
def test_a_damaged_database_is_missing(tmp_path: Path, content: bytes) -> None:
    found = system_packages(plant(tmp_path, {"/var/lib/rpm/rpmdb.sqlite": content}))
    assert isinstance(found, SystemPackages)
    assert isinstance(found.packages, Missing)
    assert found.packages.cause is Cause.FAILED


def test_a_damaged_header_does_not_crash(tmp_path: Path) -> None:
    data = bytearray(gzip.decompress(RPMDB.read_bytes()))
    place = data.find(b"580.65.06\0")
    while place >= 0:
        data[place : place + 9] = b"\xff" * 9
        place = data.find(b"580.65.06\0")
    assert isinstance(system_packages(plant(tmp_path, {"/var/lib/rpm/rpmdb.sqlite": bytes(data)})), SystemPackages)


def test_older_rpm_databases_are_reported_as_unreadable(tmp_path: Path) -> None:
    found = system_packages(plant(tmp_path, {"/var/lib/rpm/Packages": b"\0"}))
    assert isinstance(found, SystemPackages)
    assert isinstance(found.packages, Missing)
    assert found.packages.cause is Cause.UNSUPPORTED


def test_pacmans_folders(tmp_path: Path) -> None:
    place = "/var/lib/pacman/local"
    found = system_packages(
        plant(tmp_path, {f"{place}/nvidia-open-580.65.06-3/desc": "", f"{place}/bash-5.2-1/desc": "", f"{place}/ALPM_DB_VERSION": "9"})
    )
    assert named(found) == {"nvidia-open": "580.65.06-3"}


def test_no_package_manager_is_known(tmp_path: Path) -> None:
    found = system_packages(str(tmp_path))
    assert isinstance(found, Missing)
    assert found.cause is Cause.ABSENT


SOURCE = "int cuInit(unsigned f) { return 0; } int cuMemGetInfo_v2(void *a, void *b) { return 0; } int nvmlInit_v2(void) { return 0; }"


def shared(place: Path, source: str) -> str:
    subprocess.run(["gcc", "-x", "c", "-", "-shared", "-fPIC", "-o", str(place)], input=source.encode(), check=True)
    return str(place)


def test_a_preloaded_librarys_cuda_and_nvml_functions_are_listed(tmp_path: Path) -> None:
    fake, harmless = (
        shared(tmp_path / "libvgpu.so", SOURCE),
        shared(tmp_path / "libjemalloc.so.2", "void *malloc(unsigned long n) { return 0; }"),
    )
    found = preloaded_libraries(
        plant(tmp_path, {"/etc/ld.so.preload": f"# comment\n/libvgpu.so\n{harmless}\n"}), {"LD_PRELOAD": f"{harmless}:{fake} libname.so"}
    )
    assert [(preload.path, preload.where) for preload in found] == [
        (harmless, "LD_PRELOAD"), (fake, "LD_PRELOAD"), ("libname.so", "LD_PRELOAD"), ("/libvgpu.so", "/etc/ld.so.preload"),
    ]  # fmt: skip
    assert [preload.exports for preload in found[:2]] == [(), ("cuInit", "cuMemGetInfo_v2", "nvmlInit_v2")]
    assert isinstance(found[2].exports, Missing)
    assert found[3].exports == ("cuInit", "cuMemGetInfo_v2", "nvmlInit_v2")


@pytest.mark.parametrize("content", [b"", b"not a library", b"\x7fELF\x02\x01\x01" + b"\0" * 40, b"\x7fELF\x02\x01\x01" + b"\xff" * 400])
def test_an_invalid_preload_is_reported(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.so").write_bytes(content)
    (found,) = preloaded_libraries(str(tmp_path), {"LD_PRELOAD": str(tmp_path / "x.so")})
    assert isinstance(found.exports, Missing)


def test_the_whole_inventory_has_these_sections(tmp_path: Path) -> None:
    site = tmp_path / "packages"
    site.mkdir()
    Package("requests", "2.32.3").install(site)
    Package("torch", "2.6.0").install(site)
    (site / "torch-2.6.0.dist-info" / "WHEEL").write_text(
        "Wheel-Version: 1.0\nTag: cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64\nTag: cp311-cp311-manylinux_2_28_x86_64\n"
    )
    seen, _ = look(ProbeScope(), {"PATH": "/usr/bin", "PYTHONPATH": str(site)})
    assert not isinstance(seen.packages, Missing)
    torch = next(distribution for distribution in seen.packages.distributions if distribution.name == "torch")
    assert torch.tags == ("manylinux_2_17_x86_64", "manylinux2014_x86_64", "manylinux_2_28_x86_64")
    assert isinstance(seen.packages.others, tuple)
    assert "requests==2.32.3" in seen.packages.others
    assert not any(other.startswith("torch==") for other in seen.packages.others)
    assert isinstance(seen.details, Details)
    assert isinstance(seen.details.cpu.model, str)
    assert not isinstance(seen.python, Missing)
    assert isinstance(seen.python.headers, Fact | Missing)
    assert seen.preloads == ()
