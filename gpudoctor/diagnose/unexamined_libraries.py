"""The libraries of installed frameworks that the X-ray could not examine."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive.gpu_code import xray_of_framework
from gpudoctor.findings import Unchecked
from gpudoctor.snapshot import Cause, Framework, Libraries, Missing, is_absent, is_unasked


def unexamined_libraries(machine: MachineView) -> Iterator[Unchecked]:
    """Return the CUDA builds on a live machine with GPUs whose libraries could not be examined; one that trained needs no examination."""
    for framework in machine.frameworks if machine.hardware and machine.observed.origin == "live" else ():
        cuda = framework.cuda_or_missing
        without = framework.observed.cuda_build is False or is_absent(cuda)
        reason = "" if without or framework.trains_on_gpu else _unknown_reason(framework.observed, machine.observed.libraries)
        if reason:
            yield Unchecked(framework.subject, f"libraries of {framework.label}", reason, plural=True)


def _unknown_reason(framework: Framework, libraries: Libraries | Missing) -> str:
    """Return why a framework's libraries are unknown; empty if they are known or the X-ray was not asked for."""
    seen = xray_of_framework(framework, libraries)
    if isinstance(libraries, Missing) and libraries.cause is not Cause.ABSENT:
        return "" if is_unasked(libraries) else libraries.reason
    if seen is None:
        return framework.location.reason if isinstance(framework.location, Missing) else "the X-ray did not examine them"
    if isinstance(seen.uses, Missing):
        return "" if is_unasked(seen.uses) else seen.uses.reason
    if not seen.uses and not seen.broken:
        return seen.code.reason if isinstance(seen.code, Missing) else ""
    unread = (use.file for use in seen.uses if use.vital and isinstance(use.file, Missing) and use.file.cause is not Cause.ABSENT)
    return next((file.reason for file in unread), "")
