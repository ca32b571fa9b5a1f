"""What frameworks, compilers and installers say when packages do not fit: read in the sources and binaries that the comments name."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

PACKAGES = (
    # torch/backends/cudnn/__init__.py of 2.15; the status is in cudnn.h
    Signature(
        r"cuDNN version \d{1,9} is not compatible with devices with SM|CUDNN_STATUS_ARCH_MISMATCH",
        ("cudnn-drops-gpu",),
        "cuDNN has no kernels for this GPU",
        ("cuDNN version 91100 is not compatible with devices with SM < 7.5", "CUDNN_STATUS_ARCH_MISMATCH"),
    ),
    # jax/_src/xla_bridge.py of 0.12
    Signature(
        r"CUDA-enabled jaxlib is not installed",
        ("cpu-only-build",),
        "JAX is installed without its CUDA plugin",
        ("An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed",),
    ),
    # tensorflow/python/framework/test_util.py's and build_info's answers as people print them
    Signature(
        r"is_built_with_(?:cuda|gpu_support)(?:\(\))?['\"]?\s{0,3}(?::|=|->|\)|returns?)\s{0,3}False\b|'is_cuda_build': False",
        ("cpu-only-build", "no-cuda-wheel-for-platform", "windows-native-no-gpu"),
        "this is a CPU-only build of TensorFlow",
        ("tf.test.is_built_with_cuda(): False", "'is_cuda_build': False"),
    ),
    # torchvision/extension.py and torch/library.py
    Signature(
        r"operator torchvision::nms does not exist|PyTorch and torchvision were compiled with different CUDA",
        ("torch-torchvision-mismatch",),
        "torchvision does not match the installed torch",
        ("operator torchvision::nms does not exist", "PyTorch and torchvision were compiled with different CUDA major versions"),
    ),
    # torchaudio/_extension/utils.py
    Signature(
        r"PyTorch and TorchAudio were compiled with different CUDA|libtorchaudio\.so: undefined symbol",
        ("torch-torchaudio-mismatch",),
        "torchaudio does not match the installed torch",
        ("PyTorch and TorchAudio were compiled with different CUDA versions", "libtorchaudio.so: undefined symbol"),
    ),
    # glibc's dynamic loader
    Signature(
        r"undefined symbol: _ZNK?(?:2at|3c10|5torch)",
        ("extension-abi-mismatch",),
        "an extension was compiled for a different version of PyTorch",
        ("undefined symbol: _ZN3c105Error", "undefined symbol: _ZN2at", "undefined symbol: _ZN5torch"),
    ),
    Signature(
        r"lib\S{1,200}\.so[\d.]{0,40}: (?:file too short|invalid ELF header)",
        ("cuda-library-damaged", "framework-files-damaged"),
        "a library file is damaged",
        ("libcublas.so.12: file too short", "libtorch_cuda.so: invalid ELF header"),
    ),
    Signature(
        r"version [`']GLIBC_2\.\d{1,3}' not found",
        ("glibc-too-old",),
        "the system's glibc is older than the wheel needs",
        ("version `GLIBC_2.28' not found",),
    ),
    # tsl/platform/cpu_feature_guard.cc and jaxlib/cpu_feature_guard.c
    Signature(
        r"compiled to use \w{1,20} instructions, but these aren't available|was built using \w{1,20} instructions, which your CPU",
        ("cpu-lacks-avx",),
        "the CPU lacks instructions that the wheel was compiled for",
        (
            "The TensorFlow library was compiled to use AVX instructions, but these aren't available on your machine",
            "This version of jaxlib was built using AVX instructions, which your CPU and/or operating system do not support",
        ),
    ),
    # triton/runtime/build.py of 3.9, gcc
    Signature(
        r"Failed to find C compiler\. Please specify via CC",
        ("c-compiler-missing",),
        "Triton found no C compiler",
        ("RuntimeError: Failed to find C compiler. Please specify via CC environment variable",),
    ),
    Signature(
        r"fatal error: Python\.h: No such file",
        ("python-headers-missing",),
        "the headers of this Python are not installed",
        ("fatal error: Python.h: No such file or directory",),
    ),
    # torch/utils/cpp_extension.py of 2.15, crt/host_config.h of CUDA 13.0
    Signature(
        r"The detected CUDA version \([\d.]{1,20}\) mismatches the version that was used to compile",
        ("nvcc-framework-cuda-mismatch",),
        "nvcc and PyTorch have different CUDA major versions",
        ("The detected CUDA version (11.8) mismatches the version that was used to compile",),
    ),
    Signature(
        r"unsupported GNU version! gcc versions later than",
        ("host-compiler-unsupported",),
        "gcc is newer than this nvcc supports",
        ("unsupported GNU version! gcc versions later than 13 are not supported!",),
    ),
    Signature(
        r"CUDA_HOME environment variable is not set",
        ("nvcc-toolkit-missing",),
        "a build found no CUDA toolkit",
        ("CUDA_HOME environment variable is not set. Please set it to your CUDA install root.",),
    ),
    # cupy/__init__.py: https://github.com/cupy/cupy/issues/8226
    Signature(
        r"Failed to import CuPy\.|CuPy failed to load lib",
        ("cupy-wheel-cuda-mismatch", "cuda-version-mismatch"),
        "CuPy did not find the CUDA libraries of its wheel",
        ("Failed to import CuPy.", "CuPy failed to load libnvrtc.so.12"),
    ),
    # tensorflow/python/util/lazy_loader.py of 2.21
    Signature(
        r"Keras cannot be imported\. Check that it is installed",
        ("keras3-mismatch",),
        "the installed Keras does not match TensorFlow",
        ("ImportError: Keras cannot be imported. Check that it is installed.",),
    ),
    # CPython 3.13, Objects/moduleobject.c
    Signature(
        r"consider renaming '[^'\n]{1,300}' (?:since|if) it has the same name|partially initialized module '(?:torch|tensorflow|jax|keras)'",
        ("script-folder-hides-package", "two-copies-of-framework"),
        "a file of the same name is imported instead of the package",
        ("partially initialized module 'torch' has no attribute", "(consider renaming '/home/me/torch.py' if it has the same name"),
    ),
    Signature(
        r"No module named '(?:torch|tensorflow|jax)'",
        ("wrong-python-environment", "framework-missing"),
        "the framework is not installed for this Python",
        ("ModuleNotFoundError: No module named 'torch'",),
    ),
    # pip 26.3 and uv 0.13
    Signature(
        r"No matching distribution found for|Could not find a version that satisfies the requirement|is not a supported wheel on this platform|has no wheels with a matching Python",
        ("python-version-unsupported", "package-not-installable", "glibc-too-old", "no-cuda-wheel-for-platform"),
        "no wheel of that release is published for this Python or platform",
        (
            "ERROR: Could not find a version that satisfies the requirement torch==1.13.1",
            "is not a supported wheel on this platform",
            "ERROR: No matching distribution found for torch==2.3.0",
            "torch==2.3.0 has no wheels with a matching Python ABI tag",
        ),
    ),
    Signature(
        r"pip's dependency resolver does not currently take into account",
        ("package-requirement-conflict", "nvidia-wheel-version-conflict"),
        "an installed package is outside the bounds of another",
        ("ERROR: pip's dependency resolver does not currently take into account all the packages that are installed",),
    ),
)
