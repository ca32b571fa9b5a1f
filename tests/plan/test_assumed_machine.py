"""The assumed machine: what options state, what they may not, and that the rest is not stated."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.errors import UsageError
from gpudoctor.findings import Policy, Severity, Verdict
from gpudoctor.matrix.machine_rows import DriverBranch
from gpudoctor.matrix.rows import WheelTags
from gpudoctor.matrix.tables import DRIVERS, WHEEL_TAGS
from gpudoctor.plan import Combination, check_combination
from gpudoctor.plan.assumed_snapshot import snapshot_of_combination
from gpudoctor.snapshot import (
    Cause,
    Fact,
    Host,
    KernelDriver,
    Missing,
    Nvml,
    Platform,
    Python,
    Snapshot,
    Supposed,
    decode_snapshot,
    encode_snapshot,
)
from gpudoctor.versions import Version
from tests.plan.samples import NOW, checked
from tests.shipped import shared_matrix

MATRIX = shared_matrix()


def supposed(**fields: Any) -> Snapshot:
    return snapshot_of_combination(Combination(requirements=("torch==2.5.1",), **fields), MATRIX, NOW)


def gpus(**fields: Any) -> list[tuple[object, object]]:
    nvml = supposed(**fields).nvml
    assert isinstance(nvml, Nvml)
    assert isinstance(nvml.gpus, tuple)
    return [(gpu.name, gpu.compute_capability) for gpu in nvml.gpus]


def test_options_fill_the_sections_of_a_snapshot() -> None:
    snapshot = supposed(driver="535.104.05", gpus=("4090",), python="3.11.4", system_cuda="12.4", system_cudnn="8.9")
    assert (snapshot.origin, snapshot.created) == ("supposed", NOW)
    assert isinstance(snapshot.host, Host)
    assert (snapshot.host.platform, snapshot.host.architecture) == (Platform.LINUX, "x86_64")
    assert isinstance(snapshot.python, Python)
    assert (snapshot.python.executable, snapshot.python.version) == ("python3.11", "3.11.4")
    assert isinstance(snapshot.kernel_driver, KernelDriver)
    assert snapshot.kernel_driver.version == Fact("535.104.05", "--driver")
    assert isinstance(snapshot.toolkits, tuple)
    assert [toolkit.toolkit_cuda for toolkit in snapshot.toolkits] == [Fact("12.4", "--system-cuda")]
    assert snapshot.system_cudnn == Fact("8.9", "--system-cudnn")
    assert decode_snapshot(encode_snapshot(snapshot)) == snapshot


def test_unstated_sections_are_missing() -> None:
    snapshot = supposed()
    sections = {name: getattr(snapshot, name) for name in Snapshot.__struct_fields__}
    missing = {name for name, value in sections.items() if isinstance(value, Missing)}
    assert {"python", "kernel_driver", "toolkits", "system_cudnn", "pci", "libcuda", "smoke"} < missing
    assert all(sections[name].cause is Cause.NOT_STATED for name in missing)


def test_gpus_by_any_name_and_unknown_ones_by_capability() -> None:
    assert gpus(gpus=("rtx 4090",)) == [("NVIDIA GeForce RTX 4090", "8.9")]
    assert gpus(gpus=("4090", "Some Future GPU"), cc="8.9") == [("NVIDIA GeForce RTX 4090", "8.9"), ("Some Future GPU", "8.9")]
    ((name, capability),) = gpus(cc="6.1")
    assert (isinstance(name, Missing), capability) == (True, "6.1")
    ((name, capability),) = gpus()
    assert isinstance(name, Missing)
    assert isinstance(capability, Missing)
    assert supposed(os="macos").nvml == Missing(Cause.NOT_STATED, "not stated")


@pytest.mark.parametrize(
    ("fields", "platform", "architecture"),
    [
        ({}, Platform.LINUX, "x86_64"),
        ({"arch": "arm64"}, Platform.LINUX, "aarch64"),
        ({"os": "windows"}, Platform.WINDOWS, "x86_64"),
        ({"os": "windows", "arch": "AMD64"}, Platform.WINDOWS, "x86_64"),
        ({"os": "wsl"}, Platform.WSL2, "x86_64"),
        ({"os": "macos"}, Platform.MACOS, "arm64"),
        ({"os": "macos", "arch": "x86_64"}, Platform.MACOS, "x86_64"),
    ],
)
def test_systems_and_architectures(fields: dict[str, str], platform: Platform, architecture: str) -> None:
    host = supposed(**fields).host
    assert isinstance(host, Host)
    assert (host.platform, host.architecture) == (platform, architecture)


@pytest.mark.parametrize("gpu", ["Apple M1", "M3 Pro", "AMD Radeon Pro 5500M"])
def test_a_mac_has_a_gpu_of_another_vendor(gpu: str) -> None:
    snapshot = supposed(os="macos", gpus=(gpu,))
    assert isinstance(snapshot.nvml, Missing)
    assert isinstance(snapshot.supposed, tuple)
    assert Supposed("GPU", gpu, "--gpu") in snapshot.supposed


def test_assumptions_name_their_source() -> None:
    said = supposed(gpus=("V100-SXM2-16GB",), driver="535.104.05", python="3.11", os="wsl").supposed
    assert isinstance(said, tuple)
    by_name = {one.what: one for one in said}
    assert by_name["machine"] == Supposed("machine", "WSL 2 x86_64", "--os")
    assert by_name["GPU"].value.endswith("compute capability 7.0")
    assert by_name["GPU"].where.startswith("matrix: ")
    assert by_name["driver"].value == "535.104.05, which supports CUDA 12.2"


@pytest.mark.parametrize(
    ("branch", "system", "where"),
    [
        ("535", "linux", "--driver 535, newest release in the tables"),
        ("537", "windows", "--driver 537, newest release in the tables"),
        ("565", "linux", "--driver 565"),
        ("538", "windows", "--driver 538"),
    ],
)
def test_a_driver_branch_means_its_newest_release(branch: str, system: str, where: str) -> None:
    driver = supposed(driver=branch, os=system).kernel_driver
    assert isinstance(driver, KernelDriver)
    assert isinstance(driver.version, Fact)
    assert driver.version.value.partition(".")[0] == branch
    assert driver.version.where == where


def test_the_newest_release_of_a_branch_supports_the_cuda_of_the_branch() -> None:
    tables = shared_matrix()
    for row in tables.rows(DRIVERS):
        newest = tables.newest_driver(row.branch)
        floor = tables.driver_floor(row.cuda_served) if row.cuda_served else None
        if newest is not None and floor is not None and floor.exact is not None:
            assert newest >= floor.exact, row.branch


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"gpus": ("RTX 4091",)}, "did you mean 'NVIDIA GeForce RTX 40"),
        ({"gpus": ("Apple M2 Max",)}, "made by Apple; gpudoctor supports only NVIDIA GPUs; for a Mac state --os macos"),
        ({"gpus": ("Radeon RX 7900 XTX",)}, "made by AMD; gpudoctor supports only NVIDIA GPUs."),
        ({"gpus": ("zzzzzz",)}, "state its compute capability with --cc"),
        ({"gpus": ("4090",), "cc": "8.6"}, "--cc 8.6 contradicts --gpu '4090'"),
        ({"cc": "86."}, "--cc '86.' is not a compute capability"),
        ({"cc": "8"}, "write it with one dot: 8.6"),
        ({"kernel_module": "open"}, "state one with --driver"),
        ({"kernel_module": "open", "driver": "551.61", "os": "windows"}, "only drivers for Linux"),
        ({"kernel_module": "open", "driver": "470.256.02"}, "515 is the first that has"),
        ({"driver": "12.4"}, "--system-cuda"),
        ({"driver": "new"}, "as nvidia-smi shows it: 535.104.05"),
        ({"driver": "535.104.05.1"}, "is not a driver version"),
        ({"python": "3"}, "write 3.11 or 3.11.4"),
        ({"python": "4.1"}, "is not a Python version"),
        ({"python": "3.11; rm"}, "is not a Python version"),
        ({"os": "windows", "arch": "ppc64le"}, "--arch ppc64le: wheels for Windows"),
        ({"arch": "vax"}, "x86_64 or aarch64"),
        ({"system_cuda": "11.9"}, "CUDA 11 has 11.0 to 11.8"),
        ({"system_cuda": "12"}, "write 12.4"),
        ({"system_cuda": "twelve"}, "is not a CUDA version"),
        ({"system_cudnn": "x8"}, "is not a cuDNN version"),
    ],
)
def test_impossible_options_are_refused_in_one_sentence(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        supposed(**fields)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(".")


def test_a_cuda_newer_than_the_tables_is_accepted() -> None:
    assert isinstance(supposed(system_cuda="99.0").toolkits, tuple)


def test_without_options_there_are_no_findings_and_no_crash() -> None:
    diagnosis = check_combination(Combination(requirements=("torch==2.5.1",)), Policy(level=None)).diagnosis
    assert diagnosis.findings == ()
    assert {outcome.kind.value for outcome in diagnosis.outcomes} <= {"passed", "not-applicable", "not-asked"}


def test_the_same_combination_gets_the_same_diagnosis() -> None:
    combination = Combination(requirements=("torch",), gpus=("K80",), driver="470.57.02", python="3.8")
    examination, other = (check_combination(combination, Policy(level=None)) for _ in range(2))
    assert msgspec.json.encode(examination.diagnosis) == msgspec.json.encode(other.diagnosis)


@pytest.mark.parametrize(
    ("options", "architecture"),
    [
        ({"gpus": ("GB10",)}, "aarch64"),
        ({"gpus": ("GH200", "GH200")}, "aarch64"),
        ({"gpus": ("Jetson AGX Orin",)}, "aarch64"),
        ({"gpus": ("Jetson AGX Orin",), "arch": "x86_64"}, "x86_64"),
        ({"gpus": ("GB10", "RTX 4090")}, "x86_64"),
        ({"gpus": ("H100",)}, "x86_64"),
        ({}, "x86_64"),
    ],
)
def test_a_gpu_on_one_module_with_an_arm_cpu_decides_the_architecture(options: dict[str, object], architecture: str) -> None:
    host = supposed(**options).host
    assert isinstance(host, Host)
    assert host.architecture == architecture


@pytest.mark.parametrize(("gpus", "platform"), [(("Jetson Orin Nano",), "jetson"), (("GB10",), "linux"), (("Jetson Nano", "T4"), "linux")])
def test_a_jetson_is_one_by_its_gpu(gpus: tuple[str, ...], platform: str) -> None:
    host = supposed(gpus=gpus).host
    assert isinstance(host, Host)
    assert host.platform == platform


@pytest.mark.parametrize("requirement", ["torch==2.2.0", "torch==2.15.0+cu130"])
def test_what_no_index_has_for_a_jetson_comes_from_nvidia(requirement: str) -> None:
    found = check_combination(Combination(requirements=(requirement,), gpus=("Jetson Nano",)), Policy(level=None)).diagnosis.root_causes[0]
    assert found.fixes[0].title.startswith("Install NVIDIA's build for this Jetson's JetPack")


FORWARD = [
    ("torch==2.9.1+cu130", "h100", "535.104.05", "13.0", []),
    ("torch==2.9.1+cu130", "h100", "535.104.05", None, ["driver-too-old"]),
    ("torch==2.9.1+cu130", "h100", "535.104.05", "12.8", ["driver-too-old"]),
    ("torch==2.9.1+cu130", "RTX 4090", "535.104.05", "13.0", ["forward-compat-unsupported-hw"]),
    ("torch==2.5.1", "h100", "535.104.05", "12.8", []),
]


@pytest.mark.parametrize(("requirement", "gpu", "driver", "package", "causes"), FORWARD)
def test_cuda_compat_counts_for_the_driver(requirement: str, gpu: str, driver: str, package: str | None, causes: list[str]) -> None:
    found = checked(requirement, gpus=(gpu,), driver=driver, cuda_compat=package)
    assert [cause.name for cause in found.root_causes if cause.severity is Severity.ERROR] == causes


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"driver": "570.124.06", "cuda_compat": "12.4"}, "only on branches 535, and 570.124.06 is of branch 570"),
        ({"cuda_compat": "12.8"}, "state one with --driver"),
        ({"driver": "551.61", "os": "windows", "cuda_compat": "12.8"}, "drivers for Linux"),
        ({"driver": "535.104.05", "cuda_compat": "new"}, "is not a CUDA version"),
    ],
)
def test_a_cuda_compat_that_cannot_be_is_refused(fields: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        checked("torch==2.9.1", gpus=("h100",), **fields)


@pytest.mark.parametrize("branch", [row for row in MATRIX.rows(DRIVERS) if row.compat_packages is None], ids=lambda row: str(row.branch))
@pytest.mark.parametrize("gpu", ["h100", "RTX 3090"])
def test_cuda_compat_on_a_branch_that_no_table_lists_is_no_pass(branch: DriverBranch, gpu: str) -> None:
    found = checked("torch==2.5.1", gpus=(gpu,), driver=f"{branch.branch}.50", cuda_compat="12.4")
    assert found.verdict in {Verdict.UNKNOWN, Verdict.BROKEN}
    assert any(unchecked.what == "cuda-compat 12.4" for unchecked in found.unchecked)


LIBCS = [
    ("2.17", "glibc 2.17"),
    ("glibc-2.31", "glibc 2.31"),
    ("musl", "musl"),
    ("musl 1.2.5", "musl"),
    ("ubuntu-20.04", "glibc 2.31"),
    ("jammy", "glibc 2.35"),
    ("rockylinux9.3", "glibc 2.34"),
    ("alpine3.20", "musl"),
]


@pytest.mark.parametrize(("name", "libc"), LIBCS)
@pytest.mark.parametrize("python", [None, "3.11"])
def test_a_c_library_by_its_version_or_its_distribution(name: str, libc: str, python: str | None) -> None:
    snapshot = supposed(libc=name, python=python)
    assert isinstance(snapshot.python, Python)
    assert snapshot.python.libc == libc
    assert (snapshot.python.version == python) == (python is not None)
    assert isinstance(snapshot.supposed, tuple)
    assert ("C library", libc) in [(one.what, one.value) for one in snapshot.supposed]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"libc": "beos"}, "is no distribution in the tables"),
        ({"libc": "3.0"}, "is no distribution in the tables"),
        ({"libc": "musl", "os": "windows"}, "do not depend on it"),
    ],
)
def test_a_c_library_that_cannot_be_is_refused(fields: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        supposed(**fields)


COMPILED = [
    (name, row) for name in ("torch", "jax-cuda12-plugin", "tensorflow", "cupy-cuda12x", "vllm") for row in MATRIX.rows(WHEEL_TAGS, name)
]


@pytest.mark.parametrize(("name", "row"), COMPILED, ids=lambda one: one if isinstance(one, str) else f"{one.platform}-{one.release}")
def test_an_older_c_library_than_the_tags_name_is_broken_and_no_wheel_is_for_musl(name: str, row: WheelTags) -> None:
    (tag,) = row.tags
    major, minor = map(int, tag.removeprefix("manylinux_").split("_"))
    arch = row.platform.removeprefix("linux_")
    wanted = f"jax[cuda12]=={max(row.release, Version(0, 4, 30))}" if name.startswith("jax") else f"{name}=={row.release}"

    def causes(libc: str) -> set[str]:
        found = check_combination(Combination(requirements=(wanted,), arch=arch, libc=libc), Policy()).diagnosis
        return {finding.name for finding in found.findings}

    assert "glibc-too-old" in causes(f"{major}.{minor - 1}") & causes("musl")
    assert "glibc-too-old" not in causes("2.40")
