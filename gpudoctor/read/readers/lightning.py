"""Reads PyTorch Lightning's collect_env_details.py: nested lists of keys below "* CUDA:" and "* Packages:"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "Lightning's collect_env_details"
_SECTION_LINE = expression(r"^\s*\* (?P<name>CUDA|Packages|System|Lightning):\s*$")
_ITEM_LINE = expression(r"^\s{0,12}[-*] {0,2}(?P<key>[\w.-]{2,60}): {1,40}(?P<value>\S.{0,120})$")
_ELEMENT_LINE = expression(r"^\s{0,20}- (?P<value>[A-Z][^:\n]{3,80})$")
_FACT_KEYS = {
    ("CUDA", "available"): "torch devices",
    ("CUDA", "version"): "torch cuda",
    ("System", "python"): "python",
    ("System", "OS"): "os",
    ("System", "release"): "kernel platform",
}
"""The facts by section and key."""
_LEGACY_KEYS = {"pytorch_version": "package:torch", "pyTorch_version": "package:torch"}
"""Keys of packages that are not the package's name."""


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    section, gpus = "", 0
    for line in lines:
        begun = _SECTION_LINE.match(line.text)
        item = _ITEM_LINE.match(line.text) if section else None
        element = _ELEMENT_LINE.match(line.text) if section == "CUDA" else None
        if begun:
            section = begun["name"]
        elif item:
            yield from _item_statements(section, item["key"], item["value"], line)
        elif element:
            yield Statement(f"gpu:{gpus}", element["value"].strip(), _NAME, line.number, Directness.TOOL)
            gpus += 1
        elif line.text.strip(" -*\t") not in {"GPU:", "architecture:", "64bit", "ELF", "WindowsPE"}:
            section = ""


def _item_statements(section: str, key: str, value: str, line: Line) -> Iterator[Statement]:
    packages = section in {"Packages", "Lightning"}
    what = _FACT_KEYS.get((section, key), _LEGACY_KEYS.get(key, f"package:{key}") if packages else "")
    if what and (not packages or value[:1].isdigit()):
        yield Statement(what, value.strip(), _NAME, line.number, Directness.LISTING if packages else Directness.TOOL)


READER = Reader(_NAME, blocks=_statements, cues=("* cuda:", "* packages:", "* system:", "* lightning:"))
