"""The libraries that the loader preloads into every process, and which CUDA and NVML functions they define."""

from __future__ import annotations

from collections.abc import Mapping

from gpudoctor.elf import file, symbols
from gpudoctor.probe import files
from gpudoctor.snapshot import Cause, Missing, Preload, printable_text

PRELOAD_FILE = "/etc/ld.so.preload"
CUDA_FUNCTIONS = (
    "cuInit", "cuDriverGetVersion", "cuGetProcAddress", "cuGetProcAddress_v2", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceTotalMem_v2",
    "cuCtxCreate_v2", "cuMemAlloc_v2", "cuMemAllocManaged", "cuMemGetInfo_v2", "cuLaunchKernel", "nvmlInit", "nvmlInit_v2",
    "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetMemoryInfo", "cudaMalloc", "cudaGetDeviceCount", "cudaLaunchKernel",
)  # fmt: skip
"""Functions that a library between programs and the driver defines."""
MAX_PRELOADS = 16


def preloaded_libraries(root: str, environ: Mapping[str, str]) -> tuple[Preload, ...]:
    """Each library once, in the loader's order: LD_PRELOAD first, then the file."""
    named = [(word, "LD_PRELOAD") for word in environ.get("LD_PRELOAD", "").replace(":", " ").split()]
    lines = (line.partition("#")[0] for line in files.lines_or_empty(PRELOAD_FILE, root, 4096))
    named += [(word, PRELOAD_FILE) for line in lines for word in line.replace(":", " ").split()]
    first: dict[str, str] = {}
    for path, where in named[:MAX_PRELOADS]:
        first.setdefault(path, where)
    return tuple(_preloaded_library(path, where, root) for path, where in first.items())


def _preloaded_library(path: str, where: str, root: str) -> Preload:
    if not path.startswith("/"):
        return Preload(printable_text(path), where, Missing(Cause.NOT_ASKED, "a bare name, which only the loader's search resolves"))
    place = path if where == "LD_PRELOAD" else files.path_in_tree(root, path)  # the variable is this process's own
    return Preload(printable_text(path), where, _defined_functions(place))


def _defined_functions(place: str) -> tuple[str, ...] | Missing:
    try:
        defined = symbols.defined_symbols(place, file.read_elf_file(place), CUDA_FUNCTIONS)
    except OSError as error:
        return files.missing_file(place, error)
    except (file.NotElf, ValueError) as error:
        return Missing(Cause.FAILED, f"{printable_text(place)}: {error}")
    return tuple(name for name in CUDA_FUNCTIONS if name in defined)
