"""What a report on a text says beside its findings: contradictions, and lines that look like faults and are none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpudoctor import versions
from gpudoctor.expressions import expression
from gpudoctor.frameworks import CATALOGUE
from gpudoctor.read.sections.frameworks import NO_GPU_ANSWERS
from gpudoctor.read.sections.gpu_values import MEMORY_FACTS, SENSOR_FACTS
from gpudoctor.read.sections.statement_index import StatementIndex
from gpudoctor.read.statements import Line, Statement
from gpudoctor.signatures import harmless_reason


def unavailable_remarks(stated: StatementIndex) -> Iterable[str]:
    """Yield that the framework itself reports no usable GPU, which is a fault without a cause."""
    for spec in CATALOGUE:
        devices = stated.get(f"{spec.name} devices")
        if devices and devices.value in NO_GPU_ANSWERS:
            yield f"{devices.where} says that the framework cannot use CUDA"


def harmless_line_remarks(noise: Sequence[Line]) -> Iterable[str]:
    """Yield what each kind of harmless line means, with the first of its lines."""
    first = {harmless_reason(line.text): line for line in reversed(noise)}
    for why, line in first.items():
        yield f"{line.where} is harmless: {why}"


_CHANGING_FACTS = frozenset(
    {
        "xid",
        "sxid",
        "kernel line",
        "process",
        "mig device",
        "platform",
        "clock reason",
        "link generation",
        "link width",
        *SENSOR_FACTS,
        *MEMORY_FACTS,
    }
)
"""Facts that differ between outputs of one machine, or that it has several of; a platform's value is what shows it."""
_KERNEL_RELEASE = expression(r"\d{1,3}\.\d{1,3}\.\d{1,3}\S{0,60}")


def expected_remarks(lines: Sequence[Line], stated: StatementIndex) -> Iterable[str]:
    """Yield what people ask about and is as it should be; only for a text without a fault."""
    toolkit, served = stated.get("toolkit"), stated.get("cuda served")
    if (
        toolkit
        and served
        and (release := versions.parse_version(toolkit.value))
        and (newest := versions.parse_version(served.value))
        and release < newest
    ):
        yield f"{served.where} is harmless: CUDA {served.value} is the newest that the driver supports, and the toolkit is CUDA {toolkit.value}"
    empty = next((line for line in lines if "No running processes found" in line.text), None)
    if empty:
        yield f"{empty.where} is harmless: nvidia-smi lists no processes inside a container"


def contradiction_remarks(statements: Sequence[Statement], stated: StatementIndex) -> Iterable[str]:
    """Yield the first statement about each thing that the text states otherwise too, and which of the two was used."""
    told: set[str] = set()
    for statement in statements:
        used = stated.get(statement.what)
        if used and used.value != statement.value and statement.what not in told and not _is_agreement(statement, used):
            told.add(statement.what)
            yield f"{statement.where} says {statement.what.replace(':', ' ')} {statement.value}; {used.where} says {used.value}, which was used"


def _is_agreement(statement: Statement, other: Statement) -> bool:
    """Return whether two values of one thing need not be the same, or differ in nothing but what nvidia-smi cut off a name."""
    fact = statement.what.partition(":")[0]
    names = [value.split("...")[0].strip().lower() for value in (statement.value, other.value)]
    is_unnumbered = fact == "pci" and "----" in statement.value + other.value
    same_kernel = fact == "kernel platform" and _KERNEL_RELEASE.findall(names[0])[:1] == _KERNEL_RELEASE.findall(names[1])[:1]
    return fact in _CHANGING_FACTS or is_unnumbered or same_kernel or (fact == "gpu" and (names[0] in names[1] or names[1] in names[0]))
