"""The CUDA libraries by name: a file's component, its wheel, and its soname in each CUDA version."""

from __future__ import annotations

STEMS = {
    "libcudart": "cudart",
    "libcublas": "cublas",
    "libcublasLt": "cublaslt",
    "libcufft": "cufft",
    "libcurand": "curand",
    "libcusolver": "cusolver",
    "libcusparse": "cusparse",
    "libcusparseLt": "cusparselt",
    "libcudnn": "cudnn",
    "libnccl": "nccl",
    "libnvrtc": "nvrtc",
    "libnvJitLink": "nvjitlink",
    "libcupti": "cupti",
    "libcufile": "cufile",
    "libnvshmem_host": "nvshmem",
    "libnvToolsExt": "nvtx",
    "libnvinfer": "tensorrt",
    "libnvjpeg": "nvjpeg",
    "libcuda": "cuda",
}
"""The part of a file name before .so, and its component."""

WHEELS = {
    "cudart": "cuda-runtime",
    "cublas": "cublas",
    "cublaslt": "cublas",
    "cufft": "cufft",
    "curand": "curand",
    "cusolver": "cusolver",
    "cusparse": "cusparse",
    "cusparselt": "cusparselt",
    "cudnn": "cudnn",
    "nccl": "nccl",
    "nvrtc": "cuda-nvrtc",
    "nvjitlink": "nvjitlink",
    "cupti": "cuda-cupti",
    "cufile": "cufile",
    "nvshmem": "nvshmem",
    "nvtx": "nvtx",
    "nvjpeg": "nvjpeg",
    "ptxas": "cuda-nvcc",
    "libdevice": "cuda-nvcc",
}
"""The wheel of a component: nvidia-WHEEL-cu12; for CUDA 13 nvidia-WHEEL, but nvidia-WHEEL-cu13 for cuDNN, NCCL and others."""

_SONAMES_BY_CUDA: tuple[tuple[tuple[int, int], dict[str, str]], ...] = (
    ((13, 0), {"cudart": "13", "cublas": "13", "cublaslt": "13", "cufft": "12", "curand": "10", "cusolver": "12", "cusparse": "12", "cupti": "13"}),
    ((12, 0), {"cudart": "12", "cublas": "12", "cublaslt": "12", "cufft": "11", "curand": "10", "cusolver": "11", "cusparse": "12", "cupti": "12"}),
    ((11, 1), {"cudart": "11.0", "cublas": "11", "cublaslt": "11", "cufft": "10", "curand": "10", "cusolver": "11", "cusparse": "11"}),
    ((11, 0), {"cudart": "11.0", "cublas": "11", "cublaslt": "11", "cufft": "10", "curand": "10", "cusolver": "10", "cusparse": "11"}),
    ((10, 1), {"cublas": "10", "cublaslt": "10", "cufft": "10", "curand": "10", "cusolver": "10", "cusparse": "10"}),
)  # fmt: skip
"""What follows .so. in sonames, from which CUDA version on; for 12 and 13 as in NVIDIA's wheels. Other libraries, and all before
CUDA 10.1, use the CUDA version itself: libcublas.so.10.0."""


def component(name: str) -> str | None:
    """The component of a file name or soname: libcudnn_ops.so.9 is cudnn; None if it is not CUDA's."""
    stem, found, _ = name.partition(".so")
    if not found:
        return None
    if stem.startswith(("libcudnn_", "libnvrtc-", "libnvinfer_")):
        stem = "libcudnn" if stem.startswith("libcudnn_") else stem[:8] if stem.startswith("libnvrtc-") else "libnvinfer"
    return STEMS.get(stem)


def soname(component: str, release: str) -> str | None:
    """The soname of the library in a build with CUDA `release` ("12.5.1", "11.2", "12"); None if unknown."""
    stem = next((stem for stem, one in STEMS.items() if one == component), None)
    digits = release.split(".")
    if stem is None or not digits[0].isdecimal():
        return None
    minor = digits[1] if len(digits) > 1 and digits[1].isdecimal() else ""
    key = (int(digits[0]), int(minor or "99"))
    for since, names in _SONAMES_BY_CUDA:
        if key >= since:
            suffix = names.get(component)
            return f"{stem}.so.{suffix}" if suffix else f"{stem}.so.{digits[0]}.{minor}" if minor else None
    return f"{stem}.so.{digits[0]}.{minor}" if minor else None


def cudnn_parts(major: str) -> tuple[str, ...]:
    """The libraries that libcudnn.so.MAJOR opens on demand, those with kernels first; cuDNN 7 and older is a single file."""
    parts = {
        "9": ("ops", "cnn", "adv", "graph", "engines_precompiled", "engines_runtime_compiled", "heuristic"),
        "8": ("ops_infer", "cnn_infer", "adv_infer", "ops_train", "cnn_train", "adv_train"),
    }
    return tuple(f"libcudnn_{part}.so.{major}" for part in parts.get(major, ()))
