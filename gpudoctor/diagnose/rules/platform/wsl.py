"""GD3: the Windows Subsystem for Linux, where the driver is that of Windows."""

from __future__ import annotations

from gpudoctor.derive import Site
from gpudoctor.diagnose.rule import need, not_applicable
from gpudoctor.snapshot import Cause, Missing, Platform, Wsl

_LIBRARIES = "/usr/lib/wsl/lib"


_NEEDED = ("libcuda.so.1", "libnvidia-ml.so.1")


_GUIDE = "https://docs.nvidia.com/cuda/wsl-user-guide/"


def _here(wsl: Wsl | Missing, site: Site) -> Wsl:
    """The section, where the rule has something to say."""
    if site.platform not in {Platform.WSL2, "unknown"} or (isinstance(wsl, Missing) and wsl.cause is Cause.ABSENT):
        not_applicable("not WSL 2")
    return need(wsl)
