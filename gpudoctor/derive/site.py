"""Where the examined processes run: platform, container, scheduler."""

from __future__ import annotations

import msgspec

from gpudoctor.snapshot import SCHEDULERS, Container, Host, Missing, Platform, Snapshot, Variables


class Site(msgspec.Struct, frozen=True):
    """Circumstances that affect what an observation means and which advice helps."""

    platform: str
    """A value of Platform, or "unknown"."""
    container: str
    """The container's runtime; empty outside a container, or if unknown."""
    scheduler: str
    """Slurm, PBS, LSF or Kubernetes; empty if none assigns the GPUs."""
    distribution: tuple[str, ...]
    """The distribution's id, then those it derives from: ("ubuntu", "debian")."""
    root: bool
    release: str = ""
    """The distribution's VERSION_ID; empty if unknown."""
    architecture: str = ""
    """As in `uname -m`; empty if unknown."""
    kernel: str = ""
    """The running kernel's release; empty if unknown."""

    @property
    def has_pci(self) -> bool:
        """Whether this platform's GPUs are on a PCI bus; under WSL and on Jetson they are not."""
        return self.platform not in {Platform.WSL1, Platform.WSL2, Platform.JETSON}

    @property
    def on_wsl(self) -> bool:
        """Whether the GPU belongs to Windows."""
        return self.platform in {Platform.WSL1, Platform.WSL2}


def site_of_snapshot(snapshot: Snapshot) -> Site:
    """The site of a snapshot; fields are empty or "unknown" if not observed."""
    host = snapshot.host if isinstance(snapshot.host, Host) else Host()
    values = snapshot.variables.values if isinstance(snapshot.variables, Variables) else {}
    names = [word for text in (host.distribution, host.distribution_like) if isinstance(text, str) for word in text.split()]
    return Site(
        platform="unknown" if isinstance(host.platform, Missing) else str(host.platform),
        container=snapshot.container.runtime if isinstance(snapshot.container, Container) else "",
        scheduler=next((name for variable, name in SCHEDULERS if values.get(variable)), ""),
        distribution=tuple(names),
        root=host.uid == 0,
        release=host.distribution_version if isinstance(host.distribution_version, str) else "",
        architecture=host.architecture if isinstance(host.architecture, str) else "",
        kernel=host.kernel if isinstance(host.kernel, str) else "",
    )
