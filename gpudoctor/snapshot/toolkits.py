"""What was observed of the means to build CUDA code: toolkits on disk and host compilers. None of it is needed to train."""

from __future__ import annotations

from gpudoctor.snapshot.values import NOT_ASKED, Fact, Missing, Observed


class Toolkit(Observed, frozen=True):
    """One CUDA toolkit on disk, links resolved."""

    path: str
    """Its folder: /usr/local/cuda-13.0; /usr where a distribution's packages have spread it there."""
    named_by: tuple[str, ...] = ()
    """How a program gets to it, beside its own path: a link (/usr/local/cuda), CUDA_HOME, CUDA_PATH, PATH."""
    toolkit_cuda: Fact | Missing = NOT_ASKED
    """The CUDA release it is of, read from its files: 13.0.1, or 13.0 where only a header says it."""
    nvcc: str | Missing = NOT_ASKED
    """Its compiler; absent: only the runtime is there."""
    ptxas: str | Missing = NOT_ASKED
    """Its assembler, which XLA calls too."""
    cudart: str | Missing = NOT_ASKED
    """File name of its runtime library: libcudart.so.13."""


class Compiler(Observed, frozen=True):
    """One host compiler, which nvcc or Triton would call."""

    name: str
    """gcc, g++ or clang from PATH, or the variable that names another: CUDAHOSTCXX, NVCC_CCBIN, CC."""
    path: str
    version: Fact | Missing = NOT_ASKED
    """From its file name or its own folder: often the major version only; not asked where only running it would tell."""
