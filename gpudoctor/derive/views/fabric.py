"""What rules about the NVLink fabric see: how GPUs are attached, whether it is set up, and where its manager runs."""

from __future__ import annotations

import enum

from gpudoctor.derive.fabric import fabric_of, is_in_rack
from gpudoctor.derive.rule_endings import require_applicable, require_known
from gpudoctor.derive.views.view import PartView
from gpudoctor.findings import Evidence, Rung
from gpudoctor.snapshot import Cause, Fabric, FabricManager, Missing, NvmlGpu, is_absent
from gpudoctor.status_codes import CudaError

REGISTERED = "completed"
_SETTLED_STATES = {REGISTERED, "not-supported"}


class ManagerPlace(enum.Enum):
    """Where a machine's fabric manager runs."""

    HERE = "this node"
    CONTAINER_HOST = "the host of this container"
    RACK = "the rack's switch trays"
    VM_HOST = "the host of this virtual machine"


class FabricView(PartView):
    """The NVLink fabric of one machine."""

    @property
    def attachment(self) -> str:
        """Evidence that GPUs are attached to the fabric: "4 NVSwitches"."""
        count = self.machine.nvswitches
        if count:
            return "1 NVSwitch" if count == 1 else f"{count} NVSwitches"
        attached = sum(fabric_of(gpu) is not None for gpu in self.machine.hardware)
        return f"{attached} of {len(self.machine.hardware)} GPUs attached"

    @property
    def manager(self) -> FabricManager:
        """The fabric manager's service; the rule does not apply if it is not installed."""
        return require_applicable(self.observed.fabric_manager)

    @property
    def manager_running(self) -> bool:
        """Whether the fabric manager runs; False if it is not installed. Ends the rule if unknown."""
        manager = self.observed.fabric_manager
        running = manager if isinstance(manager, Missing) else manager.running
        if is_absent(running):
            return False
        return require_known(running)

    @property
    def is_manager_running_here(self) -> bool:
        """Whether the fabric manager was seen to run on this node."""
        manager = self.observed.fabric_manager
        return isinstance(manager, FabricManager) and manager.running is True

    @property
    def manager_place(self) -> ManagerPlace:
        """Where the fabric manager of these GPUs runs."""
        gpus = self.machine.hardware
        if self.machine.site.container:
            return ManagerPlace.CONTAINER_HOST
        if gpus and all(map(is_in_rack, gpus)):
            return ManagerPlace.RACK
        passed_through = all(isinstance(gpu.nvml, NvmlGpu) and gpu.nvml.virtualization == "passthrough" for gpu in gpus)
        if gpus and passed_through and not self.machine.nvswitches:
            return ManagerPlace.VM_HOST
        return ManagerPlace.HERE

    @property
    def unready_evidence_or_missing(self) -> tuple[Evidence, ...] | Missing:
        """Evidence that the fabric is not set up; missing if nothing could show it.

        NVML's state, if available, decides what 802 means: a registered GPU does not wait for the fabric.
        """
        seen = [gpu.nvml.fabric for gpu in self.machine.hardware if isinstance(gpu.nvml, NvmlGpu)]
        states = [fabric.state for fabric in seen if isinstance(fabric, Fabric)]
        code = self.machine.cuda_init_code
        if code is None and not states:
            libcuda = self.observed.libcuda
            return libcuda if isinstance(libcuda, Missing) else Missing(Cause.FAILED, "neither cuInit nor NVML answered")
        unready = [state for state in states if state not in _SETTLED_STATES]
        evidence = []
        if code == CudaError.SYSTEM_NOT_READY and (unready or REGISTERED not in states):
            evidence.append(Evidence("cuInit", f"{code} CUDA_ERROR_SYSTEM_NOT_READY", "libcuda"))
        if unready:
            counted = ", ".join(f"{state} on {unready.count(state)} of {len(states)} GPUs" for state in sorted(set(unready)))
            evidence.append(Evidence("fabric state", counted, "nvmlDeviceGetGpuFabricInfo"))
        return tuple(evidence)

    @property
    def unready_evidence(self) -> tuple[Evidence, ...]:
        """Evidence that the fabric is not set up; empty if it is. Ends the rule if nothing could show it."""
        return require_known(self.unready_evidence_or_missing, Rung.LIBCUDA)
