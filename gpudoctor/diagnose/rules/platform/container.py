"""What the rules about containers show and prescribe."""

from __future__ import annotations

import shlex

from gpudoctor.derive.device_nodes import is_plain_file
from gpudoctor.derive.views.container import ContainerView
from gpudoctor.findings import Evidence
from gpudoctor.snapshot import Missing

NO_DEVICES = ("", "none", "void")
"""Values of NVIDIA_VISIBLE_DEVICES that ask for no GPU."""


def image_argument(container: ContainerView) -> str:
    """Return the container's image as a shell reads it, or a word to replace."""
    return shlex.quote(container.image) if container.image else "IMAGE"


def device_files(container: ContainerView) -> Evidence:
    """Return the device files by path, plain files among them marked."""
    nodes = container.observed.device_nodes
    if isinstance(nodes, Missing):
        return Evidence("device files", "none", "/dev")
    names = (f"{node.path} (a plain file)" if is_plain_file(node) else node.path for node in nodes.nodes)
    return Evidence("device files", ", ".join(names), "/dev")


def requests(container: ContainerView) -> tuple[Evidence, ...]:
    """Return what the image or its user asked the runtime for."""
    return tuple(Evidence(name, value or "empty", "environment") for name, value in container.requested.items())
