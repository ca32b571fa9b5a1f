"""Which files a framework's processes would load, and the GPU code in them, as read from the files without loading any."""

from __future__ import annotations

from gpudoctor.snapshot.values import NOT_ASKED, Cause, Fact, Missing, Observed, OpenEnum


class Asking(OpenEnum):
    """How a file is asked for."""

    LINKED = "linked"  # DT_NEEDED, directly or through another library
    OPENED = "opened"  # dlopen by name at run time
    STARTED = "started"  # a program: ptxas
    READ = "read"  # a data file: libdevice.10.bc


class FoundBy(OpenEnum):
    """What leads to a file."""

    RPATH = "rpath"
    RUNPATH = "runpath"
    LIBRARY_PATH = "ld-library-path"
    WHEEL = "wheel"  # it lies in the folder of one of NVIDIA's packages
    VARIABLE = "variable"  # of the program that starts it: TRITON_PTXAS_PATH
    OTHER = "other"


class GpuCode(Observed, frozen=True):
    """Architectures in a file's fat binaries: sm_80 for SASS, compute_90 for PTX; empty: there is none of that kind."""

    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    few: tuple[str, ...] = ()
    """Those of both that only a few of the file's fat binaries hold, kernels written for one generation: a GPU cannot live on them."""


class LibraryFile(Observed, frozen=True):
    """One file on disk."""

    path: str
    """As the loader, or the program, would open it."""
    real: str | Missing = NOT_ASKED
    """Links resolved."""
    soname: str | Missing = NOT_ASKED
    version: Fact | Missing = NOT_ASKED
    """Of the component, as exactly as it can be read without loading: wheel metadata, header, soname, file name."""
    owner: str | Missing = NOT_ASKED
    """Whose it is: a distribution (nvidia-cudnn-cu12), "conda", "toolkit", "driver" or "system"."""
    owners: tuple[str, ...] = ()
    """The distributions of which it may be, where there are several."""
    code: GpuCode | Missing = NOT_ASKED


class DamageKind(OpenEnum):
    """What keeps a file from being loaded by any process."""

    EMPTY = "empty"
    LFS_POINTER = "lfs-pointer"
    TRUNCATED = "truncated"
    NOT_ELF = "not-elf"
    DANGLING_LINK = "dangling-link"
    UNREADABLE = "unreadable"  # no permission, or an error of the disk
    NOEXEC = "noexec"
    MISSING = "missing"


class Damage(Observed, frozen=True):
    """A file that is asked for and cannot be loaded."""

    path: str
    """Of the file; where it is missing, the path or the name that is asked for."""
    kind: DamageKind
    why: str
    """A phrase: "an empty file", "a link to libx.so.1.2, which does not exist"."""
    owner: str = ""
    """As of LibraryFile; empty where that is not known."""
    owners: tuple[str, ...] = ()
    asked_by: str = ""


class Place(Observed, frozen=True):
    """A file that is not the one taken, and what of it."""

    path: str
    why: str
    """How the loader would come to it, or why it refuses it: "LD_LIBRARY_PATH", "32-bit"."""
    found_by: FoundBy = FoundBy.OTHER


class LibraryUse(Observed, frozen=True):
    """One file that a framework wants, and which one it would get."""

    component: str
    """cudart, cublas, cublaslt, cufft, curand, cusolver, cusparse, cudnn, nccl, nvrtc, nvjitlink, cupti, tensorrt, libdevice, ptxas, triton-ptxas, cuda."""
    wanted: str
    """The name that is asked for: libcudnn.so.9."""
    asked_by: str
    """The object whose RPATH or RUNPATH counts, or the program that looks."""
    asking: Asking
    vital: bool
    """Whether the framework shows no GPU, or fails to start, without it."""
    file: LibraryFile | Missing
    """The file it would get; absent: none, in all the places looked at."""
    why: str = ""
    """Why that file: "DT_RUNPATH $ORIGIN/../../nvidia/cudnn/lib of libtorch_cuda.so", "LD_LIBRARY_PATH", "already loaded by libtorch_cuda.so"."""
    found_by: FoundBy = FoundBy.OTHER
    """Of a file that was loaded already: how it was found the first time."""
    shadows: tuple[Place, ...] = ()
    """Other files of that name that the loader would come to later."""
    refused: tuple[Place, ...] = ()
    """Files of that name that it comes to earlier and cannot take: another class or machine, not readable."""
    damaged: tuple[Damage, ...] = ()
    """Where no file was found: those of the refused that no process could load."""
    looked_in: tuple[str, ...] = ()
    """Where no file was found: every folder or cache that was looked at, in order."""
    elsewhere: tuple[Place, ...] = ()
    """Files of that name, or of the same component in another release, on disk where the loader does not look."""


class FrameworkLibraries(Observed, frozen=True):
    """The X-ray of one framework, of its plugins too."""

    framework: str
    objects: tuple[LibraryFile, ...] = ()
    """Its own files that hold GPU code or ask for CUDA's libraries."""
    code: GpuCode | Missing = NOT_ASKED
    """The architectures of the file that matters most, where its own kernels are, without those that only a few of them are built for."""
    code_where: str = ""
    uses: tuple[LibraryUse, ...] | Missing = NOT_ASKED
    also_loaded: tuple[str, ...] = ()
    """Libraries of CUDA's that its process loads beside those, though nothing in it asks for them by name: preloads of another CUDA."""
    broken: tuple[Damage, ...] = ()
    """What of the framework's own files, or of other libraries than CUDA's that they link, cannot be loaded: its import fails."""


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
    """Symbols of the framework that it needs and the framework's libraries do not define."""


WHOLE = Missing(Cause.ABSENT, "the X-ray came to its end")


class Libraries(Observed, frozen=True):
    """The X-ray of an environment."""

    frameworks: tuple[FrameworkLibraries, ...]
    extensions: tuple[Extension, ...] = ()
    preloaded: tuple[str, ...] = ()
    """LD_PRELOAD, in order."""
    incomplete: Missing = WHOLE
    """Why the X-ray ended before everything was looked at; absent where it did not."""
