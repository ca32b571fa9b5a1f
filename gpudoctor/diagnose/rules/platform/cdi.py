"""What the rules about CDI share: specifications that tell container engines how to provide a GPU."""

from gpudoctor.findings import Evidence, Severity
from gpudoctor.snapshot import ContainerTools, Missing

GENERATE_SPECIFICATION = "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
NVIDIA_DEVICE_KIND = "nvidia.com/gpu"
"""The kind of device in NVIDIA's specifications."""


def severity_by_use(tools: ContainerTools) -> Severity:
    """Return error where a configuration uses CDI, else note."""
    return Severity.ERROR if cdi_use_evidence(tools) else Severity.NOTE


def cdi_use_evidence(tools: ContainerTools) -> tuple[Evidence, ...]:
    """Return the configuration that uses CDI to provide GPUs."""
    facts = () if isinstance(tools.cdi_asked_by, Missing) else tools.cdi_asked_by
    return tuple(Evidence("CDI is used", fact.value, fact.where) for fact in facts)
