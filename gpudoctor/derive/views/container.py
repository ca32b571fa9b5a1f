"""What rules inside a container see: what its runtime provided, and what the host has."""

from __future__ import annotations

from gpudoctor.derive.device_nodes import is_plain_file, is_used_to_compute
from gpudoctor.derive.rule_endings import require_known
from gpudoctor.derive.views.view import PartView
from gpudoctor.snapshot import Container, DeviceNodes, DriverFile, Fact, KernelDriver, Missing, Pci, Variables

DEVICES_VARIABLE, CAPABILITIES_VARIABLE = "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"
"""Variables by which an image or its user requests GPUs and driver libraries from the runtime."""


class ContainerView(PartView):
    """The container that gpudoctor runs in."""

    @property
    def runtime(self) -> str:
        """The runtime's name: docker, podman, kubernetes, ..."""
        return self.machine.site.container

    @property
    def image(self) -> str:
        """The image the container was made from; empty if the runtime does not say."""
        container = self.observed.container
        image = container.image if isinstance(container, Container) else container
        return image.value if isinstance(image, Fact) else ""

    @property
    def control(self) -> str | Missing:
        """The result of opening /dev/nvidiactl; ends the rule if the container is unknown."""
        return require_known(self.observed.container).control

    @property
    def driver_libraries(self) -> tuple[DriverFile, ...]:
        """The driver libraries that the runtime mounted; empty if unknown."""
        container = self.observed.container
        return container.driver_files if isinstance(container, Container) and isinstance(container.driver_files, tuple) else ()

    @property
    def requested(self) -> dict[str, str]:
        """What the image or its user requested from the runtime, by variable."""
        values = self.observed.variables.values if isinstance(self.observed.variables, Variables) else {}
        return {name: values[name] for name in (DEVICES_VARIABLE, CAPABILITIES_VARIABLE) if name in values}

    @property
    def host_driver(self) -> str:
        """Evidence that the host's driver has a GPU, as a clause; empty if there is none."""
        driver = self.observed.kernel_driver
        if isinstance(driver, KernelDriver) and isinstance(driver.version, Fact):
            return f"the host has NVIDIA driver {driver.version.value} loaded"
        pci = self.observed.pci
        bound = isinstance(pci, Pci) and any(device.is_nvidia_gpu and device.driver == "nvidia" for device in pci.devices)
        return "a GPU of the host is bound to the NVIDIA driver" if bound else ""

    def has_devices(self, *, proven: bool) -> bool:
        """Whether the GPU's device files exist here. Ordinary files of those names do not count, unless something else shows that they are `proven`."""
        nodes = self.observed.device_nodes
        needed = [node for node in nodes.nodes if is_used_to_compute(node)] if isinstance(nodes, DeviceNodes) else []
        return bool(needed) and (proven or not all(map(is_plain_file, needed)))
