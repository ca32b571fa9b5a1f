"""The most realistic seams possible: our C libraries in place of NVIDIA's, Debian's real driver libraries, and trees that look like a machine's root.

    nvml = Nvml(gpus=8, calls={"nvmlDeviceGetHandleByIndex.3": "return 15"})
    environment = environ_with(nvml, Cuda(gpus=nvml.gpus), directory=tmp_path)

LD_LIBRARY_PATH adds the libraries at process start, so only a child process sees them.
"""

from __future__ import annotations

from tests.seams.build import SeamUnavailable
from tests.seams.debian import BRANCHES, DriverLibraries, driver_libraries, without_mknod
from tests.seams.details import LACKED, LACKED_BY_NONE, READ_TWICE
from tests.seams.scenario import Cuda, Mig, Nvml, NvmlGpu, environ_with
from tests.seams.trees import PciCard, Tree, seen_by_child

__all__ = [
    "BRANCHES",
    "LACKED",
    "LACKED_BY_NONE",
    "READ_TWICE",
    "Cuda",
    "DriverLibraries",
    "Mig",
    "Nvml",
    "NvmlGpu",
    "PciCard",
    "SeamUnavailable",
    "Tree",
    "driver_libraries",
    "environ_with",
    "seen_by_child",
    "without_mknod",
]
