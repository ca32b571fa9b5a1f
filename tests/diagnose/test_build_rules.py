from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Diagnosis, Finding, Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.matrix.tables import DRIVERS
from gpudoctor.snapshot import (
    Distribution,
    Fact,
    Framework,
    Host,
    KernelDriver,
    Missing,
    Nvml,
    NvmlGpu,
    Packages,
    Platform,
    Python,
    Snapshot,
    Toolkit,
)
from gpudoctor.snapshot.values import Cause
from tests.matrix.samples import matrix

UNSTATED = Missing(Cause.NOT_STATED, "it was not stated")
SASS = "sm_70 sm_80 sm_90"


def supposed(
    *packages: Distribution, gpus: tuple[str, ...] = ("8.0",), driver: str | None = None, python: str = "3.11", **changes: Any
) -> Snapshot:
    """A machine that is only supposed."""
    frameworks = tuple(
        Framework(
            name=one.name,
            distribution=one.name,
            version=Fact(one.version, one.where),
            cuda_build=UNSTATED,
            built_with_cuda=UNSTATED,
            built_with_cudnn=UNSTATED,
            architectures=UNSTATED,
        )
        for one in packages
        if one.name in {"tensorflow", "torch", "jax"}
    )
    numbered = enumerate(gpus)
    sections: dict[str, Any] = {
        "host": Host(platform=Platform.LINUX, architecture="x86_64"),
        "nvml": Nvml(
            gpus=tuple(NvmlGpu(number, address=UNSTATED, name=UNSTATED, compute_capability=one or UNSTATED) for number, one in numbered)
        ),
        "kernel_driver": KernelDriver(version=Fact(driver, "--driver")) if driver else UNSTATED,
        "python": Python(f"python{python}", "--python-version", version=python, machine="x86_64"),
        "packages": Packages(packages),
        "frameworks": frameworks,
        "pci": UNSTATED,
        "libcuda": UNSTATED,
    }
    return Snapshot(created="2026-01-02T03:04:05Z", origin="supposed", **(sections | changes))


def stated(name: str, release: str, *extras: str, chosen: bool = False) -> Distribution:
    return Distribution(name, release, "stated", extras=extras, chosen=chosen, requirement=name)


def torch_row(release: str, sass: str, *, cuda: str = "12.4", pythons: str = "3.11", builds: str = "") -> str:
    return f"torch,{release},linux_x86_64,{pythons},cuda,{cuda},,{sass},none,,,{builds},,torch-wheels\n"


def judge(snapshot: Snapshot, tables: Matrix) -> Diagnosis:
    return diagnose(snapshot, tables, Policy(level=None))


def only(diagnosis: Diagnosis, name: str) -> Finding:
    found = [finding for finding in diagnosis.findings if finding.name == name]
    assert len(found) == 1, [finding.name for finding in diagnosis.findings]
    return found[0]


def outcome(diagnosis: Diagnosis, code: str) -> str:
    return ", ".join(one.kind.value for one in diagnosis.outcomes if one.code == code)


TORCH = matrix(torch=torch_row("2.5.1", "sm_60 sm_80") + torch_row("2.6.0", SASS) + torch_row("2.8.0", "sm_80 sm_120"))
A = stated("torch", "2.6.0")


@pytest.mark.parametrize(
    ("capability", "name", "release"),
    [("12.0", "gpu-too-new-for-build", "2.8.0"), ("6.1", "gpu-too-old-for-build", "2.5.1")],
)
def test_the_fix_is_the_newest_release_with_code_for_the_gpu(capability: str, name: str, release: str) -> None:
    found = only(judge(supposed(A, gpus=(capability,)), TORCH), name)
    assert found.severity is Severity.ERROR
    assert found.fixes[0].command == f"python3.11 -m pip install torch=={release}"
    assert f"compute capability {capability}" in found.message
    assert "sm_70 sm_80 sm_90, no PTX" in found.message


def test_a_release_without_a_wheel_for_this_python_is_no_fix() -> None:
    lines = torch_row("2.6.0", SASS) + torch_row("2.8.0", "sm_120", pythons="3.12")
    found = only(judge(supposed(A, gpus=("12.0",)), matrix(torch=lines)), "gpu-too-new-for-build")
    assert found.fixes[0].command == 'python3.12 -m venv "$HOME"/training && "$HOME"/training/bin/python -m pip install torch==2.8.0'


def test_a_release_that_the_driver_does_not_serve_is_no_fix() -> None:
    lines = torch_row("2.6.0", SASS) + torch_row("2.8.0", "sm_120", cuda="13.0")
    floors = "12.4,550.54.14,,525.60.13,,,,,,,guide\n13.0,580.65.06,,580,,,,,,,guide"
    snapshot = supposed(A, gpus=("12.0",), driver="570.124.06")
    found = only(judge(snapshot, matrix(torch=lines, cuda=floors)), "gpu-too-new-for-build")
    assert "2.8.0" not in found.fixes[0].command


def test_a_build_that_nobody_has_read_is_not_offered() -> None:
    lines = torch_row("2.6.0", SASS, builds="cpu cu118 cu124 cu128") + torch_row("2.8.0", "sm_120")
    cuda = "12.4,550.54.14,,525.60.13,,sm_90,,,,,guide\n12.8,570.26,,525.60.13,,sm_120,,,,,guide"
    found = only(judge(supposed(A, gpus=("12.0",)), matrix(torch=lines, cuda=cuda)), "gpu-too-new-for-build")
    assert [fix.command for fix in found.fixes] == ["python3.11 -m pip install torch==2.8.0"]


def test_jaxs_code_is_its_clients_and_its_fix_another_extra() -> None:
    def row(cuda: int, release: str, sass: str) -> str:
        return f"jax-cuda{cuda}-pjrt,{release},linux_x86_64,,cuda,{cuda}.0,,{sass},none,,,,,jax-wheels\n"

    lines = row(12, "0.8.0", "sm_70 sm_80") + row(12, "0.12.0.1", "sm_70 sm_80") + row(13, "0.8.0", "sm_80")
    plugin = stated("jax-cuda13-pjrt", "0.8.0"), stated("jax-cuda13-plugin", "0.8.0")
    found = judge(supposed(stated("jax", "0.8.0", "cuda13"), *plugin, gpus=("7.0",)), matrix(jax=lines))
    fix = only(found, "gpu-too-old-for-build").fixes[0]
    assert fix.command == "python3.11 -m pip install 'jax[cuda12]==0.12.0'"


def test_a_gpu_that_remains_makes_it_a_warning() -> None:
    assert only(judge(supposed(A, gpus=("12.0", "8.0")), TORCH), "gpu-too-new-for-build").severity is Severity.WARNING
    assert only(judge(supposed(A, gpus=("12.0", "")), TORCH), "gpu-too-new-for-build").severity is Severity.WARNING
    both = judge(supposed(A, gpus=("12.0", "6.1")), TORCH)
    assert only(both, "gpu-too-new-for-build").severity is Severity.ERROR
    assert only(both, "gpu-too-old-for-build").severity is Severity.ERROR


@pytest.mark.parametrize(
    ("snapshot", "tables"),
    [(supposed(A, gpus=("",)), TORCH), (supposed(stated("torch", "9.9.9")), TORCH), (supposed(A), matrix(torch=torch_row("2.6.0", "")))],
    ids=["capability not stated", "release not known", "code not known"],
)
def test_ignorance_is_neither_fault_nor_pass(snapshot: Snapshot, tables: Matrix) -> None:
    found = judge(snapshot, tables)
    assert not [one for one in found.findings if one.code in {"GD505", "GD506", "GD507"}]
    assert {outcome(found, code) for code in ("GD505", "GD506", "GD507")} == {"not-asked"}


PTX = "tensorflow,2.15.1,linux_x86_64,3.11,cuda,12.2,8,sm_80,compute_80,,,,,tensorflow-wheels"
CUDAS = "12.0,525.60.13,,525.60.13,,sm_90,8.0,,,,guide\n12.2,535.54.03,,525.60.13,,sm_90,8.2,,,,guide"
BRANCHES = "525,12.0\n535,12.2"
TF = stated("tensorflow", "2.15.1")


def branches(*rows: tuple[int, str, str, str]) -> str:
    """drivers.csv: branch, CUDA served, oldest and newest capability; whatever columns come after are blank."""
    names = list(DRIVERS.columns)
    said = ("branch", "cuda_served", "oldest_capability", "newest_capability", "source")
    return "\n".join(",".join(str(dict(zip(said, (*row, "guide"), strict=True)).get(name, "")) for name in names) for row in rows)


SERVING = branches((525, "12.0", "5.0", "9.0"), (535, "12.2", "5.0", "9.0"), (570, "12.8", "5.0", "12.0"))


def test_only_ptx_is_slow_where_the_driver_compiles_it() -> None:
    found = judge(supposed(TF, gpus=("9.0",), driver="535.104.05"), matrix(tensorflow=PTX, cuda=CUDAS, drivers=SERVING))
    assert only(found, "slow-ptx-jit").severity is Severity.WARNING
    assert outcome(found, "GD203") == "passed"


def test_only_ptx_is_nothing_where_the_driver_is_older_than_it() -> None:
    found = judge(supposed(TF, gpus=("9.0",), driver="525.85.12"), matrix(tensorflow=PTX, cuda=CUDAS, drivers=SERVING))
    assert "CUDA 12.2 (535.54.03 or newer)" in only(found, "driver-too-old").message
    assert [one.name for one in found.root_causes] == ["driver-too-old"]


def test_the_same_driver_will_do_for_a_gpu_with_machine_code() -> None:
    found = judge(supposed(TF, gpus=("8.6",), driver="525.85.12"), matrix(tensorflow=PTX, cuda=CUDAS, drivers=SERVING))
    assert not found.findings


def test_a_driver_older_than_the_gpu_is_too_old_for_every_cuda() -> None:
    lines = matrix(torch=torch_row("2.8.0", "sm_80 sm_120", cuda="12.0"), cuda=CUDAS, drivers=SERVING)
    found = judge(supposed(stated("torch", "2.8.0"), gpus=("12.0",), driver="535.104.05"), lines)
    assert [one.name for one in found.root_causes] == ["driver-too-old"]
    assert "gpu-too-new-for-driver" in {one.name for one in found.findings}
    assert not judge(supposed(stated("torch", "2.8.0"), gpus=("12.0",), driver="570.26"), lines).findings


def test_a_newer_driver_is_not_advised_where_it_drops_the_gpu() -> None:
    kepler = branches((470, "11.4", "3.0", "8.6"), (525, "12.0", "5.0", "9.0"))
    lines = matrix(tensorflow=PTX.replace("sm_80,compute_80", "sm_37,none"), cuda=CUDAS, drivers=kepler)
    found = only(judge(supposed(TF, gpus=("3.7",), driver="470.256.02"), lines), "driver-too-old")
    assert "branch 470 is its last driver" in found.fixes[0].title


CUDNN = """
9.10.2.21,12,linux_x86_64,libcudnn.so.9,sm_50 sm_70 sm_80,none,cudnn-wheels
9.11.0.98,12,linux_x86_64,libcudnn.so.9,sm_75 sm_80,none,cudnn-wheels
9.12.0.46,12,linux_x86_64,libcudnn.so.9,sm_75 sm_80,none,cudnn-wheels
"""
REQUIRES = '"nvidia-cudnn-cu12<10.0,>=9.3.0.75;extra==""and-cuda"""'
ROW = f"tensorflow,2.18.0,linux_x86_64,3.11,cuda,12.5,9,sm_70 sm_80,none,{REQUIRES},,,,tensorflow-wheels\n"
SERIES = {"tensorflow": ROW, "cudnn": CUDNN}


def stack(cudnn: str, *, chosen: bool = False, gpus: tuple[str, ...] = ("7.0",), **changes: Any) -> Diagnosis:
    wheel = stated("nvidia-cudnn-cu12", cudnn, chosen=chosen)
    return judge(supposed(stated("tensorflow", "2.18.0", "and-cuda"), wheel, gpus=gpus, **changes), matrix(**SERIES))


def test_a_cudnn_without_code_for_the_gpu_is_pinned_to_the_last_with() -> None:
    found = only(stack("9.12.0.46"), "cudnn-drops-gpu")
    assert found.severity is Severity.ERROR
    assert found.fixes[0].command == "python3.11 -m pip install nvidia-cudnn-cu12==9.10.2.21"


def test_a_cudnn_that_nobody_named_is_a_warning() -> None:
    found = stack("9.12.0.46", chosen=True)
    assert only(found, "cudnn-drops-gpu").severity is Severity.WARNING
    assert found.verdict.value == "degraded"


def test_a_gpu_that_cudnn_still_knows_makes_it_a_warning() -> None:
    assert only(stack("9.12.0.46", gpus=("7.0", "8.6")), "cudnn-drops-gpu").severity is Severity.WARNING


@pytest.mark.parametrize("machine", ["aarch64", "ppc64le"])
def test_a_cudnn_for_another_platform_says_nothing_of_this_one(machine: str) -> None:
    host = Host(platform=Platform.JETSON, architecture=machine)
    python = Python("python3.12", "--python-version", version="3.12", machine=machine)
    rows = ROW + ROW.replace("linux_x86_64", "linux_aarch64")
    wheel = stated("nvidia-cudnn-cu12", "9.12.0.46")
    thor = supposed(stated("tensorflow", "2.18.0", "and-cuda"), wheel, gpus=("7.0",), host=host)
    found = judge(msgspec.structs.replace(thor, python=python), matrix(tensorflow="\n".join(sorted(rows.splitlines())) + "\n", cudnn=CUDNN))
    assert outcome(found, "GD411") == "not-asked"


@pytest.mark.parametrize("cudnn", ["9.10.2.21", "9.99.0.1"], ids=["has the code", "not known"])
def test_no_finding_where_cudnn_has_code_or_is_not_known(cudnn: str) -> None:
    assert not [one for one in stack(cudnn).findings if one.name == "cudnn-drops-gpu"]


def test_a_gpu_that_the_framework_lacks_too_is_not_cudnns_fault() -> None:
    found = stack("9.12.0.46", gpus=("6.1",))
    assert [one.name for one in found.root_causes] == ["gpu-too-old-for-build", "gpu-lacks-bf16"]


@pytest.mark.parametrize(
    ("cudnn", "name"),
    [("8.9.7.29", "cudnn-wrong-major"), ("9.2.1.18", "cudnn-version-mismatch"), ("9.3.0.75", ""), ("9.10.2.21", "")],
)
def test_the_cudnn_that_is_there_is_compared_with_the_one_required(cudnn: str, name: str) -> None:
    found = [one.name for one in stack(cudnn, gpus=("8.0",)).root_causes]
    assert found == ([name] if name else [])


def test_a_cudnn_that_nobody_stated_is_no_fault() -> None:
    found = judge(supposed(stated("tensorflow", "2.18.0")), matrix(**SERIES))
    assert [one.name for one in found.findings] == ["cuda-library-missing"]
    assert {outcome(found, code) for code in ("GD409", "GD410", "GD411")} == {"not-asked"}


OLD = "tensorflow,2.3.0,linux_x86_64,3.8,cuda,10.1,7,sm_70,compute_70,,,,,tensorflow-wheels\n"
OLD += "tensorflow,2.4.0,linux_x86_64,3.8,cuda,11.0,8,sm_70,compute_70,,,,,tensorflow-wheels"
SONAMES = """
10.1,418.39,,,,,,,libcudart.so.10.1 libcusolver.so.10,,guide
11.0,450.36,,,,,,,libcudart.so.11.0 libcusolver.so.10,,guide
11.1,455.23,,,,,,,libcudart.so.11.0 libcusolver.so.11,,guide
11.8,520.61,,,,,,,libcudart.so.11.0 libcusolver.so.11,,guide
"""


def on_system(release: str, system: str, framework: str = "tensorflow", **changes: Any) -> Diagnosis:
    toolkits = (Toolkit(path="", toolkit_cuda=Fact(system, "--system-cuda")),)
    snapshot = supposed(stated(framework, release), gpus=("7.0",), python="3.8", **({"toolkits": toolkits} | changes))
    return judge(snapshot, matrix(tensorflow=OLD, cuda=SONAMES))


@pytest.mark.parametrize(
    ("release", "system", "lacks"),
    [
        ("2.3.0", "10.1", ""),
        ("2.3.0", "11.0", "libcudart.so.10.1"),
        ("2.4.0", "11.0", ""),
        ("2.4.0", "11.8", "libcusolver.so.10"),
        ("2.3.0", "99.0", "CUDA 10.1"),
        ("2.4.0", "11.9", ""),
    ],
    ids=["same", "another major", "same again", "same runtime, another cuSOLVER", "not in the tables", "same major, not in the tables"],
)
def test_the_systems_cuda_is_compared_by_the_names_of_its_files(release: str, system: str, lacks: str) -> None:
    found = on_system(release, system)
    if lacks:
        assert lacks in only(found, "cuda-version-mismatch").message
    else:
        assert not [one for one in found.findings if one.name == "cuda-version-mismatch"]


def test_a_release_for_the_cuda_that_is_there_is_offered() -> None:
    found = only(on_system("2.3.0", "11.0"), "cuda-version-mismatch")
    assert found.fixes[1].command == "python3.8 -m pip install tensorflow==2.4.0"


def test_a_cuda_that_was_not_stated_is_no_fault() -> None:
    assert outcome(on_system("2.3.0", "11.0", toolkits=UNSTATED), "GD405") == "not-asked"


def test_one_fitting_toolkit_of_two_is_enough() -> None:
    two = tuple(Toolkit(path=f"/usr/local/cuda-{one}", toolkit_cuda=Fact(one, "version.json")) for one in ("11.8", "10.1"))
    assert outcome(on_system("2.3.0", "", toolkits=two), "GD405") == "passed"


def test_a_framework_with_its_own_runtime_does_not_ask_the_system() -> None:
    toolkits = (Toolkit(path="", toolkit_cuda=Fact("11.8", "--system-cuda")),)
    snapshot = supposed(
        stated("tensorflow", "2.18.0"), stated("nvidia-cuda-runtime-cu12", "12.5.82"), stated("cupy-cuda11x", "13.6.0"), toolkits=toolkits
    )
    assert outcome(judge(snapshot, matrix(**SERIES)), "GD405") == "passed"


def test_a_runtime_that_an_installer_would_bring_counts() -> None:
    row = ROW.replace(REQUIRES, 'nvidia-cuda-runtime-cu12>=12.5;extra==""and-cuda""'.join('""'))
    toolkits = (Toolkit(path="", toolkit_cuda=Fact("11.8", "--system-cuda")),)
    tables = matrix(tensorflow=row, cuda=SONAMES)
    assert outcome(judge(supposed(stated("tensorflow", "2.18.0", "and-cuda"), toolkits=toolkits), tables), "GD405") == "passed"
    alone = judge(supposed(stated("tensorflow", "2.18.0"), toolkits=toolkits), tables)
    assert only(alone, "cuda-version-mismatch").fixes[0].command == "python3.11 -m pip install 'tensorflow[and-cuda]==2.18.0'"


def test_under_windows_no_names_of_linux_are_said() -> None:
    tables = matrix(tensorflow=OLD.replace("linux_x86_64", "win_amd64"), cuda=SONAMES)
    toolkits = (Toolkit(path="", toolkit_cuda=Fact("11.0", "--system-cuda")),)
    windows = Host(platform=Platform.WINDOWS, architecture="x86_64")
    snapshot = supposed(stated("tensorflow", "2.3.0"), python="3.8", toolkits=toolkits, host=windows)
    assert only(judge(snapshot, tables), "cuda-version-mismatch").message.endswith("loads the system's CUDA 11.0.")


@pytest.mark.parametrize(
    ("wheel", "system", "fits"),
    [
        ("cupy-cuda11x", "12.4", False),
        ("cupy-cuda11x", "11.8", True),
        ("cupy-cuda12x", "12.4", True),
        ("cupy-cuda102", "10.1", False),
        ("cupy-cuda101", "10.1", True),
        ("cupy", "12.4", True),
    ],
)
def test_cupys_wheel_is_compared_by_its_name(wheel: str, system: str, fits: bool) -> None:
    toolkits = (Toolkit(path="", toolkit_cuda=Fact(system, "--system-cuda")),)
    found = judge(supposed(stated(wheel, "13.6.0"), toolkits=toolkits), matrix(cuda=SONAMES))
    assert ([one.name for one in found.root_causes if one.severity is Severity.ERROR] == ["cuda-version-mismatch"]) is not fits
