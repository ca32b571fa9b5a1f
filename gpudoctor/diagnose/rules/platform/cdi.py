"""What the rules about CDI share: specifications that tell container engines how to provide a GPU."""

from gpudoctor.findings import Evidence, Severity
from gpudoctor.snapshot import ContainerTools, Missing

GENERATE = "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
NVIDIA_GPU = "nvidia.com/gpu"
"""The kind of device in NVIDIA's specifications."""


def error_if_used(tools: ContainerTools) -> Severity:
    """Return error where a configuration uses CDI, else note."""
    return Severity.ERROR if users_of_cdi(tools) else Severity.NOTE


def users_of_cdi(tools: ContainerTools) -> tuple[Evidence, ...]:
    """Return the configuration that uses CDI to provide GPUs."""
    facts = () if isinstance(tools.cdi_asked_by, Missing) else tools.cdi_asked_by
    return tuple(Evidence("CDI is used", fact.value, fact.where) for fact in facts)
