"""Finds where Python code in a text sets CUDA_VISIBLE_DEVICES after a framework was imported or CUDA was used."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Line, Rank, Statement
from gpudoctor.signatures.phrases import is_commented_out

_VARIABLE = "CUDA_VISIBLE_DEVICES"
_SETS = expression(
    r"""os\.environ(?:\[|\.setdefault\(|\.update\(\{)\s{0,3}['"]CUDA_VISIBLE_DEVICES['"](?:\]\s{0,3}=(?!=)|\s{0,3}[,:])|os\.putenv\(['"]CUDA_VISIBLE_DEVICES"""
)
_USES_CUDA = expression(
    r"\btorch\.cuda\.(?:is_available|device_count|current_device|get_device\w{0,20}|init|set_device|memory_\w{1,20})\(|\btorch\._C\._cuda_\w{3,30}\(|\.(?:cuda|to)\(['\"]?(?:cuda|\))"
    r"|\b(?:list_physical_devices|list_logical_devices|list_local_devices|is_gpu_available|gpu_device_name)\(|\btf\.(?:Session|InteractiveSession)\(|\bjax\.(?:devices|local_devices|device_count)\("
)
_MODULE = expression(
    r"^(?:>>> |\.\.\. |In \[\d{1,4}\]: |\d{1,4}[:.]? )?\s{0,8}(?:import (?P<name>[A-Za-z_]\w{0,60})(?:\.\w{1,60}){0,4}(?: as \w{1,40})?(?:, ?\w{1,60}){0,8}\s{0,4}(?:#.{0,80})?$|from (?P<of>[A-Za-z_]\w{0,60})(?:\.\w{1,60}){0,4} import )"
)
_LOAD_NONE = frozenset(
    {*sys.stdlib_module_names, "numpy", "pandas", "scipy", "matplotlib", "yaml", "tqdm", "dotenv", "click", "requests", "PIL"}
)


def _blocks(lines: Sequence[Line]) -> Iterator[Statement]:
    if not any(_VARIABLE in line.text for line in lines):
        return
    used: Line | None = None
    imported: Line | None = None
    for line in lines:
        sets = _SETS.search(line.text)
        if sets and not is_commented_out(line.text, line.text.index(_VARIABLE, sets.start())):
            yield _statement(line, used, imported)
        used = used or (line if _USES_CUDA.search(line.text) else None)
        imported = imported or (line if _may_load_a_framework(line.text) else None)


def _may_load_a_framework(text: str) -> bool:
    """Return whether a line imports a module that is neither Python's own nor known to load no framework."""
    module = _MODULE.match(text)
    return module is not None and (module["name"] or module["of"]) not in _LOAD_NONE


def _statement(line: Line, used: Line | None, imported: Line | None) -> Statement:
    first = used or imported
    kind = "used" if used else "imported" if imported else "code"
    value = f"{line.text.strip()[:100]} after {first.text.strip()[:100]} (line {first.number})" if first else line.text.strip()[:100]
    return Statement(f"set by program:{kind}", value, READER.name, line.number, Rank.LOG)


READER = Reader("Python code", blocks=_blocks)
