"""The kernel driver and the errors that a kernel log in a text shows."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.read.sections.stated import NOT_STATED, Stated
from gpudoctor.read.statements import Statement
from gpudoctor.snapshot import Fact, KernelDriver, KernelLog, Missing, XidEvent, normalise_address


def kernel_driver(stated: Stated) -> KernelDriver | Missing:
    """Return the version of the loaded kernel module."""
    module = stated.get("module")
    return NOT_STATED if module is None else KernelDriver(version=Fact(module.value, module.where))


def kernel_log(statements: Sequence[Statement]) -> KernelLog | Missing:
    """Return the Xid and SXid errors in the text."""
    events = tuple(_event(one) for one in statements if one.what.startswith(("xid:", "sxid:")))
    return KernelLog(where="the text", events=events) if events else NOT_STATED


def _event(one: Statement) -> XidEvent:
    kind, _, address = one.what.partition(":")
    code, _, text = one.value.partition(",")
    return XidEvent(code=int(code), address=normalise_address(address) or NOT_STATED, text=text.strip(), switch=kind == "sxid")
