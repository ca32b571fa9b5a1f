"""The CUDA toolkits on the system: the one a build would use, and their versions."""

from __future__ import annotations

from gpudoctor import versions
from gpudoctor.snapshot import Fact, Toolkit
from gpudoctor.versions import Version

HOME_VARIABLES = ("CUDA_HOME", "CUDA_PATH")
"""The variables that PyTorch's and others' build tools read first, in their order."""
_TOOLKIT_ORDER = (*HOME_VARIABLES, "PATH", "/usr/local/cuda")


def build_toolkit(toolkits: tuple[Toolkit, ...]) -> Toolkit | None:
    """The toolkit that a build would use: CUDA_HOME's, that of nvcc on PATH, otherwise /usr/local/cuda."""
    for name in _TOOLKIT_ORDER:
        found = next((toolkit for toolkit in toolkits if name in toolkit.named_by or name == toolkit.path), None)
        if found is not None:
            return found
    return None


def toolkit_version(toolkit: Toolkit) -> Version | None:
    """The CUDA version of a toolkit; None if unknown."""
    return versions.parse_version(toolkit.toolkit_cuda.value) if isinstance(toolkit.toolkit_cuda, Fact) else None


def system_cudas(toolkits: tuple[Toolkit, ...]) -> list[tuple[Version, str]]:
    """The CUDA versions on the system, each with its folder or the option that stated it."""
    found = []
    for toolkit in toolkits:
        version = toolkit_version(toolkit)
        if version is not None and isinstance(toolkit.toolkit_cuda, Fact):
            found.append((version, toolkit.path or toolkit.toolkit_cuda.where))
    return found
