"""Finds where Python code in a text sets CUDA_VISIBLE_DEVICES after a framework was imported or CUDA was used."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Directness, Line, Statement
from gpudoctor.signatures.phrases import is_commented_out

_MASK_VARIABLE = "CUDA_VISIBLE_DEVICES"
_MASK_ASSIGNMENT = expression(
    r"""os\.environ(?:\[|\.setdefault\(|\.update\(\{)\s{0,3}['"]CUDA_VISIBLE_DEVICES['"](?:\]\s{0,3}=(?!=)|\s{0,3}[,:])|os\.putenv\(['"]CUDA_VISIBLE_DEVICES"""
)
_CUDA_USE = expression(
    r"\btorch\.cuda\.(?:is_available|device_count|current_device|get_device\w{0,20}|init|set_device|memory_\w{1,20})\(|\btorch\._C\._cuda_\w{3,30}\(|\.(?:cuda|to)\(['\"]?(?:cuda|\))"
    r"|\b(?:list_physical_devices|list_logical_devices|list_local_devices|is_gpu_available|gpu_device_name)\(|\btf\.(?:Session|InteractiveSession)\(|\bjax\.(?:devices|local_devices|device_count)\("
)
_IMPORT_LINE = expression(
    r"^(?:>>> |\.\.\. |In \[\d{1,4}\]: |\d{1,4}[:.]? )?\s{0,8}(?:import (?P<name>[A-Za-z_]\w{0,60})(?:\.\w{1,60}){0,4}(?: as \w{1,40})?(?:, ?\w{1,60}){0,8}\s{0,4}(?:#.{0,80})?$|from (?P<of>[A-Za-z_]\w{0,60})(?:\.\w{1,60}){0,4} import )"
)
_HARMLESS_MODULES = frozenset(
    {*sys.stdlib_module_names, "numpy", "pandas", "scipy", "matplotlib", "yaml", "tqdm", "dotenv", "click", "requests", "PIL"}
)


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    if not any(_MASK_VARIABLE in line.text for line in lines):
        return
    used: Line | None = None
    imported: Line | None = None
    for line in lines:
        sets = _MASK_ASSIGNMENT.search(line.text)
        if sets and not is_commented_out(line.text, line.text.index(_MASK_VARIABLE, sets.start())):
            yield _mask_statement(line, used, imported)
        used = used or (line if _CUDA_USE.search(line.text) else None)
        imported = imported or (line if _can_load_framework(line.text) else None)


def _can_load_framework(text: str) -> bool:
    """Return whether a line imports a module that is neither Python's own nor known to load no framework."""
    module = _IMPORT_LINE.match(text)
    return module is not None and (module["name"] or module["of"]) not in _HARMLESS_MODULES


def _mask_statement(line: Line, used: Line | None, imported: Line | None) -> Statement:
    first = used or imported
    kind = "used" if used else "imported" if imported else "code"
    value = f"{line.text.strip()[:100]} after {first.text.strip()[:100]} (line {first.number})" if first else line.text.strip()[:100]
    return Statement(f"set by program:{kind}", value, READER.name, line.number, Directness.LOG)


READER = Reader("Python code", blocks=_statements)
