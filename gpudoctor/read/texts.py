"""Reads text from other tools as a Snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from gpudoctor.errors import NothingRecognisedError
from gpudoctor.expressions import expression
from gpudoctor.matrix import Matrix
from gpudoctor.read.bug_report import BEGIN_MARK, unread_sections_remark
from gpudoctor.read.lines import seen_lines
from gpudoctor.read.readers.version_prose import has_version_mention
from gpudoctor.read.sections import assembled_snapshot
from gpudoctor.read.sections.frameworks import has_no_usable_gpu
from gpudoctor.read.sections.statement_index import StatementIndex
from gpudoctor.read.signs import FaultSigns
from gpudoctor.read.text_part import TextPart
from gpudoctor.snapshot import Snapshot

_WORD_FORM = expression(r"[^\W\d_]{3}")
_WHAT_TO_PASTE = (
    "paste the whole error message and log, and the output of `nvidia-smi`, `python -m torch.utils.collect_env` or "
    "`gpudoctor check --format json`"
)


def read_text(data: bytes, name: str, matrix: Matrix, created: str) -> Snapshot:
    """Return the machine that a text describes. Raises UsageError, with what to paste, if it is no text."""
    return read_texts({name: data}, matrix, created)


def read_texts(texts: Mapping[str, bytes], matrix: Matrix, created: str) -> Snapshot:
    """Return the one machine that several texts describe, by name; their order makes no difference. Raises UsageError as read_text does."""
    parts = [TextPart.of(texts[name], name, file=name if len(texts) > 1 else "") for name in sorted(texts)]
    statements = [statement for part in parts for statement in part.statements]
    signs = FaultSigns.among(
        [hit for part in parts for hit in part.hits],
        own=[line for part in parts for line in part.own],
        told=[line for part in parts for line in part.told],
        blind=has_no_usable_gpu(StatementIndex(statements)),
    )
    silent = [part for part in parts if part.is_unrecognised or part.is_change]
    if all(part.is_unrecognised and not _is_text(texts[part.name], part) for part in parts):
        raise NothingRecognisedError(f"Nothing in {' or '.join(sorted(texts))} is recognised: {_WHAT_TO_PASTE}.")
    snapshot = assembled_snapshot([line for part in parts for line in part.lines], statements, signs, matrix, created)
    advice = f"; {_WHAT_TO_PASTE}" if len(silent) == len(parts) else ""
    remarks = (*_bug_report_remarks(texts), *(_empty_file_remark(part, advice) for part in silent))
    return msgspec.structs.replace(snapshot, remarks=(*snapshot.remarks, *remarks)) if remarks else snapshot


def _bug_report_remarks(texts: Mapping[str, bytes]) -> Iterator[str]:
    """Yield a remark about each of NVIDIA's bug reports among the texts."""
    for name in sorted(texts):
        said = unread_sections_remark(seen_lines(texts[name])) if BEGIN_MARK in texts[name] else ""
        if said:
            yield f"{name} {said}"


def _is_text(data: bytes, part: TextPart) -> bool:
    """Return whether a file has words; an image or an archive has null characters too."""
    return b"\0" not in data and any(_WORD_FORM.search(line.text) for line in part.lines)


def _empty_file_remark(part: TextPart, advice: str) -> str:
    """Return what a report says of a file that states nothing about the machine."""
    if part.is_change:
        return f"{part.name} describes a change to a program; paste the error and log of a machine that fails"
    if has_version_mention(part.lines):
        return f"{part.name} names versions and does not say that this machine has them; paste the whole error message and the output of `nvidia-smi`"
    return f"nothing in {part.name} is recognised{advice}"
