"""What of a text was recognised, and its lines that are signs of a fault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gpudoctor.expressions import expression
from gpudoctor.read.readers.across_lines import SHOWN_KEY
from gpudoctor.read.readers.gpudoctor_report import CAUSE_KEY
from gpudoctor.read.sections.statement_index import StatementIndex
from gpudoctor.read.signs import FaultSigns
from gpudoctor.read.statements import Line, Statement
from gpudoctor.signatures import recognised_signatures
from gpudoctor.snapshot import Fact, Reading, Reported, TextLog

_MEMORY_HELD_RULE = "gpu-memory-held-by-other-process"
_MEMORY_ACCOUNT = expression(r"total capaci?ty|reserved in total|already allocated|Free memory")


def text_log(lines: Sequence[Line], statements: Sequence[Statement], signs: FaultSigns) -> TextLog:
    """Return the signs of a fault, and which reader recognised how much."""
    used = {(statement.file, statement.line) for statement in statements} | {
        (line.file, line.number) for line in (*signs.log, *signs.noise, *signs.own)
    }
    return TextLog(
        lines=(*(Fact(line.text, line.where) for line in signs.log), *_facts_by_name(statements, SHOWN_KEY).values()),
        readings=tuple(_reader_counts(statements)),
        total=len(lines),
        used=len(used),
        reported=tuple(_reported_cause(statement) for statement in statements if statement.what.startswith(CAUSE_KEY)),
        set_by_program=_facts_by_name(statements, "set by program:"),
        gpu_requests=_gpu_requests(statements),
        likeness=signs.likeness,
    )


def _gpu_requests(statements: Sequence[Statement]) -> dict[Any, Fact]:
    """Return how containers are started; where NVIDIA's runtime is Docker's default, no option is needed."""
    default = StatementIndex(statements).get("docker default runtime")
    return {} if default and default.value == "nvidia" else _facts_by_name(statements, "gpu request:")


def _facts_by_name(statements: Sequence[Statement], prefix: str) -> dict[Any, Fact]:
    return {name: Fact(statement.value, statement.where) for name, statement in StatementIndex(statements).all(prefix).items()}


def _reported_cause(cause: Statement) -> Reported:
    severity, confidence, message = cause.value.split("\t", 2)
    return Reported(cause.what.removeprefix(CAUSE_KEY), severity, confidence, message, cause.where)


def _reader_counts(statements: Sequence[Statement]) -> Iterator[Reading]:
    """Yield what each reader recognised in each file."""
    lines: dict[tuple[str, str], list[int]] = {}
    for statement in statements:
        lines.setdefault((statement.reader, statement.file), []).append(statement.line)
    for (reader, file), numbers in lines.items():
        yield Reading(reader=reader, facts=len(numbers), first=min(numbers), last=max(numbers), file=file)


def lacks_memory(signs: FaultSigns) -> bool:
    """Return whether a program ran out of GPU memory and its log does not account for it."""
    text = "\n".join(line.text for line in signs.faults)
    return any(_MEMORY_HELD_RULE in sign.signature.causes for sign in recognised_signatures(text)) and not _MEMORY_ACCOUNT.search(text)
