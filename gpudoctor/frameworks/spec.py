"""What gpudoctor knows about one framework, as data: probes, matrix, plans and rules read it instead of checking names.

Standard-library tuples: the X-ray reads them in a process without site-packages. Annotations are not postponed: of text, NamedTuple compiles each.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple


class Names:
    """Names of distributions, normalised as in PEP 503; "jaxlib*" matches all that begin so."""

    def __init__(self, *names: str) -> None:
        self._names = names
        self._whole = frozenset(name for name in names if not name.endswith("*"))
        self._beginnings = tuple(name[:-1] for name in names if name.endswith("*"))

    def __contains__(self, name: str) -> bool:
        return name in self._whole or name.startswith(self._beginnings)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)


NO_NAMES = Names()


class BuildFile(NamedTuple):
    """The Python file in which a package states its build as constants."""

    files: tuple[str, ...]
    """Paths below the folder that holds the package, for its releases; the first that exists is read."""
    dictionary: str = ""
    """The dictionary in the file that holds the constants, in releases that have one."""
    cuda: tuple[str, ...] = ()
    """The constants that hold the version of CUDA, newest spelling first; the same below."""
    cudnn: tuple[str, ...] = ()
    is_cuda: str = ""
    """The flag of a CUDA build; if empty, a build is for CUDA if it states a version of it."""
    is_rocm: str = ""
    hip: str = ""
    """The constant that only a ROCm build sets."""
    architectures: str = ""
    """The list of architectures: sm_60 for SASS, compute_90 for SASS and PTX."""
    nothing: str = ""
    """The text that means None."""
    rocm_kernels: str = ""
    """The folder of a ROCm build whose file names end in their targets."""


class CudaPlugin(NamedTuple):
    """The distributions that hold a framework's CUDA half, one pair for each major version of CUDA."""

    beginning: str
    """How their names begin, before CUDA's major version."""
    plugin: str
    client: str
    """How the names end; the client holds the GPU code."""
    extra: str
    """How the framework's extra that installs both begins."""
    majors: tuple[str, ...]
    """The major versions of CUDA that they are published for, newest first."""
    library: str
    """The distribution of its compiled code. Earlier releases held CUDA too and named it in their local version: 0.4.25+cuda12.cudnn89."""

    def major(self, distribution: str) -> str:
        """The major version of CUDA that a plugin is for; empty for any other distribution."""
        found = distribution.startswith(self.beginning) and distribution.endswith(self.plugin)
        return distribution.removeprefix(self.beginning).removesuffix(self.plugin) if found else ""

    def plugin_for(self, major: str) -> str:
        """The plugin's name: jax-cuda12-plugin."""
        return f"{self.beginning}{major}{self.plugin}"

    def cuda_in_library(self, version: str) -> tuple[str, str]:
        """The CUDA and cuDNN that the library's local version names: 0.4.25+cuda12.cudnn89 has "12" and "8.9"; empty if it names none."""
        named = re.search(r"\+cuda(1\d|\d)(\d?)(?:\.cudnn(\d)(\d)(\d?))?$", version)
        cuda, cudnn = (named.groups("")[:2], named.groups("")[2:]) if named else ((), ())
        return ".".join(filter(None, cuda)), ".".join(filter(None, cudnn))

    def client_for(self, major: str) -> str:
        """The client's name: jax-cuda12-pjrt."""
        return f"{self.beginning}{major}{self.client}"


class MemoryPool(NamedTuple):
    """The share of a GPU's memory that a framework takes its tensors from."""

    share: float
    """Without a setting."""
    variables: tuple[str, ...]
    """Those that state another share, the newest first."""
    unlimited: tuple[str, str]
    """The variable and the value without a pool."""

    def share_in(self, environ: Mapping[str, str]) -> float:
        """Return the share in an environment; a value that is no share counts as none."""
        variable, value = self.unlimited
        if environ.get(variable, "").lower() == value:
            return 1.0
        stated = next((environ[name] for name in self.variables if environ.get(name)), "")
        return min(float(stated), 1.0) if re.fullmatch(r"\d{0,3}\.\d{1,9}|[1-9]\d{0,2}", stated) else self.share


class AcceptedValues(NamedTuple):
    """Which values of an environment variable an installed release accepts when it is imported."""

    variable: str
    """A regular expression for its name."""
    file: str
    """The Python file that reads it, below the folder that holds the package."""
    pattern: str
    """A regular expression without which the file does not check the variable; NAME stands for its name in lower case. Its group has the values, quoted."""
    each: str = ""
    """If the group does not have them: a regular expression for one value anywhere in the file."""
    values: tuple[str, ...] = ()
    """Those that the file does not list."""
    refused: str = ""
    """A regular expression for what is refused, if that is shorter."""
    why: str = ""
    """What is wrong with these values, as a clause."""
    any_case: bool = False
    is_list: bool = False
    """Words with commas, each with a sign or none."""
    or_module: bool = False
    """The name of any module is accepted, too."""


class HidingVariable(NamedTuple):
    """An environment variable that keeps a framework off the GPU."""

    name: str
    devices: tuple[str, ...] = ()
    """The names of the GPU in its list of devices; a list without any of them hides it."""
    values: Names = NO_NAMES
    """For a variable that is no list: the lower-case values that hide the GPU."""

    def hides(self, value: str) -> bool:
        """Whether this value keeps the framework off the GPU unless a program asks for it."""
        if self.devices:
            devices = self.devices_in(value)
            return bool(devices) and devices[0] not in self.devices
        return value.lower() in self.values

    def hides_always(self, value: str) -> bool:
        """Whether this value keeps it off the GPU even if a program asks for it."""
        return bool(self.devices) and not set(self.devices).intersection(self.devices_in(value))

    def devices_in(self, value: str) -> list[str]:
        """The devices in the variable's list."""
        return [word.strip().lower() for word in value.split(",") if word.strip()]


class Addon(NamedTuple):
    """A package that computes on the GPU for a framework, with compiled files of its own."""

    folder: str = ""
    """The folder of its compiled files in site-packages; empty if they lie in site-packages itself."""
    files: tuple[str, ...] = ()
    """How the names of the files in site-packages begin."""
    source: str = ""
    """Its repository, if the package index has no source."""
    main: tuple[str, ...] = ()
    """How the name of the library begins that represents the add-on, if it has several: others may serve one kind of GPU."""


class Rewritten(NamedTuple):
    """A part of a framework's stack whose interface one major version replaced."""

    distribution: str
    major: int
    """The first major version with the new interface."""
    former: str
    """The distribution that keeps the former interface."""


class OnWindows(NamedTuple):
    """Why native Windows has no CUDA builds of a framework."""

    reason: str
    page: str
    """How to install it in WSL 2 instead."""


class FrameworkSpec(NamedTuple):
    """The traits of a framework. A package without a spec gets the defaults, which claim nothing."""

    name: str
    """Its import name, also used by findings, its table in compat/ and its scripts."""
    title: str
    """As its authors write it."""
    distributions: tuple[str, ...] = ()
    """The distributions that are the framework itself, the usual one first."""
    optional: tuple[str, ...] = ()
    """The distributions that it does not require and imports if they are installed."""
    parts: Names = NO_NAMES
    """The other distributions of its stack, which must match its release."""
    rewritten: Rewritten | None = None
    """The part whose two interfaces releases of the framework require in turn."""
    compiled: Names = NO_NAMES
    """The distributions that hold its compiled code."""
    related: Names = NO_NAMES
    """Other distributions that require it, whose metadata is read."""
    tabled: tuple[str, ...] = ()
    """The distributions in its own table; () where it has none."""
    companions: tuple[str, ...] = ()
    """Distributions published for one release of it and installed with it."""
    stand_ins: Names = NO_NAMES
    """Distributions that the usual ones require on some platforms and that hold the package instead of them."""
    addons: Mapping[str, Addon] = {}
    """By distribution."""
    own_symbols: tuple[str, ...] = ()
    """How the names of its libraries' functions begin, which add-ons call."""
    own_libraries: tuple[str, ...] = ()
    """How the names of the libraries in its folder lib begin that define them."""
    modules: tuple[str, ...] = ()
    """What a program imports with it: a file of that name beside the script shadows it."""
    version_files: Mapping[str, tuple[str, tuple[str, ...]]] = {}
    """By distribution: the file in which it states its version, and the constants; the first one counts."""
    version_headers: tuple[str, ...] = ()
    """C headers that define TF_MAJOR_VERSION and similar macros."""
    build: BuildFile | None = None
    """None: its CUDA half is a plugin, or it is not looked for on a machine."""
    plugin: CudaPlugin | None = None
    loads_system_cuda: bool = False
    """Whether its wheels hold no CUDA library: they load the system's unless they require packages with them."""
    other_builds: bool = False
    """Whether releases have builds for other CUDAs than the package index's, on an index of their own: a version alone does not name the build."""
    brings_cuda: bool = False
    """Whether its builds load only the CUDA libraries that they hold or require, never the system's."""
    links_nccl: bool = False
    """Whether its import fails if NCCL is too old; others open NCCL on use."""
    builds_extensions: bool = False
    """Whether it compiles extensions with nvcc through its own tool, which refuses another CUDA version."""
    gpu_extra: str = ""
    """The extra that installs its CUDA libraries."""
    wheel_index: str = ""
    """The index of its builds for each CUDA, in folders named by local version (cu126)."""
    conda: tuple[str, ...] = ()
    """The packages of conda-forge that are its CUDA build."""
    conda_names: Mapping[str, str] = {}
    """conda packages by name, with the distribution that each holds."""
    uv_backend: str = ""
    """The uv option that chooses its build for the GPU at hand."""
    metal_plugin: str = ""
    """The distribution that lets it use the GPU on macOS."""
    container: str = ""
    """NVIDIA's container, whose build has kernels for GPUs that no published build supports."""
    image: str = ""
    """Its own container image."""
    image_tag: str = ""
    """A regular expression of that image's tags: release, cuda, cudnn and kind, or gpu for one with the CUDA of its release."""
    without_cuda: str = ""
    """The distribution in an image without CUDA."""
    vendor_image: str = ""
    """NVIDIA's image, whose build no published wheel equals."""
    debian: str = ""
    """Debian's package."""
    mistaken: Mapping[str, str] = {}
    """Names that people write for it that the package index does not have, and what they mean."""
    chosen_by: Mapping[str, str] = {}
    """Packages that compute with one of several frameworks, with the setting that chooses this one; empty text for the default."""
    hidden_by: tuple[HidingVariable, ...] = ()
    programs: tuple[str, ...] = ()
    """Files that its import fails without although they are no modules, below the folder that holds the package."""
    accepted_values: tuple[AcceptedValues, ...] = ()
    """Of the variables that its import checks."""
    preallocates: tuple[str, str] | None = None
    """The variable and value that make it allocate GPU memory as needed; None if it always does."""
    pool: MemoryPool | None = None
    """None: it takes as much of a GPU's memory as is free."""
    directml: tuple[str, ...] = ()
    """Distributions that add DirectML to it, which uses GPUs on Windows and in WSL without CUDA."""
    on_windows: OnWindows | None = None
    """None if there are CUDA builds for native Windows, or nothing is known."""
    jetson_page: str = "https://developer.nvidia.com/embedded/jetpack"
    """Where NVIDIA publishes builds for Jetson."""
    xrayed: bool = False
    """Whether the X-ray knows how it loads its libraries (children/own/xray/wanted)."""
    trains: bool = False
    """Whether the smoke training has an engine for it."""
    spans_nodes: bool = False
    """Whether the all-reduce between nodes runs with it."""
    traced_within: str = ""
    """How far a traced training step was from a real one on the CPU in FP32, by scripts/bench/fit; empty: not measured."""
    traced_checkpointing: str = ""
    """What to do for the checkpointing of a traced model, in a sentence; empty: it is counted."""
    xla: bool = False
    """Whether it compiles with XLA."""
    xla_folders: tuple[str, ...] = ()
    """Folders of site-packages that it passes to XLA, before XLA's own."""
    triton: bool = False
    """Whether it compiles with Triton."""

    @property
    def one_build(self) -> frozenset[str]:
        """The distributions that must come from one installer, because they are built against one another with one compiler."""
        return frozenset((self.name, *self.companions, *((self.plugin.library,) if self.plugin else ())))
