"""Observations of what CUDA code is built with: toolkits on disk and host compilers. Training needs none of it."""

from __future__ import annotations

from gpudoctor.snapshot.values import NOT_ASKED, Fact, Missing, Observed


class Toolkit(Observed, frozen=True):
    """A CUDA toolkit on disk, links resolved."""

    path: str
    """Its folder: /usr/local/cuda-13.0; /usr if a distribution's packages spread it there."""
    named_by: tuple[str, ...] = ()
    """How programs find it, other than by its path: a link (/usr/local/cuda), CUDA_HOME, CUDA_PATH, PATH."""
    toolkit_cuda: Fact | Missing = NOT_ASKED
    """Its CUDA release, from its files: 13.0.1, or 13.0 if only a header states it."""
    nvcc: str | Missing = NOT_ASKED
    """Its compiler; absent: it only has the runtime."""
    ptxas: str | Missing = NOT_ASKED
    """Its assembler, which XLA calls too."""
    cudart: str | Missing = NOT_ASKED
    """File name of its runtime library: libcudart.so.13."""


class Compiler(Observed, frozen=True):
    """A host compiler for nvcc or Triton."""

    name: str
    """gcc, g++ or clang from PATH, or the variable that names another: CUDAHOSTCXX, NVCC_CCBIN, CC."""
    path: str
    version: Fact | Missing = NOT_ASKED
    """From its file name or folder: often only the major version; not asked if it would have to be run."""
