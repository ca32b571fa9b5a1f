"""What the kernel log says, as evidence."""

from __future__ import annotations

from gpudoctor.derive import MachineView
from gpudoctor.findings import Evidence
from gpudoctor.snapshot import KernelLog

_LONGEST = 240


def logged(machine: MachineView, pattern: str, address: str = "") -> tuple[Evidence, ...]:
    """The last line of the kernel log that matches a pattern and, where given, names the GPU at an address; empty where none does."""
    line = machine.kernel.last_line(pattern, address)
    log = machine.observed.kernel_log
    return (Evidence("kernel log", line[:_LONGEST], log.where),) if line and isinstance(log, KernelLog) else ()
