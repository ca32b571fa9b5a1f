"""Combinations with a certain answer at the boundaries of the shipped tables: the oldest driver and the one before it, the last
GPU with code and the next, the last Python with a wheel and the next. Each names the fact that decides it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gpudoctor.findings import Diagnosis, Verdict
from tests.plan.samples import checked

A100, V100, H100, T4, P100 = "a100-sxm4-80gb", "v100-sxm2", "h100", "Tesla T4", "p100"

DRIVERS = [
    ("torch==2.5.1", "CUDA 12.4, floor of 12: 525.60.13", A100, "525.60.13", ""),
    ("torch==2.5.1", "one below it", A100, "525.60.12", "driver-too-old"),
    ("torch==2.0.1", "CUDA 11.7, floor of 11: 450.80.02", V100, "450.80.02", ""),
    ("torch==2.0.1", "one below it", V100, "450.80.01", "driver-too-old"),
    ("torch==1.12.1", "CUDA 10.2, before minor-version compatibility: 440.33", V100, "440.33", ""),
    ("torch==1.12.1", "one below it", V100, "440.32", "driver-too-old"),
    ("torch==2.12.1", "CUDA 13.0, floor of 13: branch 580", A100, "580.65.06", ""),
    ("torch==2.12.1", "the branch before it", A100, "575.64.05", "driver-too-old"),
    ("tensorflow[and-cuda]==2.17.0", "CUDA 12.3, floor of 12: 525.60.13", A100, "525.60.13", ""),
    ("tensorflow[and-cuda]==2.17.0", "a branch before it", A100, "515.105.01", "driver-too-old"),
    ("torch==1.12.1", "branch 470 is the last for Kepler", "Tesla K80", "470.256.02", ""),
    ("torch==1.12.1", "branch 495 drives none below 5.0", "Tesla K80", "525.60.13", "driver-too-new-for-gpu"),
    ("torch==2.5.1", "branch 580 is the last for Pascal", "GTX 1080", "580.65.06", ""),
    ("torch==2.5.1", "branch 590 drives none below 7.5", "GTX 1080", "590.44.01", "driver-too-new-for-gpu"),
    ("torch==2.9.1", "branch 570 is the first for Blackwell", "RTX 5080", "570.124.06", ""),
    ("torch==2.9.1", "565 knows nothing above 9.0", "RTX 5080", "565.57.01", "driver-too-old"),
]
"""Requirement, what decides, GPU, driver, root cause; empty: it works."""


@pytest.mark.parametrize(("requirement", "fact", "gpu", "driver", "cause"), DRIVERS)
def test_drivers(requirement: str, fact: str, gpu: str, driver: str, cause: str) -> None:
    expect(checked(requirement, gpus=(gpu,), driver=driver), cause, fact)


CODE = [
    ("torch==2.8.0", "built for sm_70 and newer", V100, ""),
    ("torch==2.10.0", "built for sm_70 and newer", P100, "gpu-too-old-for-build"),
    ("torch==2.9.1+cu126", "the CUDA 12.6 build has sm_60", P100, ""),
    ("torch==2.12.1", "built for sm_75 and newer", T4, ""),
    ("torch==2.12.1", "built for sm_75 and newer", V100, "gpu-too-old-for-build"),
    ("torch==2.8.0", "has sm_120", "RTX 5080", ""),
    ("torch==2.6.0", "stops at sm_90, without PTX", "RTX 5080", "gpu-too-new-for-build"),
    ("torch==2.6.0+cu126", "stops at sm_90, without PTX", "RTX 5080", "gpu-too-new-for-build"),
    ("torch==2.1.2", "has sm_90", H100, ""),
    ("torch==1.13.1", "stops at sm_86, without PTX", H100, "gpu-too-new-for-build"),
    ("torch==1.13.1", "sm_86 runs on 8.9, which is of its major", "RTX 4090", ""),
    ("torch==2.5.1", "sm_50 runs on 5.2", "GTX 980", ""),
    ("torch==2.5.1", "built for sm_50 and newer", "Tesla K80", "gpu-too-old-for-build"),
    ("tensorrt==10.5.0", "its notes end support of 7.0", V100, "gpu-below-framework-minimum"),
    ("tensorflow[and-cuda]==2.17.0", "built for sm_60 and newer", P100, ""),
    ("tensorflow[and-cuda]==2.17.0", "built for sm_60 and newer", "GTX 980 Ti", "gpu-too-old-for-build"),
]


@pytest.mark.parametrize(("requirement", "fact", "gpu", "cause"), CODE)
def test_code_for_the_gpu(requirement: str, fact: str, gpu: str, cause: str) -> None:
    expect(checked(requirement, gpus=(gpu,)), cause, fact)


PYTHONS = [
    ("torch==2.8.0", "wheels for 3.9 to 3.13", "3.9", ""),
    ("torch==2.9.0", "wheels for 3.10 to 3.14", "3.9", "python-version-unsupported"),
    ("torch==2.5.1", "wheels for 3.9 to 3.13", "3.13", ""),
    ("torch==2.5.1", "wheels for 3.9 to 3.13", "3.14", "python-version-unsupported"),
    ("tensorflow[and-cuda]==2.16.2", "wheels for 3.9 to 3.12", "3.12.3", ""),
    ("tensorflow==2.15.1", "wheels for 3.9 to 3.11", "3.12", "python-version-unsupported"),
]


@pytest.mark.parametrize(("requirement", "fact", "python", "cause"), PYTHONS)
def test_pythons(requirement: str, fact: str, python: str, cause: str) -> None:
    expect(checked(requirement, python=python), cause, fact)


CUDA_12_2 = {"system_cuda": "12.2", "system_cudnn": "8.9"}
CUDA_10_0 = {"python": "3.7", "system_cuda": "10.0", "system_cudnn": "7.6"}
CUDA_10_1 = {**CUDA_10_0, "system_cuda": "10.1"}
CUDA_11_2 = {"system_cuda": "11.2", "system_cudnn": "8.1"}
CUDA_11_8 = {"system_cuda": "11.8", "system_cudnn": "8.6"}

PLATFORMS = [
    ("tensorflow==2.10.1", "the last with CUDA on native Windows", {"os": "windows", "system_cuda": "11.2", "system_cudnn": "8.1"}, ""),
    ("tensorflow==2.11.0", "the first without", {"os": "windows"}, "windows-native-no-gpu"),
    ("tensorflow[and-cuda]==2.18.0", "under WSL the Linux wheels count", {"os": "wsl", "driver": "551.61"}, ""),
    ("torch==2.6.0", "the default wheel for Windows is the CPU's", {"os": "windows"}, "no-cuda-wheel-for-platform|cpu-only-build"),
    ("torch==2.9.1", "the default wheel for aarch64 is the CPU's", {"arch": "aarch64"}, "no-cuda-wheel-for-platform|cpu-only-build"),
    ("torch==2.9.1+cu128", "an official build for Windows; floor of 12 there: 528.33", {"os": "windows", "driver": "528.33"}, ""),
    ("torch==2.9.1+cu128", "one below it", {"os": "windows", "driver": "528.32"}, "driver-too-old"),
    (
        "jax[cuda12]==0.5.0",
        "its CUDA plugin is published for Linux only",
        {"os": "windows"},
        "windows-native-no-gpu|no-cuda-wheel-for-platform",
    ),
    (
        "torch==2.14.1",
        "the cuDNN for aarch64 and CUDA 13 has sm_110f",
        {"arch": "aarch64", "gpus": ("NVIDIA Thor",), "driver": "580.65.06"},
        "",
    ),
    (
        "torch==2.14.1",
        "a MIG instance has its GPU's capability",
        {"gpus": ("NVIDIA A100-SXM4-40GB MIG 1g.5gb",), "driver": "580.65.06"},
        "",
    ),
    (
        "onnxruntime-gpu==1.26.0",
        "its CUDA provider has sm_60",
        {"gpus": ("GTX 1080",), "driver": "580.65.06", "system_cuda": "12.8", "system_cudnn": "9.5"},
        "",
    ),
    ("onnxruntime-gpu==1.27.0", "and no longer has", {"gpus": ("GTX 1080",), "driver": "580.65.06"}, "gpu-too-old-for-build"),
    ("tf-nightly==2.23.0.dev20261026", "a nightly after the last release with CUDA there", {"os": "windows"}, "windows-native-no-gpu"),
    ("tensorflow==2.20.0rc0", "a candidate after it", {"os": "windows"}, "windows-native-no-gpu"),
    ("tensorflow-cpu==2.16.1", "built without CUDA", {}, "cpu-only-build"),
    ("jax==0.6.0", "CUDA comes with a plugin, which nobody asked for", {}, "cpu-only-build"),
]


@pytest.mark.parametrize(("requirement", "fact", "fields", "cause"), PLATFORMS)
def test_platforms_and_builds(requirement: str, fact: str, fields: dict[str, Any], cause: str) -> None:
    expect(checked(requirement, **{"gpus": ("RTX 3090",), **fields}), cause, fact)


LIBRARIES = [
    (("tensorflow==2.14.0",), "the first release whose CUDA an extra brings", {}, "cuda-library-missing"),
    (("tensorflow==2.18.0",), "the extra was forgotten", {"os": "wsl"}, "cuda-library-missing"),
    (("tensorflow[and-cuda]==2.14.0",), "the extra brings CUDA", {}, ""),
    (("tensorflow==2.13.1",), "before the extra: it opens the system's", CUDA_11_8, ""),
    (("tensorflow==2.18.0",), "the system's CUDA 12 and cuDNN 9", {"system_cuda": "12.5", "system_cudnn": "9.3"}, ""),
    (("tensorflow==2.18.0",), "the system's CUDA 11", {"system_cuda": "11.8"}, "cuda-version-mismatch"),
    (("tensorflow==2.18.0", "tensorflow-text==2.18.0"), "an add-on changes nothing", {}, "cuda-library-missing"),
    (("tensorflow==2.18.0", "torch==2.7.1"), "torch brings CUDA 12 and a cuDNN that is new enough", {}, ""),
    (("tensorflow[and-cuda]==2.16.1",), "its RUNPATH names no folder of NVIDIA's packages", {}, "pip-nvidia-libs-not-on-path"),
    (("tensorflow[and-cuda]==2.16.1",), "what they hold is on the system", {"system_cuda": "12.3", "system_cudnn": "8.9"}, ""),
    (("tensorflow[and-cuda]==2.16.1",), "without a cuDNN of the system", {"system_cuda": "12.3"}, "pip-nvidia-libs-not-on-path"),
    (("tensorflow[and-cuda]==2.16.2",), "finds all of them", {}, ""),
    (("tensorflow[and-cuda]==2.21.0",), "does not name cuSOLVER's folder", {}, "pip-nvidia-libs-not-on-path"),
    (("tensorflow[and-cuda]==2.21.0",), "cuSOLVER of the system", {"system_cuda": "12.5"}, ""),
]


@pytest.mark.parametrize(("requirements", "fact", "fields", "cause"), LIBRARIES)
def test_the_libraries_that_tensorflow_opens(requirements: tuple[str, ...], fact: str, fields: dict[str, Any], cause: str) -> None:
    expect(checked(*requirements, gpus=(A100,), **fields), cause, fact)


@pytest.mark.parametrize(
    ("requirement", "verdict"), [("tensorflow==2.18.0", Verdict.UNKNOWN), ("tensorflow[and-cuda]==2.18.0", Verdict.READY)]
)
def test_beside_a_systems_cuda_its_cudnn_is_stated_too(requirement: str, verdict: Verdict) -> None:
    found = checked(requirement, system_cuda="12.5")
    assert found.verdict is verdict
    assert ["--system-cudnn" in unchecked.reason for unchecked in found.unchecked] == [True] * (verdict is Verdict.UNKNOWN)


def test_the_fix_for_missing_libraries_is_the_nearest_release_that_finds_them() -> None:
    for stated, release in (("2.16.1", "2.16.2"), ("2.21.0", "2.20.0"), ("2.18.0", "2.18.0")):
        for extra in ("", "[and-cuda]"):
            found = checked(f"tensorflow{extra}=={stated}", gpus=(A100,), python="3.12")
            fixes = [fix for finding in found.root_causes for fix in finding.fixes]
            if not fixes:
                assert (stated, extra) == ("2.18.0", "[and-cuda]")
                continue
            assert fixes[0].command == f"python3.12 -m pip install 'tensorflow[and-cuda]=={release}'"
            assert checked(f"tensorflow[and-cuda]=={release}", gpus=(A100,), python="3.12").verdict in {Verdict.READY, Verdict.DEGRADED}


def test_the_fix_for_an_old_gpu_can_be_another_official_build() -> None:
    found = checked("torch==2.15.0", gpus=("GTX 1080",), python="3.12", driver="580.65.06")
    expect(found, "gpu-too-old-for-build", "the index's build starts at sm_75")
    assert "torch==2.15.0+cu126" in found.root_causes[0].fixes[0].command
    assert checked("torch==2.15.0+cu126", gpus=("GTX 1080",), driver="580.65.06").verdict in {Verdict.READY, Verdict.DEGRADED}


REFUSED_PTX = [
    ("tensorflow[and-cuda]==2.16.2", "RTX 5080", "gpu-too-new-for-build"),
    ("tensorflow[and-cuda]==2.20.0", "B200", "gpu-too-new-for-build"),
    ("tensorflow[and-cuda]==2.21.0", "RTX 5090", "gpu-too-new-for-build"),
    ("tensorflow[and-cuda]==2.20.0", "H100", ""),
]


@pytest.mark.parametrize(("requirement", "gpu", "cause"), REFUSED_PTX)
def test_refused_ptx_does_not_count(requirement: str, gpu: str, cause: str) -> None:
    found = checked(requirement, gpus=(gpu,))
    expect(found, cause, "TensorFlow 2.16 to 2.21 on compute capability 10.0 and newer")
    if cause:
        assert "CUDA_ERROR_INVALID_PTX" in found.root_causes[0].message
        assert any("tensorflow-issue-" in seen.where for seen in found.root_causes[0].evidence)


TOGETHER = [
    (("tensorflow[and-cuda]==2.16.2", "tf-keras==2.16.0"), "tf-keras 2.16 requires tensorflow 2.16", {}, ""),
    (("tensorflow[and-cuda]==2.17.0", "tf-keras==2.16.0"), "tf-keras 2.16 requires tensorflow 2.16", {}, "package-requirement-conflict"),
    (("tensorflow[and-cuda]==2.15.1", "tf-keras==2.15.0"), "tf-keras 2.15.0 leaves it open, 2.15.1 requires 2.15", {}, ""),
    (("tensorflow[and-cuda]==2.16.2", "tf-keras==2.15.0"), "the same", {}, "package-requirement-conflict"),
    (("tensorflow[and-cuda]==2.15.1", "keras==3.0.0"), "TensorFlow 2.15 requires Keras 2.15", {}, "keras3-mismatch"),
    (("tensorflow[and-cuda]==2.17.0", "keras==2.15.0"), "TensorFlow 2.17 requires Keras 3", {}, "keras3-mismatch"),
    (("torch==1.7.1", "numpy==1.19.5"), "the last NumPy for Python 3.6", {"python": "3.6"}, ""),
    (("torch==1.7.1", "numpy==1.20.0"), "the last NumPy for Python 3.6 is 1.19.5", {"python": "3.6"}, "python-version-unsupported"),
    (("torch==2.2.0", "numpy==1.26.4"), "built for NumPy 1", {}, ""),
    (("torch==2.2.0", "numpy==2.1.0"), "built for NumPy 1", {}, "numpy2-abi-mismatch"),
    (("torch==2.3.0", "numpy==2.1.0"), "runs with NumPy 2", {}, ""),
    (("tensorflow[and-cuda]==2.17.0", "numpy==1.26.4"), "requires numpy<2.0.0", {}, ""),
    (("tensorflow==2.17.0", "numpy==2.0.0"), "requires numpy<2.0.0", {}, "numpy2-abi-mismatch|package-requirement-conflict"),
    (("torch==2.5.1", "torchvision==0.20.1"), "torchvision requires torch==2.5.1", {}, ""),
    (("torch==2.5.1", "torchvision==0.19.1"), "torchvision requires torch==2.4.1", {}, "torch-torchvision-mismatch"),
    (("torch==2.5.1", "torchaudio==2.4.1"), "torchaudio requires torch==2.4.1", {}, "torch-torchaudio-mismatch"),
    (("torch==2.12.0", "torchaudio==2.11.0"), "torchaudio 2.11 runs with every later torch for its CUDA, 13.0", {}, ""),
    (("torch==2.15.0", "torchaudio==2.11.0"), "the index's torch is for CUDA 13.2", {}, "torch-torchaudio-mismatch"),
    (("torch==2.15.0+cu130", "torchaudio==2.11.0"), "the build for CUDA 13.0", {}, ""),
    (("torch==2.5.1", "nvidia-cudnn-cu12==9.3.0.75"), "requires cuDNN 9.1.0.70 exactly", {}, "nvidia-wheel-version-conflict"),
    (("torch==2.4.0", "opencv-python==4.9.0.80", "numpy==1.26.4"), "its module is for NumPy 1", {}, ""),
    (("torch==2.4.0", "opencv-python==4.10.0.82", "numpy==2.0.0"), "its module is for NumPy 1", {}, "package-requirement-conflict"),
    (("torch==2.4.0", "opencv-python==4.10.0.84", "numpy==2.0.0"), "its module is for NumPy 2", {}, ""),
    (("torch==2.4.1", "tensorflow-cpu==2.17.0"), "the CPU was asked for by name, and torch has the GPU", {}, ""),
    (("tensorflow-cpu==2.17.0",), "nothing has the GPU", {}, "cpu-only-build"),
    (("torch==2.4.1+cpu", "tensorflow-cpu==2.17.0"), "nothing has the GPU", {}, "cpu-only-build"),
    (("torch==2.5.1", "tensorflow[and-cuda]==2.18.0"), "pin different releases of cuBLAS", {}, "nvidia-wheel-version-conflict"),
    (("jax[cuda12]==0.6.0", "jax-cuda12-plugin==0.5.0"), "the plugin is of jax 0.5.0", {}, "jax-plugin-version-mismatch"),
    (("tensorflow[and-cuda]==2.20.0", "nvidia-cudnn-cu12==9.10.2.21"), "the last cuDNN 9 for CUDA 12 with sm_70", {"gpus": (V100,)}, ""),
    (("tensorflow[and-cuda]==2.20.0", "nvidia-cudnn-cu12==9.11.0.98"), "starts at sm_75", {"gpus": (V100,)}, "cudnn-drops-gpu"),
    (("tensorflow[and-cuda]==2.20.0", "nvidia-cudnn-cu12==9.11.0.98"), "starts at sm_75", {"gpus": (T4,)}, ""),
    (
        ("tensorflow[and-cuda]==2.18.0", "nvidia-cudnn-cu12==8.9.7.29"),
        "requires cuDNN 9.3 or newer",
        {"gpus": (V100,)},
        "cudnn-wrong-major|cudnn-version-mismatch",
    ),
    (("tensorflow==2.12.0",), "requires a jax of the time, not the newest", {"gpus": (A100,), **CUDA_11_8}, ""),
    (("tensorflow==2.12.1", "jax[cuda12]==0.4.30"), "each loads its own CUDA", {"gpus": (A100,), **CUDA_11_8}, ""),
    (("tensorflow==2.12.1", "tensorflow-hub==0.16.1"), "it imports tf-keras beside Keras 3 alone", CUDA_11_8, ""),
    (("tensorflow==2.12.1", "tensorflow-text==2.12.1"), "it requires tensorflow-hub", CUDA_11_8, ""),
    (("tensorflow[and-cuda]==2.17.0", "tensorflow-hub==0.16.1"), "it imports a tf-keras that fits", {}, ""),
    (("tensorflow==1.15.0", "keras==2.2.5"), "it calls tf.get_default_graph", CUDA_10_0, ""),
    (("tensorflow-gpu==2.2.0", "keras==2.2.5"), "which TensorFlow 2.0 lost", CUDA_10_1, "package-requirement-conflict"),
    (("tensorflow-gpu==2.2.0", "keras==2.3.1"), "it calls _TensorLike", CUDA_10_1, ""),
    (("tensorflow-gpu==2.3.0", "keras==2.3.1"), "which TensorFlow 2.3 lost", CUDA_10_1, "package-requirement-conflict"),
    (("tensorflow-gpu==2.3.0", "tensorflow-addons==0.12.1"), "for TensorFlow 2.3 and 2.4", CUDA_10_1, ""),
    (("tensorflow-gpu==2.3.0", "tensorflow-addons==0.14.0"), "for TensorFlow 2.4 to 2.6", CUDA_10_1, "package-requirement-conflict"),
    (("tensorflow[and-cuda]==2.17.0", "tensorflow-probability==0.24.0"), "it imports tf_keras", {}, "package-requirement-conflict"),
    (("tensorflow[and-cuda]==2.17.0", "tensorflow-probability==0.24.0", "tf-keras==2.17.0"), "and finds it", {}, ""),
    (("tensorflow[and-cuda]==2.17.0", "tensorflow-probability==0.24.0", "tf-keras"), "and finds it", {}, ""),
    (("tensorflow[and-cuda]==2.15.1", "tensorflow-probability==0.23.0"), "it uses tf.keras", {}, ""),
    (("tensorflow[and-cuda]==2.17.0", "transformers==4.45.0"), "it refuses Keras 3", {}, "package-requirement-conflict"),
    (("tensorflow[and-cuda]==2.15.1", "transformers==4.45.0"), "TensorFlow 2.15 has Keras 2", {}, ""),
    (("torch==2.9.1", "torchaudio==2.9.1"), "without torchcodec only load and save fail", {}, ""),
    (("tensorflow[and-cuda]==2.17.0", "tensorflow-addons==0.23.0"), "its extra ends at 2.15", {}, "package-requirement-conflict"),
    (("jax==0.5.0", "jax-metal==0.1.1"), "it requires jax 0.4.34", {"os": "macos"}, ""),
    (("tensorflow-macos==2.15.0", "tensorflow-metal==1.1.0"), "it works with 2.14 to 2.17", {"os": "macos"}, ""),
    (("tensorflow-macos==2.15.1", "tensorflow-metal==1.1.0"), "its wheel has no files", {"os": "macos"}, "broken-release"),
    (("tensorflow-macos", "tensorflow-metal"), "the newest only requires tensorflow", {"os": "macos"}, ""),
    (("jax==0.5.1", "jax-metal==0.1.1"), "the issue about 0.5.1", {"os": "macos"}, "package-requirement-conflict"),
    (("torchcodec==0.7.0", "torch==2.8.0"), "its table names torch 2.8", {}, ""),
    (("torchcodec==0.7.0", "torch==2.9.0"), "its table names torch 2.8", {}, "package-requirement-conflict"),
    (("torchtext==0.18.0", "torch==2.4.0"), "does not load with torch 2.4", {}, "package-requirement-conflict"),
    (("tensorflow-io==0.36.0", "tensorflow==2.15.1"), "its extra names 2.15", CUDA_12_2, ""),
    (("tensorflow-io==0.36.0", "tensorflow==2.17.0"), "its extra names 2.15", CUDA_12_2, "package-requirement-conflict"),
    (("tensorflow-probability==0.25.0", "tensorflow==2.17.0"), "it demands 2.18", CUDA_12_2, "package-requirement-conflict"),
    (("transformers==4.57.0", "torch==2.1.2"), "it demands 2.2", {}, "package-requirement-conflict"),
    (("transformers==4.52.4", "torch==2.8.0"), "its bound of tests alone excludes 2.7", {}, ""),
    (("warp-lang==1.9.1",), "built with CUDA 12", {"gpus": (V100,), "driver": "525.60.13"}, ""),
    (("warp-lang==1.9.1",), "built with CUDA 12", {"gpus": (V100,), "driver": "515.65.01"}, "driver-too-old"),
    (("jax[cuda12]==0.6.0",), "brings its own CUDA", {"system_cuda": "11.8"}, ""),
    (("jax[cuda12-local]==0.6.0",), "takes the system's", {"system_cuda": "11.8"}, "cuda-version-mismatch"),
    (("tensorflow-cpu==2.10.0", "tensorflow-directml-plugin==0.4.0.dev230202"), "reaches the GPU by DirectML", {"os": "windows"}, ""),
    (("torch==2.4.1", "torch-directml==0.2.5.dev240914"), "the same", {"os": "windows"}, ""),
    (("torch==2.6.0+cu124", "triton-windows==3.2.0.post19"), "its README: for torch 2.6", {"os": "windows"}, ""),
    (("torch==2.7.1+cu126", "triton-windows==3.2.0.post19"), "its README leaves that open", {"os": "windows"}, ""),
    (
        ("torch==2.6.0+cu124", "triton-windows==3.4.0.post21"),
        "its README: for torch 2.8",
        {"os": "windows"},
        "package-requirement-conflict",
    ),
    (("torch==2.4.1+cpu", "torch-directml==0.2.5.dev240914"), "DirectX is only on Windows and in WSL", {}, "cpu-only-build"),
    (("torch==2.1.2", "keras==2.15.0"), "it computes with TensorFlow alone", {}, "package-requirement-conflict"),
    (("jax[cuda12]==0.4.30", "keras==2.3.1"), "it has no backend for JAX", {}, "package-requirement-conflict"),
    (("torch==2.1.2", "keras==2.15.0", "tensorflow-cpu==2.15.1"), "and finds it", {}, ""),
    (("torch==2.4.0", "keras==3.4.0"), "Keras 3 computes with PyTorch", {}, ""),
    (("torch==1.7.1", "pytorch-lightning==1.5.10"), "it requires torch>=1.7", {"python": "3.7"}, ""),
    (("torch==1.6.0", "pytorch-lightning==1.5.10"), "it requires torch>=1.7", {"python": "3.7"}, "package-requirement-conflict"),
    (
        ("torch==1.7.1", "transformers==3.0.2", "tokenizers==0.9.4"),
        "it requires 0.8.1rc1",
        {"python": "3.7"},
        "package-requirement-conflict",
    ),
    (("tensorflow==2.5.3", "tensorflow-text==2.5.0"), "of the same minor version", CUDA_11_2, ""),
    (("tensorflow==2.5.3", "tensorflow-text==2.4.3"), "of another minor version", CUDA_11_2, "package-requirement-conflict"),
    (("tensorflow==2.11.0", "tensorflow-hub==0.16.0"), "it demands 1.15", CUDA_11_2, ""),
    (("tensorflow==2.11.0", "tensorflow-hub"), "the newest for Python 3.7 requires no tf-keras", {"python": "3.7", **CUDA_11_2}, ""),
    (("tensorflow-gpu==1.14.0", "tensorflow-hub==0.12.0"), "it demands 1.15", CUDA_10_0, "package-requirement-conflict"),
    (("tensorflow==2.2.0", "tensorflow-addons==0.10.0"), "for TensorFlow 2.2", CUDA_10_1, ""),
    (("tensorflow==2.1.0", "tensorflow-addons==0.10.0"), "for TensorFlow 2.2", CUDA_10_1, "package-requirement-conflict"),
    (("cupy-cuda101==8.3.0",), "built with CUDA 10.1", {"gpus": (V100,), "driver": "418.39", "system_cuda": "10.1"}, ""),
    (("cupy-cuda92==7.8.0",), "built with CUDA 9.2", {"gpus": (V100,), "driver": "418.39", "system_cuda": "10.1"}, "cuda-version-mismatch"),
    (("cupy-cuda12x==13.6.0",), "CUDA 12, floor of 12: 525.60.13", {"driver": "525.60.13", "system_cuda": "12.0"}, ""),
    (("cupy-cuda12x==13.6.0",), "one below it", {"driver": "525.60.12"}, "driver-too-old"),
    (("cupy-cuda12x==13.6.0",), "takes the system's CUDA 12", {"system_cuda": "12.4"}, ""),
    (("cupy-cuda11x==13.6.0",), "takes the system's CUDA, which is not 11", {"system_cuda": "12.4"}, "cuda-version-mismatch"),
    (("onnxruntime-gpu==1.20.0",), "built with CUDA 12", {"system_cuda": "11.8"}, "cuda-version-mismatch"),
    (("paddlepaddle-gpu==2.6.1",), "wheels for 3.8 to 3.12", {"python": "3.13"}, "python-version-unsupported"),
    (("tensorflow==2.10.0",), "built with CUDA 11.2 and cuDNN 8.1", {"system_cuda": "11.2", "system_cudnn": "8.1"}, ""),
    (("tensorflow==2.10.0",), "built with CUDA 11.2", {"system_cuda": "12.2"}, "cuda-version-mismatch"),
    (("tensorflow==2.10.0",), "built with cuDNN 8.1", {"system_cuda": "11.2", "system_cudnn": "7.6"}, "cudnn-wrong-major"),
    (("tensorflow==2.10.0",), "built with cuDNN 8.1", {"system_cuda": "11.2", "system_cudnn": "8.0"}, "cudnn-version-mismatch"),
    (("tensorflow==2.12.0",), "built with cuDNN 8.6", {"system_cuda": "11.8", "system_cudnn": "8.5"}, "cudnn-version-mismatch"),
    (("tensorflow==2.13.1",), "built with cuDNN 8.6", {"system_cuda": "11.8", "system_cudnn": "8.9"}, ""),
]


@pytest.mark.parametrize(("requirements", "fact", "fields", "cause"), TOGETHER)
def test_packages_that_must_match(requirements: tuple[str, ...], fact: str, fields: dict[str, Any], cause: str) -> None:
    expect(checked(*requirements, **fields), cause, fact)


MODULES = [
    ("B200", "570.124.06", "proprietary", "gpu-too-new-for-driver"),
    ("B200", "570.124.06", "open", ""),
    ("V100-SXM2", "550.54.15", "open", "driver-too-new-for-gpu"),
    ("V100-SXM2", "550.54.15", "proprietary", ""),
    ("GH200", "550.54.15", "proprietary", "gpu-too-new-for-driver"),
    ("H100", "550.54.15", "proprietary", ""),
    ("T4", "550.54.15", "open", ""),
]


@pytest.mark.parametrize(("gpu", "driver", "flavour", "cause"), MODULES)
def test_a_gpu_needs_one_flavour_of_kernel_modules(gpu: str, driver: str, flavour: str, cause: str) -> None:
    requirement = "torch==2.7.1" if cause or gpu != "B200" else "torch==2.8.0"
    expect(checked(requirement, gpus=(gpu,), driver=driver, kernel_module=flavour), cause, "open_from, open_only_from in drivers.csv")


@pytest.mark.parametrize(("gpu", "cause"), [("RTX 3090", "gpu-too-new-for-build"), ("RTX 2080 Ti", "")])
def test_a_build_for_cuda_10_computes_wrong_on_ampere(gpu: str, cause: str) -> None:
    found = checked("tensorflow==1.15.0", gpus=(gpu,), python="3.7", system_cuda="10.0", system_cudnn="7.6")
    expect(found, cause, "its PTX runs there, and cuBLAS and cuDNN of CUDA 10 have nothing for it")
    assert not cause or "NaN" in found.root_causes[0].message


def test_the_package_that_is_missing_is_installed_in_the_release_that_suits_the_framework() -> None:
    found = checked("tensorflow[and-cuda]==2.17.0", "tensorflow-probability==0.24.0", python="3.11")
    assert found.root_causes[0].fixes[0].installs == ("tf-keras==2.17.0",)


def test_beside_another_framework_a_missing_package_is_a_note() -> None:
    found = checked("tensorflow-cpu==2.17.0", "jax[cuda12]==0.4.30", "tensorflow-probability==0.24.0")
    assert [finding.severity.value for finding in found.findings if finding.name == "package-requirement-conflict"] == ["note"]


def expect(diagnosis: Diagnosis, cause: str, fact: str) -> None:
    """The first root cause has one of these names; or there is none and it works."""
    roots = [finding.name for finding in diagnosis.root_causes if finding.severity.value == "error"]
    if not cause:
        assert (roots, diagnosis.verdict in {Verdict.READY, Verdict.DEGRADED}) == ([], True), fact
        return
    assert diagnosis.verdict is Verdict.BROKEN, fact
    assert re.fullmatch(cause, roots[0]), (fact, roots)


def test_each_stated_framework_must_work() -> None:
    """On a real machine TensorFlow alone would keep the environment usable; here both were requested."""
    found = checked("tensorflow[and-cuda]==2.20.0", "torch==2.12.1", gpus=(A100,), driver="560.35.03")
    assert found.verdict is Verdict.BROKEN
    assert [cause.subject.key for cause in found.root_causes if cause.name == "driver-too-old"] == ["torch"]
