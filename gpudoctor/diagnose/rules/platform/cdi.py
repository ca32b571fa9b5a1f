"""GD3: CDI specifications, by which container engines are told how to give a container a GPU: missing, or too new for the engine."""

from __future__ import annotations

from gpudoctor.derive import Site
from gpudoctor.diagnose.rule import need, not_applicable
from gpudoctor.findings import Evidence, Severity
from gpudoctor.snapshot import Cause, ContainerTools, Fact, Missing

GENERATE = "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"


_GPU = "nvidia.com/gpu"


def tools_of(site: Site, tools: ContainerTools | Missing) -> ContainerTools:
    """What the host has for containers; ends the rule in a container, and where there is no engine."""
    if site.container:
        not_applicable("the specifications are the host's")
    if isinstance(tools, Missing) and tools.cause is Cause.ABSENT:
        not_applicable("no container engine here")
    return need(tools)


def asking(tools: ContainerTools) -> tuple[Fact, ...]:
    """The configuration that has containers given their GPUs by CDI."""
    return () if isinstance(tools.cdi_asked_by, Missing) else tools.cdi_asked_by


def severity(tools: ContainerTools) -> Severity:
    """An error where CDI is used, else worth knowing."""
    return Severity.ERROR if asking(tools) else Severity.NOTE


def asked_by(tools: ContainerTools) -> tuple[Evidence, ...]:
    """Who uses CDI, as evidence."""
    return tuple(Evidence("CDI is used", one.value, one.where) for one in asking(tools))
