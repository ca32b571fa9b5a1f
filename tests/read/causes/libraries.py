"""Texts whose cause is a CUDA, cuDNN or NCCL library, and texts that only look as if one were."""

from __future__ import annotations

from typing import Final

CASES: Final = (
    ("cuda-version-mismatch", "CUDA: 11.8\nImportError: libcublas.so.12: cannot open shared object file: No such file or directory\n"),
    ("cuda-version-mismatch", "ls /usr/local/cuda-10.2/lib64\nImportError: libcudart.so.10.1: cannot open shared object file: No such file\n"),
    ("cuda-library-missing", "CUDA: 12.2\nImportError: libcublas.so.12: cannot open shared object file: No such file or directory\n"),
    ("cudnn-wrong-major", "cuDNN: 9.1.0\nCould not load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object file\n"),
    ("cudnn-missing", "Could not load dynamic library 'libcudnn.so.7'; dlerror: libcudnn.so.7: cannot open shared object file\n"),
    ("cudnn-shadowed-by-system", "LD_LIBRARY_PATH=/sw/cudnn/8.4/lib64\ncuDNN version incompatibility: PyTorch was compiled  against (8, 9, 2)\n"),
)  # fmt: skip
"""The cause that must lead, and a text."""
NEAR_MISSES: Final = (
    ("cuda-library-missing", "Could not load dynamic library 'libnvinfer.so.7'; dlerror: libnvinfer.so.7: cannot open shared object file\n"),
)  # fmt: skip
"""A cause that must not be found, and a text."""
