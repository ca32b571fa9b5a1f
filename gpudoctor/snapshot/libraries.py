"""The files that a framework's processes would load and their GPU code, as read without loading any; and what CUDA code is built with."""

from __future__ import annotations

from gpudoctor.snapshot.values import NOT_ASKED, Cause, Fact, Missing, Observed, OpenEnum


class Asking(OpenEnum):
    """How a file is requested."""

    LINKED = "linked"  # DT_NEEDED, directly or through another library
    OPENED = "opened"  # dlopen by name at run time
    STARTED = "started"  # a program: ptxas
    READ = "read"  # a data file: libdevice.10.bc


class FoundBy(OpenEnum):
    """What leads to a file."""

    RPATH = "rpath"
    RUNPATH = "runpath"
    LIBRARY_PATH = "ld-library-path"
    WHEEL = "wheel"  # in the folder of one of NVIDIA's packages
    VARIABLE = "variable"  # of the program that starts it: TRITON_PTXAS_PATH
    OTHER = "other"


class GpuCode(Observed, frozen=True):
    """Architectures in a file's fat binaries: sm_80 for SASS, compute_90 for PTX; empty: none of that kind."""

    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    few: tuple[str, ...] = ()
    """Architectures that only a few of its fat binaries have, for kernels written for one generation: not enough for a GPU."""


class LibraryFile(Observed, frozen=True):
    """One file on disk."""

    path: str
    """The path that the loader or program would open."""
    real: str | Missing = NOT_ASKED
    """Links resolved."""
    soname: str | Missing = NOT_ASKED
    version: Fact | Missing = NOT_ASKED
    """Of the component, as exactly as possible without loading: from wheel metadata, header, soname or file name."""
    owner: str | Missing = NOT_ASKED
    """Its owner: a distribution (nvidia-cudnn-cu12), "conda", "toolkit", "driver" or "system"."""
    owners: tuple[str, ...] = ()
    """The distributions that may own it, if there are several."""
    code: GpuCode | Missing = NOT_ASKED


class DamageKind(OpenEnum):
    """Why no process can load a file."""

    EMPTY = "empty"
    LFS_POINTER = "lfs-pointer"
    TRUNCATED = "truncated"
    ZEROED = "zeroed"  # of the right size, and nothing but zeros
    GARBLED = "garbled"  # a Python file that is no text
    EDITED = "edited"  # a Python file that is longer than it was, and not valid Python
    NOT_ELF = "not-elf"
    DANGLING_LINK = "dangling-link"
    UNREADABLE = "unreadable"  # no permission, or a disk error
    NOEXEC = "noexec"
    ANOTHER_PYTHON = "another-python"
    MISSING = "missing"
    LACKS_VERSION = "lacks-version"  # a library without a symbol version that another file needs
    NOT_IN_PYTHON = "not-in-python"  # a module of the standard library that the interpreter lacks
    SHADOWED = "shadowed"
    LACKS_NAME = "lacks-name"  # a module that does not define what is imported from it


class Damage(Observed, frozen=True):
    """A file that is requested and cannot be loaded."""

    path: str
    """The file's path; for a missing one, the requested path or name."""
    kind: DamageKind
    why: str
    """A phrase: "an empty file", "a link to libx.so.1.2, which does not exist"."""
    owner: str = ""
    """As in LibraryFile; of a module that is not installed, the package that imports it. Empty if unknown."""
    owners: tuple[str, ...] = ()
    asked_by: str = ""
    instead: str = ""
    """Another copy, which the loader finds without LD_LIBRARY_PATH and paths in files, and which would do."""


class UnfitKind(OpenEnum):
    """Why a module is not what an import needs."""

    LACKS_NAME = "lacks-name"
    ANOTHER_NUMPY = "another-numpy"
    SHADOWED_PACKAGE = "shadowed-package"


class UnfitModule(Observed, frozen=True):
    """A module of a required package that is there and that the import of a framework fails at."""

    module: str
    """With the name that it lacks: typing_extensions.deprecated."""
    path: str
    kind: UnfitKind
    why: str
    """A phrase: "it does not define deprecated", "compiled for NumPy 1"."""
    asked_by: str = ""
    owner: str = ""
    """Its distribution, or the one that it shadows, as name==version."""
    requirement: str = ""
    """What that distribution does not meet: typing-extensions>=4.10.0. Empty if its version is accepted."""
    required_by: str = ""
    """The distribution that states this, as name==version."""


class RefusedVariable(Observed, frozen=True):
    """An environment variable whose value the import of a framework refuses."""

    name: str
    value: str
    why: str
    """A clause: "foo is not accepted; it accepts 0, 1"."""


class Place(Observed, frozen=True):
    """Another file than the one taken, and its role."""

    path: str
    why: str
    """How the loader would find it, or why it refuses it: "LD_LIBRARY_PATH", "32-bit"."""
    found_by: FoundBy = FoundBy.OTHER


class LibraryUse(Observed, frozen=True):
    """A file that a framework requests, and the one it would get."""

    component: str
    """cudart, cublas, cublaslt, cufft, curand, cusolver, cusparse, cudnn, nccl, nvrtc, nvjitlink, cupti, tensorrt, libdevice, ptxas, triton-ptxas, cuda."""
    wanted: str
    """The requested name: libcudnn.so.9."""
    asked_by: str
    """The object whose RPATH or RUNPATH applies, or the program that looks."""
    asking: Asking
    vital: bool
    """Whether the framework sees no GPU, or fails to start, without it."""
    file: LibraryFile | Missing
    """The file it would get; absent: none in all searched places."""
    why: str = ""
    """Why that file: "DT_RUNPATH $ORIGIN/../../nvidia/cudnn/lib of libtorch_cuda.so", "LD_LIBRARY_PATH", "already loaded by libtorch_cuda.so"."""
    found_by: FoundBy = FoundBy.OTHER
    """For a file that was already loaded: how it was found the first time."""
    shadows: tuple[Place, ...] = ()
    """Other files of that name later on the loader's path: it shadows them."""
    refused: tuple[Place, ...] = ()
    """Files of that name found earlier that the loader refuses: another class or machine, unreadable."""
    damaged: tuple[Damage, ...] = ()
    """If no file was found: the refused ones that no process could load."""
    looked_in: tuple[str, ...] = ()
    """If no file was found: every folder or cache that was searched, in order."""
    elsewhere: tuple[Place, ...] = ()
    """Files of that name, or another version of the component, on disk outside the loader's path."""


class UnresolvedSymbol(Observed, frozen=True):
    """A function that a file needs and that the library in the process does not define: the file does not load."""

    symbol: str
    needed_by: str
    library: str
    owner: str = ""
    """As in LibraryFile; empty if unknown."""


class FrameworkLibraries(Observed, frozen=True):
    """The X-ray of one framework, including its plugins."""

    framework: str
    objects: tuple[LibraryFile, ...] = ()
    """Its own files that have GPU code or request CUDA libraries."""
    code: GpuCode | Missing = NOT_ASKED
    """The architectures of its main kernels, without those that only a few kernels are built for."""
    code_where: str = ""
    uses: tuple[LibraryUse, ...] | Missing = NOT_ASKED
    also_loaded: tuple[str, ...] = ()
    """CUDA libraries that its process loads although nothing requests them by name: preloads of another CUDA."""
    mapped: int = 0
    """Bytes of address space that all its libraries take."""
    broken: tuple[Damage, ...] = ()
    """Files of the framework, or of other libraries they link, that cannot be loaded: its import fails."""
    unresolved: tuple[UnresolvedSymbol, ...] = ()
    """Functions that the CUDA libraries which it would load lack, one for each file that needs some."""
    absent_modules: tuple[Damage, ...] = ()
    """Modules of packages that are not installed, if its import, or that of what it requires, asks for one: it fails. Only looked for where a requirement is absent.

    Without `asked_by`: a package that another one requires, which the import does not ask for.
    """
    shadowed_modules: tuple[Damage, ...] = ()
    """Modules of the standard library that its import asks for and that a file on PYTHONPATH or beside the script shadows.

    Of kind LACKS_NAME if it fails at that: the file does not define what is used of it.
    """
    refused_variables: tuple[RefusedVariable, ...] = ()
    """The environment variables whose value its import refuses."""
    unfit_modules: tuple[UnfitModule, ...] = ()
    """The first module of a required package of another version, or shadowed, that its import fails at. Only looked for where a version is refused, a file shadows a package, or a module is compiled for NumPy 1."""


class Extension(Observed, frozen=True):
    """A compiled add-on of a framework: flash-attn, torchvision, bitsandbytes."""

    distribution: str
    version: str
    framework: str
    path: str
    code: GpuCode | Missing = NOT_ASKED
    wanted: tuple[str, ...] | Missing = NOT_ASKED
    """Sonames of CUDA libraries that it links."""
    undefined: tuple[str, ...] | Missing = NOT_ASKED
    """Symbols that it needs from the framework but the framework's libraries do not define."""


WHOLE = Missing(Cause.ABSENT, "the X-ray is complete")


class Libraries(Observed, frozen=True):
    """The X-ray of an environment."""

    frameworks: tuple[FrameworkLibraries, ...]
    extensions: tuple[Extension, ...] = ()
    preloaded: tuple[str, ...] = ()
    """LD_PRELOAD, in order."""
    incomplete: Missing = WHOLE
    """Why the X-ray stopped early; absent if it did not."""


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
