"""Evidence and commands that the rules about containers share."""

import shlex

from gpudoctor.derive.device_nodes import is_plain_file
from gpudoctor.derive.views.container import ContainerView
from gpudoctor.findings import Evidence
from gpudoctor.snapshot import Missing

NO_GPU_VALUES = ("", "none", "void")
"""Values of NVIDIA_VISIBLE_DEVICES that request no GPU."""

_PRODUCT_NAMES = {"docker": "Docker", "podman": "Podman", "kubernetes": "Kubernetes", "apptainer": "Apptainer", "lxc": "LXC"}


def product_name(name: str) -> str:
    """Return a container engine's or runtime's name with its capitals."""
    return _PRODUCT_NAMES.get(name, name)


def image_argument(container: ContainerView) -> str:
    """Return the container's image quoted for a shell, or IMAGE where the runtime does not say."""
    return shlex.quote(container.image) if container.image else "IMAGE"


def device_file_evidence(container: ContainerView) -> Evidence:
    """Return the device files by path, as evidence; plain files are marked."""
    nodes = container.observed.device_nodes
    if isinstance(nodes, Missing):
        return Evidence("device files", "none", "/dev")
    names = (f"{node.path} (a plain file)" if is_plain_file(node) else node.path for node in nodes.nodes)
    return Evidence("device files", ", ".join(names), "/dev")


def container_request_evidence(container: ContainerView) -> tuple[Evidence, ...]:
    """Return what the image or its user requested from the runtime, as evidence."""
    return tuple(Evidence(name, value or "empty", "environment") for name, value in container.requested.items())
