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
    headers: Fact | Missing = NOT_ASKED
    """Python.h of this interpreter, with which C extensions are compiled; absent: it is not where the interpreter's own are installed."""
    pip: bool | Missing = NOT_ASKED
    """Whether the environment holds pip; those that uv made do not."""
    maker: str | Missing = NOT_ASKED
    """uv, where pyvenv.cfg says that it made the environment; else absent."""
    managed: bool | Missing = NOT_ASKED
    """Whether the distribution forbids pip to install into it (PEP 668)."""
    elsewhere: tuple[Distribution, ...] | Missing = NOT_ASKED
    """The frameworks in other environments that may have been meant; looked for only where this one holds none."""
    named: bool = False
    """Whether the user named it."""


class Distribution(Observed, frozen=True):
    """One installed distribution that matters to a GPU, from the name of its metadata folder."""

    name: str
    """Normalised as in PEP 503: tensorflow-cpu."""
    version: str
    where: str
    """The folder that holds it; for one that is only supposed, who wants it."""
    extras: tuple[str, ...] = ()
    """Of one that is only supposed: the extras asked for."""
    chosen: bool = False
    """Of one that is only supposed: nobody named its version; it is the newest that the requirements allow, as an installer would choose."""
    requirement: str = ""
    """Of one that is only supposed: how the user asked for it; empty for one that only another package wants."""
    unknown_extras: tuple[str, ...] = ()
    """Of one that is only supposed: the extras asked for that no table finds in its metadata."""
    requires: tuple[str, ...] | Missing = NOT_ASKED
    """What its METADATA requires (Requires-Dist, PEP 508) of distributions that matter to a GPU; read for frameworks and their parts."""
    tags: tuple[str, ...] | Missing = NOT_ASKED
    """The platforms in its wheel's tags: manylinux_2_28_x86_64; read for the same distributions as `requires`."""
    requested: bool | Missing = NOT_ASKED
    """Whether the user named it to the installer, by the file REQUESTED, or it came as a requirement; read for jax."""
    installer: str | Missing = NOT_ASKED
    """conda, pip, uv: from the file INSTALLER; read in conda environments only."""

    @property
    def label(self) -> str:
        """The distribution with its version: "torchvision 0.23.0"."""
        return f"{self.name} {self.version}"


class ScriptFolder(Observed, frozen=True):
    """The folder of the user's script, which stands first on sys.path when Python runs it."""

    path: str
    hides: tuple[str, ...] = ()
    """The files there that an import takes in place of an installed package: /home/user/project/torch.py."""


class Packages(Observed, frozen=True):
    """The distributions of the environment that matter to a GPU, in the order of sys.path."""

    distributions: tuple[Distribution, ...]
    without_release: tuple[str, ...] = ()
    """Of an environment that is only supposed: the packages that were stated without a version and of which no table lists a release."""
    conda: tuple[str, ...] | Missing = NOT_ASKED
    """What conda installed and matters to a GPU: name-version-build, from conda-meta; absent outside a conda environment."""
    leftovers: tuple[Distribution, ...] = ()
    """Metadata of versions whose files were replaced by those of a different version."""
    others: tuple[str, ...] | Missing = NOT_ASKED
    """The other distributions of the environment, as name==version."""


class Framework(Observed, frozen=True):
    """One installed framework, read from its files.

    A fact that is absent was looked for in the framework's own files and is not there; what it *means* (a CPU-only build, an old
    release that does not say) is for derive to settle.
    """

    name: str
    """tensorflow, torch or jax; on a machine that is only supposed also cupy, onnxruntime and their like."""
    distribution: str
    """Empty where the package is there without metadata, as builds from source are."""
    version: Fact | Missing = NOT_ASKED
    location: str | Missing = NOT_ASKED
    """The folder of the package."""
    shadow: str | Missing = NOT_ASKED
    """A file of the same name (torch.py) earlier on sys.path, which an import takes in its place."""
    cuda_build: bool | Missing = NOT_ASKED
    """What the build says of itself; for jax, whether a CUDA plugin is installed."""
    rocm_build: bool | Missing = NOT_ASKED
    built_with_cuda: Fact | Missing = NOT_ASKED
    built_with_cudnn: Fact | Missing = NOT_ASKED
    architectures: tuple[str, ...] | Missing = NOT_ASKED
    """As the build writes them: sm_60 for SASS, compute_90 for SASS and PTX (TensorFlow's convention); gfx90a for ROCm."""

    @property
    def label(self) -> str:
        """The framework with its version: "torch 2.8.0+cu126"; its name alone where the version is not known."""
        return f"{self.name} {self.version.value}" if isinstance(self.version, Fact) else self.name

    @property
    def release(self) -> str:
        """Its version without the local part, "2.8.0"; empty where it is not known."""
        return self.version.value.partition("+")[0] if isinstance(self.version, Fact) else ""

    @property
    def local_version(self) -> str:
        """The local part of its version, "cu126"; empty where it has none."""
        return self.version.value.partition("+")[2] if isinstance(self.version, Fact) else ""
