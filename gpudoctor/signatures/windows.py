"""What Python, PyTorch and TensorFlow say on Windows when a DLL cannot be loaded, and what installers say to a 32-bit Python."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

_TORCH_DLL = r"\\torch\\lib\\\w{2,40}\.dll|\bc10\.dll|\bfbgemm\.dll"

WINDOWS = (
    # torch/__init__.py and tensorflow/python/platform/self_check.py
    Signature(
        r"Microsoft Visual C\+\+ Redistributable is not installed|Could not find the DLL\(s\) 'msvcp|Could not find 'msvcp\d{2,3}",
        ("msvc-redistributable-missing",),
        "the Microsoft Visual C++ Redistributable is not installed",
        (
            "Microsoft Visual C++ Redistributable is not installed, this may lead to the DLL load failure.",
            "Could not find the DLL(s) 'msvcp140_1.dll'. TensorFlow requires that these DLLs be installed",
        ),
    ),
    # https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes
    Signature(
        r"\[WinError 1455\]|paging file is too small for this operation",
        ("host-memory-insufficient",),
        "the Windows paging file is too small to load the library",
        ("OSError: [WinError 1455] The paging file is too small for this operation to complete.",),
    ),
    Signature(
        r"WinError 193\]|DLL load failed[^\n]{0,80}not a valid Win32 application|win32 \(32[- ]bit\) is not supported",
        ("python-32bit", "framework-files-damaged"),
        "a 32-bit program tried to load a 64-bit library",
        ("OSError: [WinError 193] %1 is not a valid Win32 application", "DLL load failed: %1 is not a valid Win32 application."),
        tells="python -c 'import struct; print(8 * struct.calcsize(\"P\"))'",
    ),
    # cuDNN's libraries from two releases: https://github.com/PaddlePaddle/PaddleOCR/issues/14904
    Signature(
        r"WinError 127\][^\n]{0,300}\bcudnn\w{0,30}64_\d{1,2}\.dll",
        ("cudnn-version-mismatch", "cudnn-shadowed-by-system", "nvidia-wheel-version-conflict"),
        "cuDNN libraries of different versions are loaded, and one lacks a function that another calls",
        (
            r'OSError: [WinError 127] The specified procedure could not be found. Error loading "C:\venv\Lib\site-packages\paddle\..\nvidia\cudnn\bin\cudnn_cnn64_9.dll"',
        ),
        tells="where cudnn64_9.dll cudnn64_8.dll; pip list | findstr cudnn",
    ),
    # https://github.com/pytorch/pytorch/issues/131662, https://github.com/tensorflow/tensorflow/issues/39502
    Signature(
        rf"WinError (?:126|127|1114)\][^\n]{{0,200}}(?:{_TORCH_DLL}|[ .]Error loading$)|(?:\\|[\"'])torch\\lib\\(?!fbgemm)\w{{2,40}}\.dll[\"']? or one of"
        # ctypes of Python 3.8 and newer
        r"|Could not find module '(?:[^'\n]{0,200}[\\/])?(?:torch|c10|caffe2|fbgemm|asmjit|shm|libiomp5md)\w{0,20}\.dll' \(or one of its dependencies\)",
        ("msvc-redistributable-missing", "framework-files-damaged", "cpu-lacks-avx"),
        "Windows cannot load a library of PyTorch or one that it needs",
        (
            r'OSError: [WinError 126] The specified module could not be found. Error loading "C:\venv\Lib\site-packages\torch\lib\fbgemm.dll"',
        ),
        tells="where msvcp140.dll vcruntime140_1.dll",
    ),
    # ERROR_INVALID_ORDINAL: MKL's OpenMP and LLVM's have one file name: https://github.com/robotology/robotology-superbuild/pull/1702
    Signature(
        r"WinError 182\]|DLL load failed[^\n]{0,80}operating system cannot run",
        ("mkl-version-incompatible", "mixed-conda-pip", "framework-files-damaged"),
        "the loaded library does not match PyTorch, usually the OpenMP runtime of MKL",
        (
            r'OSError: [WinError 182] The operating system cannot run %1. Error loading "D:\env\Lib\site-packages\torch\lib\shm.dll"',
            "ImportError: DLL load failed: The operating system cannot run %1.",
        ),
        tells="conda list | findstr openmp",
    ),
    # flash-attention's, Mamba's and vLLM's compiled modules, which need PyTorch's DLLs for CUDA
    Signature(
        r"DLL load failed while importing (?:flash_attn\w{0,8}_cuda|selective_scan_cuda|causal_conv1d_cuda|exllamav2_ext|vllm\._C): The specified procedure",
        ("extension-abi-mismatch",),
        "an extension asks PyTorch's libraries for a function that this release lacks",
        ("ImportError: DLL load failed while importing flash_attn_2_cuda: The specified procedure could not be found.",),
    ),
    Signature(
        r"DLL load failed while importing (?:flash_attn\w{0,8}_cuda|selective_scan_cuda|causal_conv1d_cuda|exllamav2_ext|vllm\._C): ",
        ("extension-built-for-other-cuda", "extension-abi-mismatch", "cpu-only-build", "cuda-library-missing"),
        "Windows cannot load a compiled extension of PyTorch or a library that it needs",
        ("ImportError: DLL load failed while importing flash_attn_2_cuda: The specified module could not be found.",),
        vague=True,
        tells="python -c 'import torch; print(torch.version.cuda)'",
    ),
    Signature(
        r"DLL load failed(?: while importing (?:_pywrap_tensorflow\w{0,20}|onnxruntime_pybind11_state|libtriton|_jax|xla_extension))?: ",
        ("msvc-redistributable-missing", "cpu-lacks-avx", "cuda-library-missing", "cuda-version-mismatch"),
        "Windows cannot load a library of the framework or one that it needs",
        (
            "ImportError: DLL load failed while importing _pywrap_tensorflow_internal: The specified module could not be found.",
            "ImportError: DLL load failed: A dynamic link library (DLL) initialization routine failed.",
        ),
        tells="where msvcp140.dll vcruntime140_1.dll",
    ),
    Signature(
        r"nvcuda\.dll'?(?:; dlerror: nvcuda\.dll)? not found|Could not find 'nvcuda\.dll'|[Uu]nable to load \S{0,60}nvcuda\.dll",
        ("no-driver",),
        "Windows has no NVIDIA driver",
        ("Could not load dynamic library 'nvcuda.dll'; dlerror: nvcuda.dll not found",),
    ),
    # HIP and rocBLAS: https://github.com/ROCm/rocBLAS/issues/1299
    Signature(
        r"(?:HIP|ROCm) error: (?:[Ii]nvalid device function|no kernel image)|hipErrorNoBinaryForGpu|hipErrorInvalidDeviceFunction|TensileLibrary\S{0,40}\.dat[^\n]{0,80}for GPU arch",
        ("rocm-arch-unsupported",),
        "the ROCm build has no kernels for this GPU",
        (
            "RuntimeError: HIP error: invalid device function",
            "ROCm error: invalid device function",
            "rocBLAS error: Cannot read TensileLibrary.dat: No such file for GPU arch : gfx1103",
        ),
    ),
    # torch/cuda/__init__.py and c10/hip, hip_runtime_api.h
    Signature(
        r"No HIP GPUs are available|\bhipError(?:NoDevice|InvalidDevice)\b|no ROCm-capable device is detected|hipGetDeviceCount\(\)[^\n]{0,160}Error 10[01]\b",
        ("rocm-arch-unsupported", "device-permission-denied", "no-gpu"),
        "the ROCm build finds no GPU that it can use",
        ("RuntimeError: No HIP GPUs are available",),
    ),
    # TensorFlow's ROCm builds: tensorflow/core/common_runtime/gpu/gpu_device.cc
    Signature(
        r"with AMDGPU (?:ISA|version)\b[^\n]{0,40}The (?:minimum required AMDGPU ISA is|supported AMDGPU versions are)",
        ("rocm-arch-unsupported",),
        "TensorFlow's ROCm build has no kernels for this GPU",
        ("with AMDGPU version : gfx1032. The supported AMDGPU versions are gfx900, gfx906, gfx908.",),
    ),
)
