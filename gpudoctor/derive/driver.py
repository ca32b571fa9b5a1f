"""The driver's version and the CUDA it supports, from the places that state them."""

from __future__ import annotations

import msgspec

from gpudoctor import versions
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import SUPPOSED, Cause, Fact, KernelDriver, Libcuda, Missing, Nvml, Snapshot
from gpudoctor.versions import Version


class Driver(msgspec.Struct, frozen=True):
    """The NVIDIA driver as programs see it. Under WSL the version is that of the Windows driver."""

    version: Version
    where: str
    cuda_served: Version | Missing
    """The newest CUDA it supports: what nvidia-smi prints as "CUDA Version"."""
    cuda_where: str = ""
    forward: bool = False
    """Whether libcuda is newer than the driver's branch, as that of a cuda-compat package (forward compatibility)."""


def _stated_versions(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Every place that states the driver's version, the one that programs use first."""
    found = []
    if isinstance(snapshot.nvml, Nvml) and isinstance(snapshot.nvml.driver_version, str):
        found.append((snapshot.nvml.driver_version, "NVML"))
    if isinstance(snapshot.kernel_driver, KernelDriver) and isinstance(snapshot.kernel_driver.version, Fact):
        found.append((snapshot.kernel_driver.version.value, snapshot.kernel_driver.version.where))
    return found


def _cuda_served(snapshot: Snapshot, version: Version, matrix: Matrix) -> tuple[Version | Missing, str]:
    """The newest CUDA it supports and the source: libcuda, which programs call, otherwise NVML, otherwise the matrix for the branch."""
    places = ((snapshot.libcuda, "cuDriverGetVersion"), (snapshot.libcuda_unmasked, "cuDriverGetVersion"), (snapshot.nvml, "NVML"))
    for section, where in places:
        if isinstance(section, Libcuda | Nvml) and isinstance(section.cuda_served, str):
            parsed = versions.parse_version(section.cuda_served)
            if parsed is not None:
                return parsed, "--cuda-compat" if snapshot.origin == SUPPOSED else where
    branch = matrix.driver(version)
    if branch is not None and branch.cuda_served is not None:
        return branch.cuda_served, f"matrix: branch {branch.branch}"
    return Missing(Cause.NOT_STATED, f"neither libcuda nor NVML reported which CUDA driver {version} supports"), ""


def _is_forward_compatible(served: Version | Missing, version: Version, matrix: Matrix) -> bool:
    branch = matrix.driver(version)
    own = branch.cuda_served if branch is not None else None
    return own is not None and isinstance(served, Version) and served[:2] > own[:2]


def loaded_driver(snapshot: Snapshot, matrix: Matrix) -> Driver | Missing:
    """The driver, or why its version is unknown."""
    for text, where in _stated_versions(snapshot):
        version = versions.parse_version(text)
        if version is not None:
            served, cuda_where = _cuda_served(snapshot, version, matrix)
            return Driver(version, where, served, cuda_where, forward=_is_forward_compatible(served, version, matrix))
    for section in (snapshot.kernel_driver, snapshot.nvml):
        if isinstance(section, Missing) and section.cause is not Cause.ABSENT:
            return section
    return Missing(Cause.ABSENT, "no loaded NVIDIA driver states its version")


def driver_release_of_nvml(nvml: Nvml | Missing) -> str:
    """The driver version of libnvidia-ml, from NVML's own version: CUDA's major, a dot, the driver ("12.550.163.01"). Empty if unknown."""
    if isinstance(nvml, Missing) or isinstance(nvml.nvml_version, Missing):
        return ""
    return nvml.nvml_version.partition(".")[2]
