"""The fixes of causes that only a log names are commands for the framework, platform and driver that the text states."""

from __future__ import annotations

import re

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Confidence, FixKind, Policy
from gpudoctor.matrix import Matrix
from gpudoctor.signatures.table import SIGNATURES
from gpudoctor.snapshot import Nvml
from gpudoctor.versions import Version
from tests.read.reading import causes, first_fix, read

BUSY = "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable\n"
CPU_BUILD = "AssertionError: Torch not compiled with CUDA enabled\n"
NO_PLUGIN = "An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling back to cpu.\n"
NO_LIBRARIES = (
    "W gpu_device.cc:2251] Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned above are installed\n"
)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (CPU_BUILD, r"torch==\S+\+cu13\d --index-url \S+/cu13\d$"),
        (f"{CPU_BUILD}Windows 11, Python 3.12, RTX 4060", r"torch==\S+\+cu13\d --index-url \S+/cu13\d$"),
        (f"{CPU_BUILD}driver 535 on my GTX 1080", r"torch==\S+\+cu126 --index-url \S+/cu126$"),
        (f"{NO_PLUGIN}jax 0.5.1\njaxlib 0.5.1", r"'jax\[cuda12\]==0\.5\.1'$"),
    ],
)
def test_a_build_without_cuda_is_replaced_by_one_that_suits_the_machine(text: str, command: str, matrix: Matrix) -> None:
    assert "cpu-only-build" in causes(text, matrix)
    fix = first_fix(text, matrix)
    assert re.search(command, fix), fix


def test_a_wheel_that_cannot_find_its_libraries_is_replaced_by_one_that_can(matrix: Matrix) -> None:
    packages = "tensorflow 2.16.1\nnvidia-cublas-cu12 12.3.4.1\nnvidia-cudnn-cu12 8.9.7.29\n"
    assert causes(NO_LIBRARIES + packages, matrix)[0] == "pip-nvidia-libs-not-on-path"
    assert first_fix(NO_LIBRARIES + packages, matrix).endswith("'tensorflow[and-cuda]==2.16.2'")
    assert causes(NO_LIBRARIES + packages.replace("2.16.1", "2.17.0"), matrix)[0] != "pip-nvidia-libs-not-on-path"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("I use pytorch with a GTX 780\n", ""),
        ("I use pytorch with a GTX 980\n", r"torch==2\.\d+\.\d\+cu126 "),
        ("I use pytorch with an RTX 5090\n", r"torch==2\.\d+\.\d\+cu13\d "),
        ("I use pytorch with an RTX 5090, driver 570.124.06\n", r"torch==2\.\d+\.\d\+cu12[89] "),
    ],
)
def test_a_build_without_kernels_is_replaced_by_one_that_has_them(text: str, command: str, matrix: Matrix) -> None:
    error = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    assert re.search(command, first_fix(error + text, matrix)), first_fix(error + text, matrix)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "TF 2.4.1, Windows 10\nCould not load dynamic library 'cudnn64_8.dll'; dlerror: cudnn64_8.dll not found\n",
            "CUDA 11.0 and cuDNN 8.* PATH",
        ),
        ("tensorflow 2.11.0\nlibcudart.so.11.0: cannot open shared object file\n", "CUDA 11.2 and cuDNN 8.* LD_LIBRARY_PATH"),
    ],
)
def test_a_build_without_packages_for_its_libraries_names_the_cuda_it_was_built_with(text: str, title: str, matrix: Matrix) -> None:
    fixes = diagnose(read(text, matrix), matrix, Policy(level=None)).root_causes[0].fixes
    assert any(re.search(title, fix.title) for fix in fixes), fixes


def test_the_driver_that_pytorch_found_is_known_by_its_cuda(matrix: Matrix) -> None:
    nvml = read("The NVIDIA driver on your system is too old (found version 12040). Please update\n", matrix).nvml
    assert isinstance(nvml, Nvml)
    assert nvml.cuda_served == "12.4"


UNIX = re.compile(r"(?:^|[|;&] *)(?:sudo|grep|ls|ldconfig|lspci|find|dmesg|systemctl|readelf|export|unset) ")


def test_on_windows_no_check_and_no_fix_is_for_a_unix_shell(matrix: Matrix) -> None:
    lines = {line for signature in SIGNATURES for line in signature.lines}
    found: dict[str, list[str]] = {}
    for line in lines:
        diagnosis = diagnose(read(f"{line}\nOS: Microsoft Windows 11 Pro\ntorch 2.7.1\n", matrix), matrix, Policy(level=None))
        told = (finding for finding in diagnosis.findings if finding.message.startswith("The log says"))
        commands = [fix.command for finding in told for fix in finding.fixes if UNIX.search(fix.command)]
        found |= {line: commands} if commands else {}
    assert not found


def test_on_windows_a_check_that_works_there_is_kept(matrix: Matrix) -> None:
    text = "OS: Microsoft Windows 11 Pro\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    fixes = diagnose(read(text, matrix), matrix, Policy(level=None)).root_causes[0].fixes
    assert any(fix.kind is FixKind.CHECK and "memory.free" in fix.command for fix in fixes), fixes


def test_where_nothing_says_why_a_framework_sees_no_gpu_missing_libraries_are_only_possible(matrix: Matrix) -> None:
    text = "TensorFlow 2.4.1 with Python 3.8, RTX 2080 Ti, driver 460.39\nTensorFlow does not detect my GPU\n"
    first = diagnose(read(text, matrix), matrix, Policy(level=None)).root_causes[0]
    assert (first.name, first.confidence, first.fixes[0].title) == ("cuda-library-missing", Confidence.POSSIBLE, "Confirm it")


@pytest.mark.parametrize("target", ["compute_86", "sm_89", "compute_90", "sm_100", "compute_120", "sm_121"])
def test_nvcc_that_does_not_know_an_architecture_is_replaced_by_one_that_does(target: str, matrix: Matrix) -> None:
    fix = _title(f"nvcc fatal   : Unsupported gpu architecture '{target}'\n", matrix)
    named = re.search(r"CUDA toolkit (\d+)\.(\d+) or newer", fix)
    assert named, fix
    release = matrix.cuda(Version(int(named[1]), int(named[2])))
    assert release is not None
    assert target.replace("compute", "sm") in (release.sass or ())


def test_an_architecture_that_newer_compilers_dropped_is_left_out(matrix: Matrix) -> None:
    assert re.search(
        r"Take sm_50 out .* CUDA 12\.\d or older", _title("nvcc fatal   : Unsupported gpu architecture 'compute_50'\n", matrix)
    )


@pytest.mark.parametrize(("gpu", "torch"), [("RTX 5090", "2.6.0+cu124"), ("RTX 3090", "1.6.0+cu101")])
def test_the_build_that_has_no_kernels_is_not_installed_again(gpu: str, torch: str, matrix: Matrix) -> None:
    error = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    fix = first_fix(f"{gpu}\ntorch=={torch}\n{error}", matrix)
    assert "torch==" in fix, fix
    assert f"torch=={torch} " not in fix, fix


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "cupy on my GeForce RTX 5080\nCUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image is available for execution on the device\n",
            "CUDA 12.8 or newer",
        ),
        ("GPU 0: NVIDIA A16-4A (UUID: GPU-2b1c)\nCompute Mode: Prohibited\n" + BUSY, "a vGPU type of the C or Q series"),
        ("You're trying to build PyTorch with a too old version of GCC. We need GCC 9 or later.\n", "Build with GCC 9 or newer"),
        ("Could not load library cudnn_ops64_9.dll\n", "install cuDNN 9 for"),
    ],
)
def test_the_fix_is_for_what_the_line_names(text: str, title: str, matrix: Matrix) -> None:
    assert title in _title(text, matrix), _title(text, matrix)


def _title(text: str, matrix: Matrix) -> str:
    """The first fix of the first cause, in words."""
    fixes = diagnose(read(text, matrix), matrix, Policy(level=None)).root_causes[0].fixes
    return next((fix.title for fix in fixes if fix.kind is FixKind.FIX), "")
