"""Everything around the examined processes other than hardware."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gpudoctor.probe.container_tools import container_tools
from gpudoctor.probe.crash_guard import result_or_gap
from gpudoctor.probe.details import details
from gpudoctor.probe.driver_files import cached_libraries
from gpudoctor.probe.limits import limits
from gpudoctor.probe.preloads import preloaded_libraries
from gpudoctor.probe.scheduler import gpu_allocation, mps_folder
from gpudoctor.probe.system_packages import system_packages
from gpudoctor.probe.wsl import wsl
from gpudoctor.snapshot import Cause, Host, Missing, Platform, Snapshot, Wsl


def with_surroundings(seen: Snapshot, root: str, environ: Mapping[str, str]) -> Snapshot:
    """`seen`, with its host known, plus the machine itself, loader, limits, scheduler, MPS, WSL and container tools."""
    return msgspec.structs.replace(
        seen,
        details=result_or_gap(details, root),
        system_packages=result_or_gap(system_packages, root),
        preloads=result_or_gap(preloaded_libraries, root, environ),
        container_tools=result_or_gap(container_tools, root),
        loader_cache=result_or_gap(cached_libraries, root),
        limits=result_or_gap(limits, root),
        allocation=result_or_gap(gpu_allocation, root, environ),
        mps=result_or_gap(mps_folder, root, environ),
        wsl=result_or_gap(_wsl_section, root, seen.host),
    )


def _wsl_section(root: str, host: Host | Missing) -> Wsl | Missing:
    if isinstance(host, Missing) or host.platform != Platform.WSL2:
        return Missing(Cause.ABSENT, "this is not WSL 2")
    return wsl(root)
