"""GD3: containers: what the runtime did not put in, took away again, or put in by halves."""

from __future__ import annotations

import shlex

from gpudoctor.derive.gpus import is_gpu
from gpudoctor.diagnose.rules.driver.access import is_needed
from gpudoctor.findings import Evidence
from gpudoctor.snapshot import (
    Cause,
    Container,
    DeviceNodes,
    DriverFile,
    Fact,
    KernelDriver,
    Missing,
    Pci,
    Variables,
)

DEVICES, _CAPABILITIES = "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"


NO_DEVICES = ("", "none", "void")


def has_devices(nodes: DeviceNodes | Missing, *, proven: bool) -> bool:
    """Whether the GPU's device files are there; plain files of the same names are none, unless something else makes them `proven`."""
    needed = [node for node in nodes.nodes if is_needed(node)] if isinstance(nodes, DeviceNodes) else []
    plain = [node for node in needed if isinstance(node.major, Missing) and node.major.cause is Cause.ABSENT]
    return bool(needed) and (proven or len(plain) < len(needed))


def mounted(container: Container | Missing) -> tuple[DriverFile, ...]:
    """The driver's libraries that the runtime put in."""
    return container.driver_files if isinstance(container, Container) and isinstance(container.driver_files, tuple) else ()


def listed(nodes: DeviceNodes | Missing) -> str:
    """The device files by path, and which of them are only named so."""
    if isinstance(nodes, Missing):
        return "none"
    plain = {node.path for node in nodes.nodes if isinstance(node.major, Missing) and node.major.cause is Cause.ABSENT}
    return ", ".join(f"{node.path}{' (a plain file)' if node.path in plain else ''}" for node in nodes.nodes)


IMAGE = "IMAGE"
"""Stands for the container's image, where the runtime does not say inside which it is."""


def image(container: Container | Missing) -> str:
    """The image that the container was made from, as a shell reads it."""
    said = container.image if isinstance(container, Container) else container
    return shlex.quote(said.value) if isinstance(said, Fact) else IMAGE


def host_has(kernel_driver: KernelDriver | Missing, pci: Pci | Missing) -> str:
    """How we know that the host could give a GPU; empty where nothing says so."""
    if isinstance(kernel_driver, KernelDriver) and isinstance(kernel_driver.version, Fact):
        return f"the host has NVIDIA driver {kernel_driver.version.value} loaded"
    bound = isinstance(pci, Pci) and any(is_gpu(device) and device.driver == "nvidia" for device in pci.devices)
    return "the host's NVIDIA driver holds a GPU" if bound else ""


def asked_for(variables: Variables | Missing) -> tuple[Evidence, ...]:
    """What the image or its user asked the runtime for."""
    values = variables.values if isinstance(variables, Variables) else {}
    return tuple(Evidence(name, values[name] or "empty", "environment") for name in (DEVICES, _CAPABILITIES) if name in values)
