"""What frameworks, compilers and installers say when packages do not fit: read in the sources and binaries that the comments name."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

PACKAGES = (
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
