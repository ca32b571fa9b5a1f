"""Evidence from the kernel log."""

from __future__ import annotations

from gpudoctor.derive import MachineView
from gpudoctor.findings import Evidence
from gpudoctor.snapshot import KernelLog

_LONGEST = 240


def logged(machine: MachineView, pattern: str, address: str = "") -> tuple[Evidence, ...]:
    """Return the last line of the kernel log that matches `pattern` and names `address`, if given; empty where none does."""
    line = machine.kernel.last_line(pattern, address)
    log = machine.observed.kernel_log
    return (Evidence("kernel log", line[:_LONGEST], log.where),) if line and isinstance(log, KernelLog) else ()
