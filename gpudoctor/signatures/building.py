"""What compilers and build scripts say when an extension or a kernel is compiled on this machine."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

BUILDING = (
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
    # DeepSpeed: https://github.com/microsoft/DeepSpeed/issues/2772; the shell
    Signature(
        r"CUDA_HOME does not exist, unable to compile CUDA|nvcc: (?:command )?not found|No such file or directory: '[^'\n]{0,200}nvcc'",
        ("nvcc-toolkit-missing",),
        "a build found no CUDA compiler",
        ("CUDA_HOME does not exist, unable to compile CUDA op(s)", "nvcc: command not found"),
    ),
)
