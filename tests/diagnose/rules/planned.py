"""Planned environments and small tables for tests of single rules."""

from __future__ import annotations

from typing import Any

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Diagnosis, Finding, Policy
from gpudoctor.matrix import Matrix
from gpudoctor.matrix.tables import DRIVERS
from gpudoctor.snapshot import (
    Cause,
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
from tests.matrix.samples import matrix

UNSTATED = Missing(Cause.NOT_STATED, "not stated")


SASS = "sm_70 sm_80 sm_90"


def supposed(
    *packages: Distribution, gpus: tuple[str, ...] = ("8.0",), driver: str | None = None, python: str = "3.11", **changes: Any
) -> Snapshot:
    """A machine that is only supposed."""
    frameworks = tuple(
        Framework(
            name=package.name,
            distribution=package.name,
            version=Fact(package.version, package.where),
            cuda_build=UNSTATED,
            built_with_cuda=UNSTATED,
            built_with_cudnn=UNSTATED,
            architectures=UNSTATED,
        )
        for package in packages
        if package.name in {"tensorflow", "torch", "jax"}
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
