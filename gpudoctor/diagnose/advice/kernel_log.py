"""Evidence from the kernel log."""

from __future__ import annotations

from gpudoctor.derive import MachineView
from gpudoctor.findings import Evidence
from gpudoctor.snapshot import KernelLog

_MAX_LENGTH = 240


def line_excerpt(line: str) -> str:
    """Return what is shown of a line of the kernel log."""
    return line[:_MAX_LENGTH]


def kernel_log_evidence(machine: MachineView, pattern: str, address: str = "") -> tuple[Evidence, ...]:
    """Return the last line of the kernel log that matches `pattern` and names `address`, if given; empty where none does."""
    line = machine.kernel.last_line(pattern, address)
    log = machine.observed.kernel_log
    return (Evidence("kernel log", line_excerpt(line), log.where),) if line and isinstance(log, KernelLog) else ()
