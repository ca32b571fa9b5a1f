"""Reads what a user names as FILE: a text file, a pipe, or standard input. Never blocks on what nobody writes to."""

from __future__ import annotations

import os
import select
import shlex
import stat
import sys
import time
from collections.abc import Mapping, Sequence

import msgspec

from gpudoctor.cli import output
from gpudoctor.cli.compression import unpacked_bytes
from gpudoctor.diagnose import diagnose
from gpudoctor.errors import NothingRecognisedError, UsageError
from gpudoctor.examination import Examination
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from gpudoctor.read.lines import MAX_BYTES
from gpudoctor.read.own_report import own_report
from gpudoctor.read.report_with_text import report_with_text
from gpudoctor.regular_files import READ_FLAGS, refuse_own_pipe
from gpudoctor.snapshot import Snapshot

STANDARD_INPUT = "standard input"
_STANDARD_INPUTS = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))
_CHUNK_BYTES = 1 << 20


def examine_files(files: Sequence[str], matrix: Matrix, policy: Policy) -> Examination:
    """Return the machine that a report and texts describe, diagnosed. Raises UsageError if they cannot be read or say nothing."""
    return diagnose_texts({name: data for data, name in map(content_of_file, dict.fromkeys(files))}, matrix, policy)


def diagnose_texts(texts: Mapping[str, bytes], matrix: Matrix, policy: Policy) -> Examination:
    """Return the same for what was read, by the names that error sentences use."""
    if sum(map(len, texts.values())) > MAX_BYTES and len(texts) > 1:
        raise UsageError(f"The files have more than {MAX_BYTES >> 20} MB together; cut out the parts around the errors.")
    reports = {name: own for name, data in texts.items() if (own := own_report(data))}
    if len(reports) > 1:
        raise UsageError(f"{' and '.join(reports)} are gpudoctor reports; diagnose one of them, or compare them: gpudoctor diff A B.")
    others = {name: data for name, data in texts.items() if name not in reports}
    if reports:
        ((report, asked),) = reports.values()
        snapshot = _report_with_texts(report, others, matrix)
        policy = msgspec.structs.replace(asked, only=policy.only or asked.only, skip=policy.skip or asked.skip, fail_on=policy.fail_on)
    else:
        snapshot = _read_texts(texts, matrix, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    return Examination(snapshot=snapshot, diagnosis=diagnose(snapshot, matrix, policy), policy=policy, matrix_date=matrix.date)


def _report_with_texts(report: Snapshot, texts: Mapping[str, bytes], matrix: Matrix) -> Snapshot:
    """Return what a report and texts about the same machine say."""
    try:
        return report_with_text(report, _read_texts(texts, matrix, report.created)) if texts else report
    except NothingRecognisedError:
        return msgspec.structs.replace(report, remarks=(*report.remarks, f"nothing in {' or '.join(sorted(texts))} is recognised"))


def _read_texts(texts: Mapping[str, bytes], matrix: Matrix, created: str) -> Snapshot:
    from gpudoctor.read.texts import read_texts  # noqa: PLC0415 -- 60 ms, and gpudoctor's own report needs no reader

    return read_texts(texts, matrix, created)


def content_of_file(file: str) -> tuple[bytes, str]:
    """Return what is in the file, or on standard input for "-", and its name. Raises UsageError if it cannot be read."""
    if file in _STANDARD_INPUTS:
        return unpacked_bytes(_read_standard_input(), STANDARD_INPUT, MAX_BYTES + 1), STANDARD_INPUT
    read = _read_file(file)
    data = unpacked_bytes(read, file, MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        end = f"zcat {shlex.quote(file)} | tail --bytes=20M" if data is not read else f"tail --bytes=20M {shlex.quote(file)}"
        more = f"{file} has more than {MAX_BYTES >> 20} MB, and gpudoctor reads up to {MAX_BYTES >> 20} MB"
        raise UsageError(f"{more}; cut out the part around the error, or read its end: {end} | gpudoctor diagnose -")
    return data, file


def _read_file(file: str) -> bytes:
    """Return what is in a file. Raises UsageError if it cannot be read."""
    try:
        descriptor = os.open(file, READ_FLAGS)
        try:
            _refuse_endless(file, os.fstat(descriptor).st_mode)
            return _read_all(descriptor)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its name contains a null character"
        raise UsageError(f"{file!r} cannot be read: {why}; name a text file, or - for standard input.".replace("'", "")) from None


def _read_standard_input() -> bytes:
    if sys.stdin is not None and sys.stdin.isatty():
        output.print_error(
            "Paste the error message and log, or the output of nvidia-smi or torch.utils.collect_env; then press Enter and Ctrl-D."
        )
    try:
        data = _read_all(0)
    except OSError as error:
        raise UsageError(f"Standard input cannot be read: {error.strerror}; name a text file instead.") from None
    if not data:
        raise UsageError("Standard input is empty; pipe a text to it, as in `nvidia-smi 2>&1 | gpudoctor diagnose`, or name a file.")
    return data


def _refuse_endless(file: str, mode: int) -> None:
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise UsageError(f"{file} is a device; name a text file, or - for standard input.")


def _read_all(descriptor: int) -> bytes:
    """Return what can be read, at most one byte more than a text may have; waits only for a pipe that somebody writes to."""
    refuse_own_pipe(descriptor)
    parts: list[bytes] = []
    size = 0
    while size <= MAX_BYTES:
        try:
            part = os.read(descriptor, min(_CHUNK_BYTES, MAX_BYTES + 1 - size))
        except BlockingIOError:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                break  # a file of the kernel that waits for more, such as /proc/kmsg
            select.select([descriptor], [], [])
            continue
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)
