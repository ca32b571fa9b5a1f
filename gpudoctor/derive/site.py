"""Where the examined processes run: platform, container, scheduler."""

from __future__ import annotations

import msgspec

from gpudoctor.snapshot import Container, Host, Missing, Platform, Snapshot, Variables

_SCHEDULERS = (("SLURM_JOB_ID", "Slurm"), ("PBS_JOBID", "PBS"), ("LSB_JOBID", "LSF"), ("KUBERNETES_SERVICE_HOST", "Kubernetes"))


class Site(msgspec.Struct, frozen=True):
    """The circumstances that change what an observation means and which advice helps."""

    platform: str
    """A word of Platform, or "unknown"."""
    container: str
    """The container's runtime; empty outside a container, or where that could not be seen."""
    scheduler: str
    """Slurm, PBS, LSF or Kubernetes; empty where none allots the GPUs."""
    distribution: tuple[str, ...]
    """The distribution's id, then those it is like: ("ubuntu", "debian")."""
    root: bool
    release: str = ""
    """The distribution's VERSION_ID; empty where it is not known."""
    architecture: str = ""
    """As `uname -m` says; empty where it is not known."""

    @property
    def has_pci(self) -> bool:
        """Whether a GPU of this platform shows on a PCI bus; under WSL and on Jetson it does not."""
        return self.platform not in {Platform.WSL1, Platform.WSL2, Platform.JETSON}

    @property
    def on_wsl(self) -> bool:
        """Whether the GPU belongs to Windows."""
        return self.platform in {Platform.WSL1, Platform.WSL2}


def site(snapshot: Snapshot) -> Site:
    """The site of a snapshot; what was not observed is empty or "unknown"."""
    host = snapshot.host if isinstance(snapshot.host, Host) else Host()
    values = snapshot.variables.values if isinstance(snapshot.variables, Variables) else {}
    names = [word for text in (host.distribution, host.distribution_like) if isinstance(text, str) for word in text.split()]
    return Site(
        platform="unknown" if isinstance(host.platform, Missing) else str(host.platform),
        container=snapshot.container.runtime if isinstance(snapshot.container, Container) else "",
        scheduler=next((name for variable, name in _SCHEDULERS if values.get(variable)), ""),
        distribution=tuple(names),
        root=host.uid == 0,
        release=host.distribution_version if isinstance(host.distribution_version, str) else "",
        architecture=host.architecture if isinstance(host.architecture, str) else "",
    )
