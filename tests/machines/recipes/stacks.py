"""Machines whose packages match or do not match one another; GPU and driver are healthy on all of them."""

from __future__ import annotations

from dataclasses import replace

from tests.machines.packages import Package, jax_plugin, tensorflow, tensorflow_cpu, torch
from tests.machines.recipes.base import Recipe, healthy
from tests.machines.recipes.cuda import JAX


def having(about: str, *packages: Package, roots: tuple[str, ...] = (), verdict: str = "", folded: tuple[str, ...] = ()) -> Recipe:
    """A healthy server with these packages; a root is an error unless a verdict is given."""
    return healthy(about=about, packages=packages, roots=roots, folded=folded, verdict=verdict or ("broken" if roots else "ready"))


def requiring(package: Package, *requires: str) -> Package:
    """A distribution with lines of Requires-Dist from published ones."""
    return replace(package, requires=requires)


def variant(package: Package, label: str, oldest_cuda: str) -> Package:
    """A package from a variant wheel, with the metadata that an installer keeps (PEP 825)."""
    text = '{"variants": {"%s": {"nvidia": {"cuda_version_lower_bound": ["%s"]}}}}' % (label, oldest_cuda)  # noqa: UP031 -- braces
    return replace(package, files={**package.files, f"{package.name}-{package.version}.dist-info/variant.json": text})


def recorded(package: Package) -> Package:
    """A package with the RECORD that an installer writes."""
    rows = "".join(f"{path},sha256=,{len(text)}\n" for path, text in package.files.items())
    return replace(package, files={**package.files, f"{package.name}-{package.version}.dist-info/RECORD": rows})


TF_2_15 = requiring(tensorflow("2.15.1", "12.2", "8"), "keras<2.16,>=2.15.0", "numpy<2.0.0,>=1.23.5")
TF_2_17 = requiring(
    tensorflow("2.17.0", "12.3", "8"), "numpy<2.0.0,>=1.26.0; python_version >= '3.12'", "numpy<2.0.0,>=1.23.5; python_version <= '3.11'"
)
TF_2_21 = requiring(tensorflow("2.21.0", "12.5.1", "9"), "absl-py>=1.0.0", "protobuf<8.0.0,>=6.31.1", "numpy>=1.26.0")
TORCH = requiring(
    torch("2.6.0+cu124", "12.4"),
    'nvidia-cublas-cu12==12.4.5.8; platform_system == "Linux" and platform_machine == "x86_64"',
    'nvidia-nccl-cu12==2.21.5; platform_system == "Linux" and platform_machine == "x86_64"',
    'triton==3.2.0; platform_system == "Linux" and platform_machine == "x86_64"',
)
WHEELS = (Package("nvidia_cublas_cu12", "12.4.5.8"), Package("nvidia_nccl_cu12", "2.21.5"))
VISION_0_21 = requiring(Package("torchvision", "0.21.0"), "numpy", "torch==2.6.0", "pillow!=8.3.*,>=5.3.0")
VISION_0_20 = requiring(Package("torchvision", "0.20.1"), "numpy", "torch==2.5.1", "pillow!=8.3.*,>=5.3.0")
JAX_0_4_38 = requiring(
    JAX,
    "jaxlib<=0.4.38,>=0.4.38",
    'jaxlib==0.4.36; extra == "minimum-jaxlib"',
    'jax-cuda12-plugin[with_cuda]<=0.4.38,>=0.4.38; extra == "cuda12"',
)
JAX_0_5_3 = replace(JAX, version="0.5.3", files={path: text.replace("0.4.38", "0.5.3") for path, text in JAX.files.items()})

RECIPES: dict[str, Recipe] = {
    "numpy-2-under-a-build-for-numpy-1": having(
        "TensorFlow 2.17, which is compiled for NumPy 1, and NumPy 2", TF_2_17, Package("numpy", "2.0.2"), roots=("numpy2-abi-mismatch",)
    ),
    "numpy-1-under-a-build-for-numpy-1": having("the same with the newest NumPy 1", TF_2_17, Package("numpy", "1.26.4")),
    "numpy-newer-than-allowed": having(
        "a NumPy 2 that is only newer than TensorFlow 2.18 allows",
        requiring(tensorflow("2.18.0", "12.5.1", "9"), "numpy<2.1.0,>=1.26.0"),
        Package("numpy", "2.1.0"),
        roots=("package-requirement-conflict",),
        verdict="degraded",
    ),
    "protobuf-older-than-its-code": having(
        "protobuf 5 under a TensorFlow whose code protobuf 6 generated",
        TF_2_21,
        Package("protobuf", "5.29.5"),
        roots=("protobuf-mismatch",),
    ),
    "protobuf-at-the-bound": having("exactly the oldest protobuf that TensorFlow allows", TF_2_21, Package("protobuf", "6.31.1")),
    "keras-3-under-tensorflow-2.15": having(
        "Keras 3 beside TensorFlow 2.15, as another package's installation leaves it",
        TF_2_15,
        Package("keras", "3.0.0"),
        roots=("keras3-mismatch",),
    ),
    "keras-2-under-tensorflow-2.15": having("TensorFlow 2.15 with its own Keras", TF_2_15, Package("keras", "2.15.0")),
    "torch-variant-for-a-newer-driver": having(
        "torch 2.6.0 as the wheel variant for CUDA 13, from an image for newer drivers",
        variant(TORCH, "cu130", "13.0"),
        *WHEELS,
        roots=("wheel-variant-mismatch",),
    ),
    "torch-variant-for-this-driver": having("torch 2.6.0 as the wheel variant for CUDA 12.4", variant(TORCH, "cu124", "12.4"), *WHEELS),
    "jax-plugin-of-another-release": having(
        "JAX 0.5.3 whose CUDA plugin was left at 0.5.1",
        requiring(JAX_0_5_3, "jaxlib<=0.5.3,>=0.5.3"),
        Package("jaxlib", "0.5.3"),
        Package("jax_cuda12_plugin", "0.5.1"),
        roots=("jax-plugin-version-mismatch",),
    ),
    "jax-plugin-that-nobody-compares": having(
        "JAX 0.4.38 whose CUDA plugin was left at 0.4.36: this jaxlib takes any",
        JAX_0_4_38,
        Package("jaxlib", "0.4.38"),
        Package("jax_cuda12_plugin", "0.4.36"),
        verdict="unknown",
    ),
    "jax-of-one-release": having("JAX 0.4.38 in parts of one release", JAX_0_4_38, Package("jaxlib", "0.4.38"), jax_plugin("0.4.38")),
    "torchvision-for-another-torch": having(
        "torch was upgraded and torchvision was not", TORCH, *WHEELS, VISION_0_20, roots=("torch-torchvision-mismatch",), verdict="degraded"
    ),
    "torchvision-and-torchaudio-for-this-torch": having(
        "torch with the torchvision and torchaudio of its release",
        TORCH,
        *WHEELS,
        VISION_0_21,
        requiring(Package("torchaudio", "2.6.0"), "torch==2.6.0"),
    ),
    "torchaudio-for-another-cuda": having(
        "torch for CUDA 12.4 beside a torchaudio of its release for CUDA 11.8",
        replace(TORCH, version="2.6.0+cu124"),
        *WHEELS,
        requiring(Package("torchaudio", "2.6.0+cu118"), "torch==2.6.0"),
        roots=("torch-torchaudio-mismatch",),
        verdict="degraded",
    ),
    "nvidia-wheels-of-another-release": having(
        "the cuBLAS that torch pins was upgraded by another installation",
        TORCH,
        Package("nvidia_cublas_cu12", "12.6.4.1"),
        WHEELS[1],
        roots=("nvidia-wheel-version-conflict",),
        verdict="degraded",
    ),
    "nccl-for-two-cudas": having(
        "NCCL's packages for CUDA 12 and 13, which hold the same file",
        TORCH,
        *WHEELS,
        Package("nvidia_nccl_cu13", "2.27.7"),
        roots=("nvidia-wheel-version-conflict",),
        verdict="degraded",
    ),
    "two-cupy-wheels": having(
        "CuPy for CUDA 11 and for CUDA 12 in one environment",
        TORCH,
        *WHEELS,
        Package("cupy_cuda11x", "13.3.0"),
        Package("cupy_cuda12x", "13.3.0"),
        roots=("cupy-wheel-cuda-mismatch",),
        verdict="degraded",
    ),
    "cupy-for-the-cuda-that-is-there": having(
        "CuPy for CUDA 12 with its runtime as a package",
        TORCH,
        *WHEELS,
        Package("cupy_cuda12x", "13.3.0"),
        Package("nvidia_cuda_runtime_cu12", "12.4.127"),
    ),
    "two-tensorflows-in-one-folder": having(
        "tensorflow and tensorflow-cpu, which hold the same files",
        tensorflow_cpu("2.18.0"),
        tensorflow("2.18.0", "12.5.1", "9"),
        roots=("two-copies-of-framework",),
        verdict="degraded",
    ),
    "xgboost-over-its-cpu-build": having(
        "xgboost and xgboost-cpu, which hold the same files; the one without CUDA was installed last",
        TORCH,
        *WHEELS,
        recorded(Package("xgboost", "3.0.5", {"xgboost/__init__.py": "# with CUDA\n"})),
        recorded(Package("xgboost_cpu", "3.0.5", {"xgboost/__init__.py": "# without\n"})),
        roots=("packages-overwrite-each-other",),
        verdict="degraded",
    ),
    "xgboost-alone": having(
        "only the one with CUDA", TORCH, *WHEELS, recorded(Package("xgboost", "3.0.5", {"xgboost/__init__.py": "# with CUDA\n"}))
    ),
    "xformers-for-another-torch": having(
        "xformers is pinned to a torch that is no longer there",
        TORCH,
        *WHEELS,
        requiring(Package("xformers", "0.0.29"), "numpy", "torch==2.5.1"),
        roots=("package-requirement-conflict",),
        verdict="degraded",
    ),
}
