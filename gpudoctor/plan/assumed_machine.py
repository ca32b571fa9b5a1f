"""The assumed machine below Python: platform, GPUs, driver, system CUDA. What was not stated is missing and causes no finding."""

from __future__ import annotations

import re

import msgspec

from gpudoctor import versions
from gpudoctor.derive import wheel_platform
from gpudoctor.errors import UsageError
from gpudoctor.matrix import DriverBranch, Matrix, gpu_names
from gpudoctor.matrix.citations import citation
from gpudoctor.matrix.tables import CUDA, DRIVERS
from gpudoctor.plan.model import Combination
from gpudoctor.snapshot import Cause, Fact, Host, KernelDriver, Missing, Nvml, NvmlGpu, Platform, Python, Supposed, Toolkit, Unread
from gpudoctor.suggestions import alternatives_text

NOT_STATED = Missing(Cause.NOT_STATED, "not stated")
NO_GPU = ("none",)
"""--gpu none: a machine that has no GPU."""
_ARCHITECTURES_BY_SYSTEM = {
    "linux": ("x86_64", "aarch64"),
    "wsl": ("x86_64", "aarch64"),
    "windows": ("x86_64", "arm64"),
    "macos": ("arm64", "x86_64"),
}
"""Architectures for which wheels are published, as each system calls them, the usual one first."""
_ARCHITECTURE_SPELLINGS = {"amd64": "x86_64", "x64": "x86_64", "x86-64": "x86_64", "arm64": "aarch64", "sbsa": "aarch64"}
_GRACE_GPU = r"NVIDIA G[BH]\d"
_SYSTEM_NAMES = {"linux": "Linux", "wsl": "WSL 2", "windows": "Windows", "macos": "macOS"}
_PLATFORM_BY_SYSTEM = {"linux": Platform.LINUX, "wsl": Platform.WSL2, "windows": Platform.WINDOWS, "macos": Platform.MACOS}


class AssumedMachine(msgspec.Struct, frozen=True, kw_only=True):
    """The snapshot sections that the options state, and the platform as the tables call it."""

    platform: str
    host: Host
    python: Python | Missing
    nvml: Nvml | Missing
    kernel_driver: KernelDriver | Missing
    toolkits: tuple[Toolkit, ...] | Missing
    system_cudnn: Fact | Missing
    unread: tuple[Unread, ...] = ()
    """What was stated of the machine and no table knows."""
    libc: str = ""
    """The C library: "glibc 2.36", "musl"; empty if unknown."""
    supposed: tuple[Supposed, ...]

    @property
    def on_windows(self) -> bool:
        """Whether it runs Windows."""
        return self.host.platform == Platform.WINDOWS


def assumed_machine(combination: Combination, matrix: Matrix) -> AssumedMachine:
    """The machine that `combination` states. Raises UsageError for an option that cannot be understood or contradicts another."""
    arm = _is_in_arm_module(combination, matrix)
    architecture = _architecture(combination, arm=arm)
    jetson = combination.os == "linux" and bool(combination.gpus) and all(_is_jetson(name, matrix) for name in combination.gpus)
    host = Host(platform=Platform.JETSON if jetson else _PLATFORM_BY_SYSTEM[combination.os], architecture=architecture, tegra=NOT_STATED)
    gpus, named = _stated_gpus(combination, matrix)
    driver, flavour = _stated_driver(combination, matrix), _stated_kernel_module(combination, matrix)
    python = _stated_python(combination, architecture)
    forward, libc = _stated_cuda_compat(combination, matrix), _stated_libc(combination, matrix)
    cuda, cudnn = _stated_system_cuda(combination, matrix), _stated_system_cudnn(combination)
    stated = "--os" if combination.os != "linux" else ""
    decided = "--arch" if combination.arch else "--gpu" if arm and combination.os == "linux" else ""
    where = ", ".join(filter(None, (stated, decided))) or "the default"
    return AssumedMachine(
        platform=wheel_platform.platform_name(host, python),
        host=host,
        python=python,
        nvml=Nvml(gpus=gpus, cuda_served=forward.value if forward is not None else NOT_STATED)
        if gpus or combination.gpus == NO_GPU
        else NOT_STATED,
        kernel_driver=NOT_STATED
        if driver is None
        else KernelDriver(version=Fact(driver.value, driver.where), flavour=flavour.value if flavour else NOT_STATED),
        toolkits=NOT_STATED if cuda is None else (Toolkit(path="", toolkit_cuda=Fact(cuda.value, cuda.where)),),
        system_cudnn=NOT_STATED if cudnn is None else Fact(cudnn.value, cudnn.where),
        unread=_unlisted_cuda_compat(combination, matrix),
        libc=libc.value if libc is not None else "",
        supposed=(
            Supposed("machine", f"{_SYSTEM_NAMES[combination.os]} {architecture}", where),
            *((Supposed("Python", combination.python, combination.python_where),) if combination.python else ()),
            *((libc,) if libc is not None else ()),
            *named,
            *filter(None, (_driver_with_cuda(driver, matrix), flavour, forward, cuda, cudnn)),
        ),
    )


def _is_in_arm_module(combination: Combination, matrix: Matrix) -> bool:
    """Whether every stated GPU shares its module with an Arm CPU: Jetson, and NVIDIA's Grace superchips (GH200, GB10, GB200)."""
    products = [matrix.gpu(name) for name in combination.gpus]
    return bool(products) and all(
        product is not None and (product.kind == "jetson" or re.match(_GRACE_GPU, product.name)) for product in products
    )


def _is_jetson(gpu: str, matrix: Matrix) -> bool:
    product = matrix.gpu(gpu)
    return product is not None and product.kind == "jetson"


def _architecture(combination: Combination, *, arm: bool) -> str:
    known = {_ARCHITECTURE_SPELLINGS.get(name, name): name for name in _ARCHITECTURES_BY_SYSTEM[combination.os]}
    usual = "aarch64" if arm and combination.os == "linux" else _ARCHITECTURES_BY_SYSTEM[combination.os][0]
    given = (combination.arch or usual).lower()
    architecture = known.get(_ARCHITECTURE_SPELLINGS.get(given, given))
    if architecture is None:
        offered = alternatives_text([*known.values()])
        raise UsageError(
            f"--arch {combination.arch}: wheels for {_SYSTEM_NAMES[combination.os]} exist for {offered}; use one of these or another --os."
        )
    return architecture


def _stated_python(combination: Combination, architecture: str) -> Python | Missing:
    if combination.python is None:
        return NOT_STATED
    if re.fullmatch(r"([23])\.(\d{1,2})(\.\d{1,2})?t?", combination.python) is None:
        raise UsageError(
            f"--python-version {combination.python!r} is not a Python version; write 3.11 or 3.11.4, and 3.14t without the GIL."
        )
    return cpython(combination.python, architecture, windows=combination.os == "windows", why=combination.python_where)


def cpython(version: str, architecture: str | Missing, *, windows: bool = False, why: str = "--python-version") -> Python:
    """CPython of this version, "3.11", "3.11.4" or "3.14t"."""
    short = ".".join(version.split(".")[:2])
    return Python(
        executable="python" if windows else f"python{short}",
        why=why,
        version=version,
        implementation="cpython",
        bits=64,
        machine=architecture,
    )


def _stated_libc(combination: Combination, matrix: Matrix) -> Supposed | None:
    """The C library: of a distribution in the tables, or as it calls itself."""
    text = combination.libc
    if text is None:
        return None
    if combination.os not in {"linux", "wsl"}:
        raise UsageError(f"--libc {text}: wheels for {_SYSTEM_NAMES[combination.os]} do not depend on it; leave it out.")
    given = re.fullmatch(r"(?:glibc[- ]?)?(2\.\d{1,2})|(musl)(?:[- ]?[\d.]+)?", text.lower())
    system = None if given else matrix.system(text.lower())
    if given is None and system is None:
        raise UsageError(f"--libc {text!r} is no distribution in the tables; write glibc-2.31, as `ldd --version` shows it, or musl.")
    if system is not None:
        return Supposed("C library", system.libc, f"{combination.libc_where}; {citation(system.source)}")
    return Supposed("C library", f"glibc {given[1]}" if given and given[1] else "musl", combination.libc_where)


def _stated_gpus(combination: Combination, matrix: Matrix) -> tuple[tuple[NvmlGpu, ...], tuple[Supposed, ...]]:
    """The GPUs, one without any property if none is stated, and how the report names each."""
    capability = _stated_capability(combination.cc)
    if combination.gpus == NO_GPU:
        return (), (Supposed("GPU", "none", "--gpu"),)
    if combination.os == "macos" and combination.gpus and all(map(gpu_names.other_vendor, combination.gpus)):
        return (), tuple(Supposed("GPU", name, "--gpu") for name in combination.gpus)
    if combination.gpus:
        found = [_stated_gpu(name, capability, matrix) for name in combination.gpus]
    elif capability:
        found = [("", capability, Supposed("GPU", f"compute capability {capability}", "--cc"))]
    elif combination.os == "macos":
        return (), ()
    else:
        found = [("", "", Supposed("GPU", "an NVIDIA GPU; its model was not checked", "name it with --gpu"))]
    gpus = tuple(
        NvmlGpu(index=index, address=NOT_STATED, name=name or NOT_STATED, compute_capability=known or NOT_STATED)
        for index, (name, known, _) in enumerate(found)
    )
    return gpus, tuple(said for _, _, said in found)


def _stated_capability(text: str | None) -> str:
    if text is not None and not re.fullmatch(r"[1-9]\d?\.\d", text):
        raise UsageError(f"--cc {text!r} is not a compute capability; write it with one dot: 8.6.")
    return text or ""


def _stated_gpu(name: str, capability: str, matrix: Matrix) -> tuple[str, str, Supposed]:
    """The GPU's name, its compute capability and how the report names it."""
    product = matrix.gpu(name)
    alike = (product,) if product is not None else () if capability else matrix.gpu_family(name)
    if not alike:
        return _unlisted_gpu(name, capability, matrix)
    called, own = alike[0].name if len(alike) == 1 else name, str(alike[0].compute_capability)
    if capability and capability != own:
        raise UsageError(f"--cc {capability} contradicts --gpu {name!r}: the {called} has {own}; leave one out.")
    return called, own, Supposed("GPU", f"{called}, compute capability {own}", citation(alike[0].source))


def _unlisted_gpu(name: str, capability: str, matrix: Matrix) -> tuple[str, str, Supposed]:
    """A GPU that the tables do not know, with the capability that was stated. Raises UsageError if none was."""
    if capability:
        return name, capability, Supposed("GPU", f"{name}, compute capability {capability}", "--gpu (not in the tables); --cc")
    vendor = gpu_names.other_vendor(name)
    if vendor:
        mac = "; for a Mac state --os macos" if vendor == "Apple" else ""
        raise UsageError(f"{name!r} is made by {vendor}; gpudoctor supports only NVIDIA GPUs{mac}.")
    near = matrix.similar_gpu_names(name)
    hint = f"did you mean {alternatives_text([*map(repr, near)])}? Or state" if near else "state"
    raise UsageError(f"No GPU in the tables is called {name!r}; {hint} its compute capability with --cc.")


def _stated_driver(combination: Combination, matrix: Matrix) -> Supposed | None:
    """The driver's release; for a branch alone (535) the newest of it in the tables."""
    if combination.driver is None:
        return None
    if not re.fullmatch(r"\d{1,4}(\.\d{1,4}){0,2}", combination.driver):
        raise UsageError(f"--driver {combination.driver!r} is not a driver version; write it as nvidia-smi shows it: 535.104.05.")
    major, dot, _ = combination.driver.partition(".")
    if int(major) < _OLDEST_DRIVER:
        raise UsageError(f"--driver {combination.driver}: driver versions look like 535.104.05; state a CUDA version with --system-cuda.")
    if dot:
        return Supposed("driver", combination.driver, "--driver")
    newest = matrix.newest_driver(int(major), "windows" if combination.os in {"windows", "wsl"} else "linux")
    if newest is None:  # no CUDA version starts within this branch, so its number is enough
        return Supposed("driver", major, f"--driver {major}")
    return Supposed("driver", str(newest), f"--driver {major}, newest release in the tables")


_OLDEST_DRIVER = 100


def _driver_branch(driver: str, matrix: Matrix) -> DriverBranch | None:
    version = versions.parse_version(driver)
    return matrix.driver(version) if version else None


def _driver_with_cuda(driver: Supposed | None, matrix: Matrix) -> Supposed | None:
    """The driver with the CUDA version that its branch supports."""
    version = versions.parse_version(driver.value) if driver else None
    if driver is None or version is None:
        return driver
    branch = matrix.driver(version)
    known = branch or matrix.branches_around(version)[0]
    if known is None or known.cuda_served is None:
        return driver
    supports = "which supports" if branch else "assumed to support at least"
    beyond = "" if branch else f"newer than branch {known.branch}; "
    return Supposed(
        "driver", f"{driver.value}, {supports} CUDA {known.cuda_served.short}", f"{driver.where}; {beyond}{citation(known.source)}"
    )


def _stated_kernel_module(combination: Combination, matrix: Matrix) -> Supposed | None:
    """The flavour of the driver's kernel modules."""
    flavour = combination.kernel_module
    if flavour is None:
        return None
    if combination.os != "linux" or combination.driver is None:
        raise UsageError(f"--kernel-module {flavour}: only drivers for Linux have kernel modules of two flavours; state one with --driver.")
    row = _driver_branch(combination.driver, matrix)
    if row is not None and flavour not in row.modules:
        first = next(other.branch for other in matrix.rows(DRIVERS) if flavour in other.modules)
        raise UsageError(f"--kernel-module {flavour}: branch {row.branch} has no such kernel modules; {first} is the first that has.")
    return Supposed("kernel module", flavour, "--kernel-module")


def _stated_cuda_compat(combination: Combination, matrix: Matrix) -> Supposed | None:
    """The CUDA of an installed cuda-compat package, if NVIDIA supports that on the branch of the driver."""
    text = combination.cuda_compat
    if text is None:
        return None
    if combination.os != "linux" or combination.driver is None:
        raise UsageError(f"--cuda-compat {text}: forward compatibility concerns drivers for Linux; state one with --driver.")
    if not re.fullmatch(r"\d{1,2}\.\d{1,2}", text) or matrix.cuda(versions.parse_version(text) or versions.Version(0)) is None:
        raise UsageError(f"--cuda-compat {text!r} is not a CUDA version; write 12.8.")
    row = _driver_branch(combination.driver, matrix)
    if row is not None and row.compat_packages is not None and text not in row.compat_packages:
        offered = " and ".join(str(other.branch) for other in matrix.rows(DRIVERS) if text in (other.compat_packages or ()))
        where = f"only on branches {offered}" if offered else "on no branch any more"
        raise UsageError(f"--cuda-compat {text}: NVIDIA supports this package {where}, and {combination.driver} is of branch {row.branch}.")
    return Supposed("cuda-compat", text, "--cuda-compat")


def _unlisted_cuda_compat(combination: Combination, matrix: Matrix) -> tuple[Unread, ...]:
    """A stated cuda-compat package on a branch whose packages no table lists, as after its end of life."""
    row = _driver_branch(combination.driver or "", matrix) if combination.cuda_compat else None
    if row is None or row.compat_packages is not None:
        return ()
    why = f"no table lists whether NVIDIA supports it on branch {row.branch}"
    return (Unread(f"cuda-compat {combination.cuda_compat}", why),)


def _stated_system_cuda(combination: Combination, matrix: Matrix) -> Supposed | None:
    text = combination.system_cuda
    if text is None:
        return None
    version = versions.parse_version(text)
    if version is None or not re.fullmatch(r"\d{1,2}\.\d{1,2}(\.\d{1,3}){0,2}", text):
        raise UsageError(f"--system-cuda {text!r} is not a CUDA version; write 12.4.")
    known = [row.release for row in matrix.rows(CUDA)]
    if known and known[0] <= version <= known[-1] and matrix.cuda(version) is None:
        near = [release.short for release in known if release.major == version.major]
        raise UsageError(f"--system-cuda {text}: no such CUDA version; CUDA {version.major} has {near[0]} to {near[-1]}.")
    return Supposed("system CUDA", text, combination.system_where or "--system-cuda")


def _stated_system_cudnn(combination: Combination) -> Supposed | None:
    text = combination.system_cudnn
    if text is not None and not re.fullmatch(r"\d{1,2}(\.\d{1,3}){0,3}", text):
        raise UsageError(f"--system-cudnn {text!r} is not a cuDNN version; write 8.9 or 9.3.0.75.")
    return Supposed("system cuDNN", text, combination.system_where or "--system-cudnn") if text else None
