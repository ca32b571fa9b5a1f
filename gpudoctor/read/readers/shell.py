"""Reads environment variables, as a shell, a container engine or Python sets them."""

from __future__ import annotations

from gpudoctor.read.readers.reader import Form, Reader

READER = Reader(
    "shell",
    forms=(
        Form(
            "variable",
            r"^\s*(?:\$ ?)?(?:export |set |-e )?(?P<name>CUDA_VISIBLE_DEVICES|LD_LIBRARY_PATH|LD_PRELOAD|CUDA_HOME|NVIDIA_VISIBLE_DEVICES|NCCL_[A-Z_0-9]{2,40}|JAX_PLATFORMS|XLA_FLAGS)=['\"]?(?P<value>[^'\"\n]{0,400})",
        ),
        Form("variable", r"os\.environ\[['\"](?P<name>CUDA_VISIBLE_DEVICES|LD_LIBRARY_PATH)['\"]\]\s*=\s*['\"](?P<value>[^'\"]{0,100})"),
    ),
)
