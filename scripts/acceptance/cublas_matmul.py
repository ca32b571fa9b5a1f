"""Measures cuBLAS matmuls on the first GPU without a framework; gpu_acceptance compares the smoke training's figures with these.

    PYTHON scripts/acceptance/cublas_matmul.py SIZE...

Looks for libcublas and libcudart in this interpreter's packages, then on the loader's path. Prints one JSON object: operations per second by precision
and size (2 size^3 for one matmul of square matrices of random multiples of 1/64), the median of several rounds, timed with CUDA events.
Values of CUDA's enumerations are from cublas_api.h 13.10 and library_types.h 13.0.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import random
import statistics
import struct
import sys
from array import array
from collections.abc import Callable
from pathlib import Path

FP32, FP16, BF16 = 0, 2, 14
"""CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF."""
COMPUTE_32F, COMPUTE_TF32 = 68, 77
PRECISIONS = {"fp32": (FP32, COMPUTE_32F), "tf32": (FP32, COMPUTE_TF32), "bf16": (BF16, COMPUTE_32F), "fp16": (FP16, COMPUTE_32F)}
NOT_TRANSPOSED, DEFAULT, TO_DEVICE = 0, -1, 1
ROUNDS, SECONDS = 5, 0.1


def library(stem: str) -> ctypes.CDLL:
    """Return the newest copy of a library in this interpreter's packages, else the loader's; exit if there is none."""
    files = (file for entry in sys.path for file in Path(entry or ".").glob(f"nvidia/**/{stem}.so.1?"))
    packaged = sorted(files, key=lambda file: file.name, reverse=True)
    names = [*map(str, packaged), f"{stem}.so.13", f"{stem}.so.12", f"{stem}.so"]
    loaded = (opened for name in names if (opened := _opened(name)) is not None)
    return next(loaded, None) or sys.exit(f"{stem} cannot be loaded from {', '.join(names)}")


def _opened(name: str) -> ctypes.CDLL | None:
    with contextlib.suppress(OSError):
        return ctypes.CDLL(name, ctypes.RTLD_GLOBAL)
    return None


class Gpu:
    """The first GPU, through CUDA's runtime and cuBLAS."""

    def __init__(self) -> None:
        self._runtime, self._blas = library("libcudart"), library("libcublas")
        self._handle = ctypes.c_void_p()
        self.call(self._blas.cublasCreate_v2, ctypes.byref(self._handle))

    def call(self, function: Callable[..., int], *arguments: object) -> None:
        """Call a function; exit with its error code if it fails."""
        code = function(*arguments)
        if code:
            sys.exit(f"{getattr(function, '__name__', function)} answered {code}")

    def holding(self, content: bytes) -> ctypes.c_void_p:
        """Return GPU memory with this content."""
        pointer = ctypes.c_void_p()
        self.call(self._runtime.cudaMalloc, ctypes.byref(pointer), ctypes.c_size_t(len(content)))
        self.call(self._runtime.cudaMemcpy, pointer, ctypes.c_char_p(content), ctypes.c_size_t(len(content)), ctypes.c_int(TO_DEVICE))
        return pointer

    def free(self, pointer: ctypes.c_void_p) -> None:
        """Free the memory."""
        self.call(self._runtime.cudaFree, pointer)

    def milliseconds(self, run: Callable[[], None], count: int) -> float:
        """Return how long `count` runs take on the GPU."""
        events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in events:
            self.call(self._runtime.cudaEventCreate, ctypes.byref(event))
        self.call(self._runtime.cudaEventRecord, events[0], None)
        for _ in range(count):
            run()
        self.call(self._runtime.cudaEventRecord, events[1], None)
        self.call(self._runtime.cudaEventSynchronize, events[1])
        took = ctypes.c_float()
        self.call(self._runtime.cudaEventElapsedTime, ctypes.byref(took), *events)
        return took.value

    def multiplier(self, size: int, precision: str, pointers: list[ctypes.c_void_p]) -> Callable[[], None]:
        """Return a function that multiplies the first two matrices into the third."""
        kind, compute = PRECISIONS[precision]
        one, none, side, each = ctypes.c_float(1), ctypes.c_float(0), ctypes.c_int(size), ctypes.c_int(kind)
        left, right, product = pointers
        plain = ctypes.c_int(NOT_TRANSPOSED)
        ends = (ctypes.c_int(compute), ctypes.c_int(DEFAULT))
        factors = (left, each, side, right, each, side, ctypes.byref(none), product, each, side)
        arguments = (self._handle, plain, plain, side, side, side, ctypes.byref(one), *factors, *ends)
        return lambda: self.call(self._blas.cublasGemmEx, *arguments)


def content(size: int, kind: int) -> bytes:
    """Return a square matrix of multiples of 1/64 from -1 to 1: one random row, rotated row by row. A GPU takes as long for it as for any other."""
    draw = random.Random(5)
    row = [draw.randint(-64, 64) / 64 for _ in range(size)]
    if kind == FP32:
        whole = array("f", row * 2).tobytes()
    elif kind == BF16:
        whole = b"".join(array("f", [value]).tobytes()[2:] for value in row * 2)
    else:
        whole = struct.pack(f"<{2 * size}e", *row, *row)
    width = len(whole) // 2
    step = width // size
    return b"".join(whole[turn : turn + width] for turn in (number * 37 % size * step for number in range(size)))


def rate(gpu: Gpu, size: int, precision: str) -> float:
    """Return operations per second."""
    matrix = content(size, PRECISIONS[precision][0])
    pointers = [gpu.holding(matrix) for _ in range(3)]
    run = gpu.multiplier(size, precision, pointers)
    gpu.milliseconds(run, 3)
    count = max(1, int(SECONDS * 1000 / max(gpu.milliseconds(run, 1), 0.001)))
    took = statistics.median(gpu.milliseconds(run, count) / count for _ in range(ROUNDS))
    for pointer in pointers:
        gpu.free(pointer)
    return 2.0 * size**3 / took * 1000


def main(sizes: list[int]) -> None:
    """Measure every precision at every size."""
    gpu = Gpu()
    print(json.dumps({precision: {str(size): rate(gpu, size, precision) for size in sizes} for precision in PRECISIONS}))


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]])
