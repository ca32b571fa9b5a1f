"""No file content makes a reader raise, or write a snapshot that cannot be read back."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.probe import files
from gpudoctor.probe.container import container
from gpudoctor.probe.device_nodes import device_nodes
from gpudoctor.probe.frameworks import frameworks
from gpudoctor.probe.host import host, names_by_id
from gpudoctor.probe.kernel_driver import kernel_driver
from gpudoctor.probe.kernel_side import with_kernel_side
from gpudoctor.probe.packages import MAX_REQUIRING, installed_packages, parse_metadata_name
from gpudoctor.probe.pci import pci
from gpudoctor.probe.python_constants import FileConstants
from gpudoctor.probe.surroundings import with_surroundings
from gpudoctor.probe.variables import relevant_variables
from gpudoctor.probe.wsl import wsl
from gpudoctor.redact import Redactor, ReportOwner
from gpudoctor.snapshot import Cause, Missing, Snapshot, Variables, decode_snapshot, encode_snapshot, normalise_address
from gpudoctor.snapshot.gaps import missing_values
from tests.probe.places import plant

PCI = "/sys/bus/pci/devices/0000:07:00.0"
PLACES = (
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/arch",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/group",
    "/proc/self/cgroup",
    "/proc/self/mountinfo",
    "/proc/1/environ",
    "/run/systemd/container",
    "/proc/driver/nvidia/version",
    "/proc/driver/nvidia/gpus/0000:07:00.0/information",
    "/sys/module/nvidia/version",
    "/etc/ld.so.cache",
    "/etc/docker/daemon.json",
    "/etc/cdi/nvidia.yaml",
    "/etc/ld.so.conf.d/ld.wsl.conf",
    "/proc/self/limits",
    "/proc/meminfo",
    "/run/host/container-manager",
    "/var/lib/dpkg/status",
    "/var/lib/rpm/rpmdb.sqlite",
    "/proc/cpuinfo",
    "/proc/cmdline",
    "/proc/uptime",
    "/etc/ld.so.preload",
    "/etc/nv_tegra_release",
    "/etc/containers/systemd/train.container",
    "/sys/class/dmi/id/product_name",
    "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm",
    "/proc/driver/nvidia/params",
    "/var/gpus",
    "/dev/nvidia0",
    *(f"{PCI}/{name}" for name in ("vendor", "device", "class", "current_link_width", "max_link_speed")),
)
NEAR = st.sampled_from(
    [
        b"0x10de\n", b"0x030200\n", b"16\n", b"16.0 GT/s PCIe\n", b"nan", b"1e999", b"-5", b"0x-5", b"9" * 400, "٣".encode(), b"\0", b"a\xffb",
        b"NVRM version: NVIDIA UNIX x86_64 Kernel Module  \xff.1  ", b"Device Minor: x\nModel:\n", b"ID=\nVERSION_ID", b":" * 40, b"x:x:9:\n" * 9,
        b"glibc-ld.so.cache1.1\0/\xff/libcuda.so.1\0", b"[" * 9000, b'{"runtimes": 1}', b"kind: \xff", b"Max open files  x", b"MemTotal:",
        b"Package: libcuda1\nStatus: install ok installed\n\n", b"1 2 3:4 / /usr/lib/libcuda.so. - \n",
    ]
)  # fmt: skip
CONTENT = st.one_of(st.binary(max_size=200), NEAR)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(PLACES), CONTENT))
def test_any_content_of_any_file(contents: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = plant(
            Path(folder),
            {
                "/proc/x": b"",
                "/usr/bin/podman": b"",
                f"{PCI}/vendor": b"0x10de",
                f"{PCI}/device": b"0x1",
                f"{PCI}/class": b"0x030000",
                **contents,
            },
        )
        snapshot = Snapshot(
            created="",
            host=host(root, {}, identify=True),
            container=container(root, {}),
            pci=pci(root),
            kernel_driver=kernel_driver(root),
            device_nodes=device_nodes(root),
        )
        snapshot = with_surroundings(snapshot, root, {"PBS_JOBID": "1", "PBS_GPUFILE": "/var/gpus"})
        snapshot = msgspec.structs.replace(snapshot, wsl=wsl(root))
    assert decode_snapshot(encode_snapshot(snapshot)) == snapshot
    redacted = Redactor(ReportOwner(homes=("/home/alice",), user="alice", users=("alice",))).struct(snapshot)
    assert decode_snapshot(encode_snapshot(redacted)) == redacted


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=300),
        st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")),
        st.sampled_from(
            [b"(" * 5000, b"cuda = '\\ud800'", b"cuda = " + b"-" * 9000 + b"1", b"build_info = {1: 2}", b"cuda_version = b'x'"]
        ),
    )
)
def test_any_build_file(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        plant(
            Path(folder), {"/torch/version.py": content, "/tensorflow/python/platform/build_info.py": content, "/jax/version.py": content}
        )
        found = frameworks([folder], ())
        assert [framework.name for framework in found] == ["tensorflow", "torch", "jax"]
        snapshot = Snapshot(created="", frameworks=found)
    assert decode_snapshot(encode_snapshot(snapshot)) == snapshot


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.binary(min_size=1, max_size=40).filter(lambda name: b"/" not in name and b"\0" not in name and name not in (b".", b"..")),
        max_size=5,
    )
)
def test_any_name_in_site_packages(names: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            (Path(folder) / os.fsdecode(b"torch-" + name + b".dist-info")).mkdir(exist_ok=True)
        found = installed_packages([folder])
    snapshot = Snapshot(created="", packages=found)
    assert decode_snapshot(encode_snapshot(snapshot)) == snapshot


@given(st.text(max_size=60))
def test_any_folder_name_is_parsed_or_not(name: str) -> None:
    parsed = parse_metadata_name(name)
    assert parsed is None or all(isinstance(part, str) for part in parsed)


@given(st.text(max_size=40))
def test_normalising_any_address_is_idempotent(text: str) -> None:
    address = normalise_address(text)
    assert address is None or normalise_address(address) == address


@given(st.dictionaries(st.text(max_size=12).map("CUDA_".__add__), st.text(max_size=40)))
def test_any_environment(environ: dict[str, str]) -> None:
    undecodable = {name: value + os.fsdecode(b"\xff") for name, value in environ.items() if value.isascii() and name.isascii()}
    snapshot = Snapshot(created="", variables=Variables(values=relevant_variables(undecodable)))
    assert decode_snapshot(encode_snapshot(snapshot)) == snapshot


def test_address_formats_of_every_tool() -> None:
    for spelling in ("00000000:3B:00.0", "0000:3b:00.0", "3B:00.0", " 0000:3b:00.0\n", "0000:3b:00"):
        assert normalise_address(spelling) == "0000:3b:00.0"
    assert normalise_address("00010000:01:00.0") == "10000:01:00.0"
    for spelling in ("", "GPU-1", "0000:3b:20.0", "3b:00.9", "1:2:3:4.0", "zz:00.0"):
        assert normalise_address(spelling) is None


def test_special_files_do_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "big").write_bytes(b"x" * 1_000_000)
    assert len(str(files.read_text(str(tmp_path / "big")))) == files.MAX_BYTES
    for name, cause in (
        ("fifo", Cause.FAILED),
        ("loop", Cause.FAILED),
        (".", Cause.FAILED),
        ("none", Cause.ABSENT),
        ("big/x", Cause.ABSENT),
        ("a\0b", Cause.FAILED),
    ):
        found = files.read_text(str(tmp_path / name))
        assert isinstance(found, Missing)
        assert found.cause is cause


def test_account_numbers_are_numbers(tmp_path: Path) -> None:
    root = plant(tmp_path, {"/etc/group": "a:x:٣:\nb:x:-1:\nc:x:7:\nd:x:7:\ne:x:" + "9" * 5000 + ":\n"})
    assert names_by_id(root, "group") == {7: "c"}


def test_constants_of_a_missing_file_are_absent(tmp_path: Path) -> None:
    found = FileConstants(str(tmp_path / "none.py")).text("cuda")
    assert isinstance(found, Missing)
    assert found.cause is Cause.ABSENT


def test_numbers_of_any_length_crash_no_probe(tmp_path: Path) -> None:
    long = "9" * 5000
    files = {
        "/proc/devices": f"Character devices:\n{long} nvidia\n",
        "/sys/class/kfd/kfd/topology/nodes/0/properties": f"gfx_target_version {long}\n",
        "/proc/meminfo": f"MemTotal: {long} kB\n",
        "/proc/uptime": f"{long}.00 1.0\n",
        "/proc/cpuinfo": f"processor : {long}\n",
        "/sys/bus/pci/devices/0000:07:00.0/numa_node": f"{long}\n",
        "/sys/bus/pci/devices/0000:07:00.0/vendor": f"0x{long}\n",
        "/sys/bus/pci/devices/0000:07:00.0/resource": f"0x{long} 0x{long} 0x{long}\n",
    }
    root = plant(tmp_path, files)
    kernel_driver(root)
    pci(root)
    host(root, {}, identify=False)
    seen = with_kernel_side(with_surroundings(Snapshot(created=""), root, {}), root)
    assert [gap for gap in missing_values(seen) if gap.cause is Cause.CRASHED] == []


def test_sizes_of_any_length_are_not_compared(tmp_path: Path) -> None:
    for version in ("2.5.0", "2.6.0"):
        plant(tmp_path, {f"torch-{version}.dist-info/RECORD": f"torch/__init__.py,sha256=x,{'9' * 5000}\n"})
    assert len(installed_packages([str(tmp_path)]).distributions) + len(installed_packages([str(tmp_path)]).leftovers) == 2


def test_requirements_are_read_of_a_limited_number_of_packages(tmp_path: Path) -> None:
    for number in range(MAX_REQUIRING + 5):
        plant(tmp_path, {f"cupy_{number}-1.0.dist-info/METADATA": "Requires-Dist: numpy\n"})
    requires = [distribution.requires for distribution in installed_packages([str(tmp_path)]).distributions]
    assert sum(isinstance(one, Missing) for one in requires) == 5
