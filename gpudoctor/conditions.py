"""What `--require` accepts: a subject with version specifiers ("driver>=550", "memory>=80GiB"), a feature alone ("bf16"), or a run that must fit."""

from __future__ import annotations

import re
from types import ModuleType
from typing import TYPE_CHECKING

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.frameworks import CATALOGUE, MISTAKEN
from gpudoctor.suggestions import suggestion

if TYPE_CHECKING:
    from gpudoctor.run_spelling import Run

FRAMEWORKS = tuple(spec.name for spec in CATALOGUE)
EXAMPLES = {"driver": "driver>=550", "gpus": "gpus==8", "memory": "memory>=80GB", "cc": "cc>=8.0", "fit": "fit=llama-8b,lora,bf16,batch=1"}
"""The subjects other than frameworks, each with an example."""
FEATURES = {"bf16": (8, 0)}
"""Features that the GPUs must have, and the compute capability that introduced each.

BF16: ptxas 13.0.88 refuses fma.bf16 for sm_75 ("requires .target sm_80 or higher"), and torch.cuda.is_bf16_supported(including_emulation=False)
wants major version 8. https://docs.nvidia.com/cuda/parallel-thread-execution/#half-precision-floating-point-instructions-fma
"""
SIZE_UNITS = {"mb": 10**6, "gb": 10**9, "tb": 10**12, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
"""Bytes. Product names use decimal gigabytes: an H100 of 80 GB has 79.6 GiB."""

_CONDITION_FORM = r"(?s)([A-Za-z][\w.-]*)\s*(\S.*)?"
_SIZE_FORM = r"\s*(>=|<=|==|!=|>|<)\s*(\d{1,9}(?:\.\d{1,9})?)\s*([A-Za-z]+)\s*"


class Condition(msgspec.Struct, frozen=True):
    """One requirement."""

    text: str
    """As the user wrote it."""
    subject: str
    """A key of EXAMPLES or FEATURES, or one of FRAMEWORKS."""
    specifier: str
    """PEP 440, sizes in bytes, for a run the memory that it needs; empty: any version will do."""


def parse_condition(text: str) -> Condition:
    """The condition that `text` spells. Raises UsageError if it is invalid."""
    written = text.strip()
    form = re.fullmatch(_CONDITION_FORM, written)
    subject = form.group(1).lower() if form else ""
    if form is None or subject not in {*EXAMPLES, *FEATURES, *FRAMEWORKS}:
        known = (*EXAMPLES, *FEATURES, *FRAMEWORKS)
        rest = f"a requirement starts with one of {', '.join(known)}, as in 'driver>=550' or 'torch>=2.4'."
        raise UsageError(f"--require {written!r}: {suggestion(MISTAKEN.get(subject, subject), known, rest)}")
    specifier = form.group(2) or ""
    if subject in FEATURES and specifier:
        raise UsageError(f"--require {written!r}: {subject} takes no version; write it alone.")
    if subject in FEATURES:
        return Condition(written, subject, ">={}.{}".format(*FEATURES[subject]))
    if not specifier and subject in EXAMPLES:
        example = EXAMPLES[subject]
        raise UsageError(
            f"--require {written!r} has no version or number; write it in quotes, as in '{example}', or the shell takes > and < for itself."
        )
    if subject == "fit":
        return Condition(written, subject, f">={_parsed_run(specifier, written).bytes}")
    if subject == "memory":
        specifier = ",".join(_size_in_bytes(part, written) for part in specifier.split(","))
    _check_specifier(specifier, written, EXAMPLES.get(subject, f"{subject}>=2.4"))
    return Condition(written, subject, specifier)


def run_of_condition(condition: Condition) -> Run:
    """The run that must fit."""
    return _parsed_run(condition.text.partition("=")[2], condition.text)


def _parsed_run(text: str, written: str) -> Run:
    try:
        run: Run = _values_module().parse_run(text.lstrip("= "))
    except UsageError as error:
        raise UsageError(f"--require {written!r}: {error}") from None
    return run


def _size_in_bytes(part: str, written: str) -> str:
    form = re.fullmatch(_SIZE_FORM, part)
    if form is None or form.group(3).lower() not in SIZE_UNITS:
        raise UsageError(
            f"--require {written!r}: {part.strip()!r} is not a size comparison; write it as in 'memory>=80GB' or 'memory>=40GiB'."
        )
    return f"{form.group(1)}{round(float(form.group(2)) * SIZE_UNITS[form.group(3).lower()])}"


def _check_specifier(specifier: str, written: str, example: str) -> None:
    if not _values_module().understood(specifier):
        raise UsageError(f"--require {written!r}: the comparison is not valid; write it as in '{example}'.")


def is_condition_met(condition: Condition, value: str) -> bool | None:
    """Whether the version, number or size in bytes `value` meets the condition; None if it cannot be compared.

    A pre-release counts as the version it is.
    """
    met: bool | None = _values_module().allows(condition.specifier, value)
    return met


def _values_module() -> ModuleType:
    from gpudoctor import required_values  # noqa: PLC0415 -- 15 ms, only where something is required

    return required_values
