"""What was observed of the Python environment under examination, without importing anything of it."""

from __future__ import annotations

from gpudoctor.snapshot.values import NOT_ASKED, Fact, Missing, Observed


class Python(Observed, frozen=True):
    """The target interpreter, as it answered for itself."""

    executable: str
    why: str
    """Why this one was examined."""
    version: str | Missing = NOT_ASKED
    implementation: str | Missing = NOT_ASKED
    bits: int | Missing = NOT_ASKED
    machine: str | Missing = NOT_ASKED
    """The architecture the interpreter was built for, as `platform.machine()` says."""
    libc: str | Missing = NOT_ASKED
    """For example "glibc 2.36"."""
    prefix: str | Missing = NOT_ASKED
    base_prefix: str | Missing = NOT_ASKED
    kind: str | Missing = NOT_ASKED
    """venv, conda or system."""
    path: tuple[str, ...] | Missing = NOT_ASKED
    """sys.path without the script's own folder."""


class Distribution(Observed, frozen=True):
    """One installed distribution that matters to a GPU, from the name of its metadata folder."""

    name: str
    """Normalised as in PEP 503: tensorflow-cpu."""
    version: str
    where: str
    """The folder that holds it."""


class Packages(Observed, frozen=True):
    """The distributions of the environment that matter to a GPU, in the order of sys.path."""

    distributions: tuple[Distribution, ...]


class Framework(Observed, frozen=True):
    """One installed framework, read from its files.

    A fact that is absent was looked for in the framework's own files and is not there; what it *means* (a CPU-only build, an old
    release that does not say) is for derive to settle.
    """

    name: str
    """tensorflow, torch or jax."""
    distribution: str
    """Empty where the package is there without metadata, as builds from source are."""
    version: Fact | Missing = NOT_ASKED
    location: str | Missing = NOT_ASKED
    """The folder of the package."""
    cuda_build: bool | Missing = NOT_ASKED
    """What the build says of itself; for jax, whether a CUDA plugin is installed."""
    rocm_build: bool | Missing = NOT_ASKED
    built_with_cuda: Fact | Missing = NOT_ASKED
    built_with_cudnn: Fact | Missing = NOT_ASKED
    architectures: tuple[str, ...] | Missing = NOT_ASKED
    """As the build writes them: sm_60 for SASS, compute_90 for SASS and PTX (TensorFlow's convention); gfx90a for ROCm."""
