"""Observations of the examined Python environment, without importing anything from it."""

from __future__ import annotations

from gpudoctor.snapshot.distributions import name_with_extras
from gpudoctor.snapshot.values import NOT_ASKED, Fact, Missing, Observed


class Python(Observed, frozen=True):
    """The target interpreter, by its own account."""

    executable: str
    why: str
    """Why this one was examined."""
    version: str | Missing = NOT_ASKED
    implementation: str | Missing = NOT_ASKED
    bits: int | Missing = NOT_ASKED
    machine: str | Missing = NOT_ASKED
    """The architecture the interpreter was built for, as in `platform.machine()`."""
    libc: str | Missing = NOT_ASKED
    """For example "glibc 2.36"."""
    prefix: str | Missing = NOT_ASKED
    base_prefix: str | Missing = NOT_ASKED
    kind: str | Missing = NOT_ASKED
    """venv, conda or system."""
    path: tuple[str, ...] | Missing = NOT_ASKED
    """sys.path without the script's own folder."""
    headers: Fact | Missing = NOT_ASKED
    """Python.h of this interpreter, needed to compile C extensions; absent: not in the interpreter's include folder."""
    pip: bool | Missing = NOT_ASKED
    """Whether the environment has pip; uv's do not by default."""
    maker: str | Missing = NOT_ASKED
    """uv, if pyvenv.cfg names it; otherwise absent."""
    managed: bool | Missing = NOT_ASKED
    """Whether the distribution forbids pip to install into it (PEP 668)."""
    shadowing: tuple[str, ...] = ()
    """The files that imports find in place of modules of the standard library: on PYTHONPATH, or beside the training script."""
    elsewhere: tuple[Distribution, ...] | Missing = NOT_ASKED
    """The frameworks in other environments that the user may have wanted; only looked for if this one has none."""
    named: bool = False
    """Whether the user named it."""


class Variant(Observed, frozen=True):
    """The variant that a wheel was built as: variant.json in its metadata folder (PEP 825)."""

    label: str
    """As at the end of the wheel's file name: cu128."""
    properties: tuple[str, ...]
    """"nvidia :: cuda_version_lower_bound :: 12.8"; one value of each feature must suit the machine."""


class Hollow(Observed, frozen=True):
    """A required distribution whose metadata is there and whose files are gone."""

    requirement: str
    """PEP 508, for the version that the metadata states: numpy==2.1.3 ; python_version >= "3.9"."""
    modules: tuple[str, ...]
    """What its RECORD lists to import: numpy, google.protobuf."""


class Distribution(Observed, frozen=True):
    """An installed distribution that is relevant to a GPU, from the name of its metadata folder."""

    name: str
    """Normalised as in PEP 503: tensorflow-cpu."""
    version: str
    where: str
    """Its folder; for an assumed one, what requires it."""
    extras: tuple[str, ...] = ()
    """For an assumed one: the requested extras."""
    chosen: bool = False
    """For an assumed one: its version was not stated, and is the newest that the requirements allow, as an installer would choose."""
    requirement: str = ""
    """For an assumed one: how the user asked for it; empty if only another package requires it."""
    unknown_extras: tuple[str, ...] = ()
    """For an assumed one: the requested extras that its metadata lacks in every table."""
    requires: tuple[str, ...] | Missing = NOT_ASKED
    """The GPU-relevant requirements in its METADATA (Requires-Dist, PEP 508); read for frameworks and their parts."""
    lacks: tuple[str, ...] = ()
    """What its METADATA requires and sys.path has neither metadata nor a module of; without extras and NVIDIA's packages. Read for frameworks."""
    hollow: tuple[Hollow, ...] = ()
    """What its METADATA requires and what has only metadata left; read as `lacks` is."""
    tags: tuple[str, ...] | Missing = NOT_ASKED
    """The platforms in its wheel's tags: manylinux_2_28_x86_64; read for the same distributions as `requires`."""
    interpreters: tuple[str, ...] | Missing = NOT_ASKED
    """The Pythons and ABIs in its wheel's tags: cp311-cp311, cp38-abi3, py3-none; read for the same distributions as `requires`."""
    requested: bool | Missing = NOT_ASKED
    """Whether the user named it to the installer (file REQUESTED) or it came as a requirement; read for jax."""
    installer: str | Missing = NOT_ASKED
    """conda, pip, uv: from the file INSTALLER; only read in conda environments."""
    variant: Variant | Missing = NOT_ASKED
    """Read for the same distributions as `requires`, if their metadata folder has a variant.json."""

    @property
    def label(self) -> str:
        """The distribution with its version: "torchvision 0.23.0"."""
        return f"{self.name} {self.version}"

    def pinned(self, release: str) -> str:
        """The requirement for exactly a release of it, with the requested extras: "jax[cuda12]==0.6.0"."""
        return f"{name_with_extras(self.name, self.extras)}=={release}"


class OverwrittenPackage(Observed, frozen=True):
    """Distributions that own the same files: the one that was installed last has overwritten those of the others."""

    package: str
    """The folder of these files, which is what is imported: onnxruntime."""
    owners: tuple[str, ...]
    """onnxruntime-gpu==1.23.2, in the order of their names."""
    where: str
    files: int
    """How many modules at least two of them own."""
    owned_now: tuple[int, ...] = ()
    """By owner: how many of these files are as only its RECORD states them."""


class ScriptFolder(Observed, frozen=True):
    """The folder of the user's script, which Python puts first on sys.path."""

    path: str
    hides: tuple[str, ...] = ()
    """The files in it that shadow an installed package: /home/user/project/torch.py."""


class Unread(Observed, frozen=True):
    """Something that a file installs and that could not be checked."""

    what: str
    why: str


class AllowedPythons(Observed, frozen=True):
    """The Python versions that files allow for an assumed environment."""

    specifier: str
    """PEP 440: >=3.10,<3.13."""
    where: str
    versions: tuple[str, ...]


class Packages(Observed, frozen=True):
    """The environment's GPU-relevant distributions, in the order of sys.path."""

    distributions: tuple[Distribution, ...]
    without_release: tuple[str, ...] = ()
    """In an assumed environment: packages stated without a version for which no table lists a release."""
    bounds: tuple[str, ...] = ()
    """In an assumed environment: what the user allows of packages for which no table lists a release: numpy<2."""
    unread: tuple[Unread, ...] = ()
    """In an assumed environment: what its files install and do not name a release of."""
    without_gpu_code: tuple[str, ...] = ()
    """In an assumed environment: stated packages that are known to hold no GPU code."""
    pythons: AllowedPythons | None = None
    """In an assumed environment without a stated Python."""
    conda: tuple[str, ...] | Missing = NOT_ASKED
    """GPU-relevant conda packages: name-version-build, from conda-meta; absent outside a conda environment."""
    leftovers: tuple[Distribution, ...] = ()
    """Metadata of versions whose files were replaced by another version's."""
    others: tuple[str, ...] | Missing = NOT_ASKED
    """The other distributions of the environment, as name==version."""
    closed: tuple[str, ...] = ()
    """The folders on sys.path that this user may not list: imports find nothing in them. For site-packages, which is then no longer on it, the folder that is closed."""
    astray: tuple[str, ...] = ()
    """The environment's site-packages, or a folder above it, if it is a link that leads nowhere."""
    overwritten: tuple[OverwrittenPackage, ...] = ()
    """The distributions that own the same files, of those that matter to a GPU and of those whose names have the same first word."""
    emptied: tuple[str, ...] = ()
    """The same distributions, as name==version, if the __init__.py that their RECORD lists is gone: another's removal deleted it."""
    selected: bool = False
    """Of a pasted text: the environment may have packages that the text does not list."""


class Framework(Observed, frozen=True):
    """An installed framework, read from its files.

    An absent fact was looked for in the framework's own files; what its absence *means* (a CPU-only build, an old release) is for derive
    to decide.
    """

    name: str
    """tensorflow, torch or jax; on an assumed machine also cupy, onnxruntime and others."""
    distribution: str
    """Empty for a package without metadata, such as a source build."""
    version: Fact | Missing = NOT_ASKED
    location: str | Missing = NOT_ASKED
    """The folder of the package."""
    shadow: str | Missing = NOT_ASKED
    """A file of the same name (torch.py) earlier on sys.path, which shadows it."""
    cuda_build: bool | Missing = NOT_ASKED
    """What the build states; for jax, whether a CUDA plugin is installed."""
    rocm_build: bool | Missing = NOT_ASKED
    built_with_cuda: Fact | Missing = NOT_ASKED
    built_with_cudnn: Fact | Missing = NOT_ASKED
    architectures: tuple[str, ...] | Missing = NOT_ASKED
    """As the build spells them: sm_60 for SASS, compute_90 for SASS and PTX (TensorFlow's convention); gfx90a for ROCm."""
    sees_gpu: bool | Missing = NOT_ASKED
    """Of a pasted text: what the framework answers, such as torch.cuda.is_available()."""

    @property
    def label(self) -> str:
        """The framework with its version: "torch 2.8.0+cu126"; only its name if the version is unknown."""
        return f"{self.name} {self.version.value}" if isinstance(self.version, Fact) else self.name

    @property
    def release(self) -> str:
        """Its version without the local part, "2.8.0"; empty if unknown."""
        return self.version.value.partition("+")[0] if isinstance(self.version, Fact) else ""

    @property
    def local_version(self) -> str:
        """The local part of its version, "cu126"; empty where it has none."""
        return self.version.value.partition("+")[2] if isinstance(self.version, Fact) else ""
