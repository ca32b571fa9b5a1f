"""GD2: kernel driver, device nodes, NVML and libcuda, as far as versions and permissions go."""

from __future__ import annotations

from gpudoctor.findings import Evidence
from gpudoctor.snapshot import Libcuda, Missing, Nvml, Status


def _nvml_said(nvml: Nvml | Missing) -> tuple[Evidence, ...]:
    if isinstance(nvml, Missing):
        return (Evidence("NVML", nvml.reason, "libnvidia-ml.so.1"),)
    if isinstance(nvml.init, Status):
        return (Evidence("nvmlInit", f"{nvml.init.code} {nvml.init.text}", _library(nvml)),)
    return ()


def _library(section: Nvml | Libcuda) -> str:
    return section.library if isinstance(section.library, str) else "the driver's library"
