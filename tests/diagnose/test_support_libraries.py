"""What a text's facts say for a cause of missing or mixed CUDA libraries."""

from __future__ import annotations

import pytest

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.support import supported_causes
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Distribution, Fact, Host, Packages, Platform, TextLog
from tests.builders import bare, tensorflow

LINUX = Host(platform=Platform.LINUX, architecture="x86_64")
UNFOUND = "W0000 gpu_device.cc:2251] Cannot dlopen some GPU libraries."


def said(cause: str, line: str, *installed: str, matrix: Matrix) -> str | None:
    """What speaks for a cause in a text with this line and these packages, "name version"."""
    packages = tuple(Distribution(name, version, "the text") for name, version in (one.split() for one in installed))
    frameworks = tuple(tensorflow(version=Fact(package.version, "the text")) for package in packages if package.name == "tensorflow")
    log = TextLog(lines=(Fact(line, "line 1"),))
    snapshot = bare(text_log=log, host=LINUX, packages=Packages(packages), frameworks=frameworks)
    found = supported_causes(MachineView(snapshot, matrix, Policy()), log)
    return f"{found[cause].what}: {found[cause].value}" if cause in found else None


@pytest.mark.parametrize(
    ("line", "installed", "evidence"),
    [
        (
            UNFOUND,
            ("tensorflow 2.21.0", "nvidia-cusolver-cu12 11.7.1.2"),
            "packages that tensorflow 2.21.0 cannot find: nvidia-cusolver-cu12",
        ),
        (UNFOUND, ("tensorflow 2.21.0", "nvidia-cublas-cu12 12.5.3.2"), None),
        (UNFOUND, ("tensorflow 2.20.0", "nvidia-cusolver-cu12 11.7.1.2"), None),
        (
            "libcublas.so.12: cannot open shared object file",
            ("tensorflow 2.21.0", "nvidia-cusolver-cu12 11.7.1.2", "nvidia-cublas-cu12 12.5.3.2"),
            "installed: nvidia-cublas-cu12 12.5.3.2",
        ),
        ("libcublas.so.12: cannot open shared object file", ("tensorflow 2.21.0", "nvidia-cusolver-cu12 11.7.1.2"), None),
        ("libcublas.so.12: cannot open shared object file", ("nvidia-cublas-cu11 11.11.3.6",), None),
        ("libcudnn.so.9: cannot open shared object file", ("nvidia-cudnn-cu12 9.3.0.75",), "installed: nvidia-cudnn-cu12 9.3.0.75"),
        ("libcudnn.so.9: cannot open shared object file", ("nvidia-cudnn-cu12 8.9.2.26",), None),
    ],
)
def test_installed_packages_of_a_missing_library_are_not_on_the_path(
    line: str, installed: tuple[str, ...], evidence: str | None, matrix: Matrix
) -> None:
    assert said("pip-nvidia-libs-not-on-path", line, *installed, matrix=matrix) == evidence


GONE = "{}: cannot open shared object file\n{}"


@pytest.mark.parametrize(
    ("wanted", "beside", "evidence"),
    [
        ("libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so.12.5.3", None),
        ("libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so.11.4.1", "on disk: /usr/local/cuda/lib64/libcublas.so.11.4.1"),
        ("libcublas.so.12", "/usr/local/cuda/lib64/libcurand.so.10.3.7", None),
        ("libcudart.so.11.0", "/usr/local/cuda/lib64/libcudart.so.11.0.221", None),
        ("libcudart.so.11.0", "/usr/local/cuda/lib64/libcudart.so.11.2.72", "on disk: /usr/local/cuda/lib64/libcudart.so.11.2.72"),
        ("libcudart.so.8.0", "I have CUDA 8.0 installed", None),
        ("libcudart.so.8.0", "I installed CUDA 9.0", "CUDA in the text: 9.0"),
        ("libcudart.so.9.0", "I installed CUDA 9.0", None),
        ("libcudart.so.9.0", "I installed CUDA 9.2", "CUDA in the text: 9.2"),
        ("libcudart.so.9.0", "I installed CUDA 8", "CUDA in the text: 8"),
        ("libcusolver.so.11", "I installed CUDA 11.0", "CUDA in the text: 11.0"),
        ("libcusolver.so.10", "I installed CUDA 11.0", None),
        ("libcublas.so.11", "I installed CUDA 11.2 and then\nI installed CUDA 12.1", None),
    ],
)
def test_a_cuda_of_another_version_speaks_for_a_mismatch(wanted: str, beside: str, evidence: str | None, matrix: Matrix) -> None:
    assert said("cuda-version-mismatch", GONE.format(wanted, beside), matrix=matrix) == evidence


@pytest.mark.parametrize(
    ("dll", "cuda", "evidence"),
    [
        ("cudart64_110.dll", "11.2", None),
        ("cudart64_90.dll", "9.0", None),
        ("cudart64_90.dll", "9.1", "CUDA in the text: 9.1"),
        ("cudart64_12.dll", "12.1", None),
        ("cudart64_12.dll", "11.8", "CUDA in the text: 11.8"),
    ],
)
def test_a_file_of_windows_names_its_cuda(dll: str, cuda: str, evidence: str | None, matrix: Matrix) -> None:
    line = f"Could not load dynamic library '{dll}'; dlerror: {dll} not found. I have CUDA {cuda}"
    assert said("cuda-version-mismatch", line, matrix=matrix) == evidence


@pytest.mark.parametrize(
    ("wheel", "evidence"),
    [
        ("nvidia-nvjitlink-cu12 12.0.140", "installed: nvidia-nvjitlink-cu12 12.0.140"),
        ("nvidia-nvjitlink-cu12 12.1.105", None),
        ("nvidia-nvjitlink-cu12 12.6.85", None),
        ("nvidia-cusparse-cu12 12.0.140", None),
    ],
)
def test_a_package_older_than_the_function_that_it_lacks_conflicts(wheel: str, evidence: str | None, matrix: Matrix) -> None:
    line = "libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12"
    assert said("nvidia-wheel-version-conflict", line, wheel, matrix=matrix) == evidence
