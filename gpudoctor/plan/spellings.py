"""Reads versions and names as people and tools write them: "cu124", "v535.104.05", "cp312", "sm_89", "2x RTX 3090", a line of lspci."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from gpudoctor.plan.assumed_machine import NO_GPU
from gpudoctor.plan.model import Combination

_CUDA_FORMS = (r"(?i)(?:cuda[ -]?|v)(\d.*)", r"(?i)cu(\d{1,2})(\d)")
_FORMS_BY_FIELD = {
    "driver": (r"(?i)[vr](\d.*)",),
    "python": (r"(?i)(?:c?python|py|cp)[ -]?(\d.*)", r"([23])(\d{1,2}t?)"),
    "cc": (r"(?i)(?:sm_?|compute_?)?([2-9]|1\d)(\d)[af]?",),
    "cuda_compat": _CUDA_FORMS,
    "system_cuda": _CUDA_FORMS,
    "system_cudnn": (r"(?i)(?:cudnn[ -]?|v)(\d.*)",),
}
"""By field of a combination other forms of a version; their groups, joined by dots, are what the option takes."""
_WINDOWS_DRIVER = r"\d{2}\.\d{1,2}\.1(\d)\.(\d{2})(\d{2})"
"""The driver's version as Windows shows it: 560.94 is 32.0.15.6094."""
_MAX_LENGTH = 200
"""Characters of a version or a name to read."""
_GPU_COUNT = r"([1-9]\d?)\s?[x\u00d7*]\s?(?=[A-Za-z]|\d{4})(.+)"
_TOOL_AFFIXES = (r"GPU \d+: ", r" \(UUID: [^()]*\)$", r" \(rev \w+\)$", r"^(?:NVIDIA Corporation )?\w+ \[(?=[^\[\]]*\]$)", r"(?<=\w)\]$")
"""What nvidia-smi -L and lspci write around a GPU's name."""


def normalised_combination(combination: Combination) -> Combination:
    """Return the combination with versions and names in the form that its options document; any other text stays."""
    stated = {name: getattr(combination, name) for name in _FORMS_BY_FIELD}
    versions = {name: _normalised_version(text.strip(), _FORMS_BY_FIELD[name]) for name, text in stated.items() if text is not None}
    windows = re.fullmatch(_WINDOWS_DRIVER, versions.get("driver", "")[:_MAX_LENGTH])
    if windows:
        versions["driver"] = f"{windows[1]}{windows[2]}.{windows[3]}"
    requirements = tuple(re.sub(r"\+[\w.]+$", lambda local: local[0].lower(), text) for text in combination.requirements)
    gpus = tuple(name for text in combination.gpus for name in _gpu_names(text))
    return msgspec.structs.replace(combination, **versions, requirements=requirements, gpus=gpus)


def _normalised_version(text: str, forms: tuple[str, ...]) -> str:
    for form in forms:
        match = re.fullmatch(form, text) if len(text) < _MAX_LENGTH else None
        text = ".".join(match.groups()) if match else text
    return text


def _gpu_names(text: str) -> Iterator[str]:
    """Yield the name of each GPU that a text states: "2x RTX 3090" are two."""
    text = text.strip()[:_MAX_LENGTH]
    counted = re.fullmatch(_GPU_COUNT, text, re.IGNORECASE)
    count, name = (int(counted[1]), counted[2]) if counted else (1, text)
    for around in _TOOL_AFFIXES:
        name = re.sub(around, "", name)
    yield from [name.lower() if name.lower() in NO_GPU else name] * count
