"""How NVML started, as evidence."""

from gpudoctor.derive import MachineView
from gpudoctor.findings import Evidence
from gpudoctor.snapshot import Missing, Status


def nvml_start_evidence(machine: MachineView) -> tuple[Evidence, ...]:
    """Return what nvmlInit returned, or why NVML was not called; empty where it did not return."""
    nvml = machine.observed.nvml
    if isinstance(nvml, Missing):
        return (Evidence("NVML", nvml.reason, "libnvidia-ml.so.1"),)
    if not isinstance(nvml.init, Status):
        return ()
    library = nvml.library if isinstance(nvml.library, str) else "the driver's library"
    return (Evidence("nvmlInit", f"{nvml.init.code} {nvml.init.text}", library),)
