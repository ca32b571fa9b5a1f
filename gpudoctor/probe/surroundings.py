"""Everything around the examined processes other than hardware."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gpudoctor.probe.container_tools import container_tools
from gpudoctor.probe.details import details
from gpudoctor.probe.driver_files import cached
from gpudoctor.probe.limits import limits
from gpudoctor.probe.preloads import preloads
from gpudoctor.probe.scheduler import allocation, mps
from gpudoctor.probe.system_packages import system_packages
from gpudoctor.probe.tried import tried
from gpudoctor.probe.wsl import wsl
from gpudoctor.snapshot import Cause, Host, Missing, Platform, Snapshot, Wsl


def with_surroundings(seen: Snapshot, root: str, environ: Mapping[str, str]) -> Snapshot:
    """`seen`, with its host known, plus the machine itself, loader, limits, scheduler, MPS, WSL and container tools."""
    return msgspec.structs.replace(
        seen,
        details=tried(details, root),
        system_packages=tried(system_packages, root),
        preloads=tried(preloads, root, environ),
        container_tools=tried(container_tools, root),
        loader_cache=tried(cached, root),
        limits=tried(limits, root),
        allocation=tried(allocation, root, environ),
        mps=tried(mps, root, environ),
        wsl=tried(_wsl, root, seen.host),
    )


def _wsl(root: str, host: Host | Missing) -> Wsl | Missing:
    if isinstance(host, Missing) or host.platform != Platform.WSL2:
        return Missing(Cause.ABSENT, "this is not WSL 2")
    return wsl(root)
