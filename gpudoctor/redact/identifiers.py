"""Patterns for what identifies a device: UUIDs and serial numbers. Each is linear in its text, and compiled when it is first used."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpudoctor.redact.pseudonyms import RemovalMarks, RemovedKind

_WHOLE_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_UUID_FORM = rf"(?i)(?<![0-9a-z])((?:MIG-)?(?:GPU-)?){_WHOLE_UUID}(?![0-9a-z])"
_SHORTENED_UUID = r"(?i)(?<![\w-])((?:MIG-)?GPU-|MIG-)([0-9a-f]{2,8}(?:-[0-9a-f]{0,12}){0,4})(?![\w-])"
"""CUDA_VISIBLE_DEVICES takes the beginning of a UUID: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables"""
_SERIAL_NUMBER = r"(?i)(\b(?:serial(?:[ _-]?(?:number|num|no))?|s/n|asset[ _-]?tag)[\"']?\.?[ \t]{0,40}[:=#]?[ \t]{0,40}[\"']?)((?=[a-z/-]{0,31}\d)[a-z0-9][a-z0-9/-]{3,31})(?![\w<])"
"""As nvidia-smi -q, dmidecode, lspci -v and kernel logs write them; a serial number has a digit."""
_MIN_LENGTH = 8
"""Signs of a serial number or of the beginning of a UUID that nothing else is likely to have."""


def without_uuids(text: str, marks: RemovalMarks, known: Iterable[str]) -> str:
    """`text` without UUIDs of GPUs, MIG instances and anything else, whole or shortened; GPU- and MIG- remain."""
    if text.count("-") > _MAX_HYPHENS:
        text = re.sub(
            _UUID_FORM, lambda match: match[1] + marks.of(RemovedKind.UUID, match.group()[len(match[1]) :], everywhere=True), text
        )
    if "GPU-" not in text.upper() and "MIG-" not in text.upper():
        return text
    return re.sub(_SHORTENED_UUID, lambda match: match[1] + _pseudonym_of_beginning(match[2], marks, known), text)


_MAX_HYPHENS = 3
"""A UUID has four."""


def _pseudonym_of_beginning(beginning: str, marks: RemovalMarks, known: Iterable[str]) -> str:
    """Return the pseudonym of the only known UUID that begins like this, or of the beginning itself if it is long."""
    whole = [uuid for uuid in known if uuid.startswith(beginning.lower())]
    if len(whole) == 1:
        return marks.of(RemovedKind.UUID, whole[0])
    return marks.of(RemovedKind.UUID, beginning) if len(beginning) >= _MIN_LENGTH or whole else beginning


def without_serials(text: str, marks: RemovalMarks) -> str:
    """`text` without serial numbers that are called so."""
    lower = text.lower()
    if not any(hint in lower for hint in ("serial", "s/n", "asset")):
        return text
    return re.sub(
        _SERIAL_NUMBER, lambda match: match[1] + marks.of(RemovedKind.SERIAL, match[2], everywhere=len(match[2]) >= _MIN_LENGTH), text
    )
