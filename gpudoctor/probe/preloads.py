"""The libraries that the loader preloads into every process, and which CUDA and NVML functions they define."""

from __future__ import annotations

from collections.abc import Mapping

from gpudoctor.elf import file, symbols
from gpudoctor.probe import files
from gpudoctor.snapshot import Cause, Missing, Preload, readable

FILE = "/etc/ld.so.preload"
FUNCTIONS = (
    "cuInit", "cuDriverGetVersion", "cuGetProcAddress", "cuGetProcAddress_v2", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceTotalMem_v2",
    "cuCtxCreate_v2", "cuMemAlloc_v2", "cuMemAllocManaged", "cuMemGetInfo_v2", "cuLaunchKernel", "nvmlInit", "nvmlInit_v2",
    "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetMemoryInfo", "cudaMalloc", "cudaGetDeviceCount", "cudaLaunchKernel",
)  # fmt: skip
"""Functions that a library between programs and the driver defines."""
MOST = 16


def preloads(root: str, environ: Mapping[str, str]) -> tuple[Preload, ...]:
    """Each library once, in the loader's order: LD_PRELOAD first, then the file."""
    named = [(word, "LD_PRELOAD") for word in environ.get("LD_PRELOAD", "").replace(":", " ").split()]
    lines = (line.partition("#")[0] for line in files.lines(FILE, root, 4096))
    named += [(word, FILE) for line in lines for word in line.replace(":", " ").split()]
    first: dict[str, str] = {}
    for path, where in named[:MOST]:
        first.setdefault(path, where)
    return tuple(_preload(path, where, root) for path, where in first.items())


def _preload(path: str, where: str, root: str) -> Preload:
    if not path.startswith("/"):
        return Preload(readable(path), where, Missing(Cause.NOT_ASKED, "a bare name, which only the loader's search resolves"))
    place = path if where == "LD_PRELOAD" else files.under(root, path)  # the variable is this process's own
    return Preload(readable(path), where, _exports(place))


def _exports(place: str) -> tuple[str, ...] | Missing:
    try:
        defined = symbols.defined(place, file.read(place), FUNCTIONS)
    except OSError as error:
        return files.missing(place, error)
    except (file.NotElf, ValueError) as error:
        return Missing(Cause.FAILED, f"{readable(place)}: {error}")
    return tuple(name for name in FUNCTIONS if name in defined)
