"""Only the catalogue and each framework's own engine name a framework: everything else reads traits, and a new one needs no edit there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import gpudoctor
from gpudoctor.frameworks import CATALOGUE

PACKAGE = Path(gpudoctor.__file__).parent
NAMES = {name for spec in CATALOGUE for name in (spec.name, spec.title, *spec.distributions)}
ITS_OWN = {f"{spec.name}{ending}" for spec in CATALOGUE for ending in ("", "_engine", "_fit")}
"""Modules of one framework, by name."""
GENERATED = {"cues"}
"""Words of the lines that readers and signatures match."""


def named(source: str) -> Iterator[str]:
    """The strings in a module that are exactly a framework's name, or a requirement of it."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and " " not in node.value
            and node.value.partition("==")[0].partition("[")[0] in NAMES
        ):
            yield f"line {node.lineno}: {node.value}"


def test_only_a_frameworks_own_modules_name_it() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "frameworks" and path.stem not in ITS_OWN | GENERATED]
    assert len(modules) > 300
    assert {str(path.relative_to(PACKAGE)): found for path in modules if (found := list(named(path.read_text(encoding="utf-8"))))} == {}


def test_a_comparison_is_found() -> None:
    source = 'if framework.name == "torch" or wanted in {"jax": 1} or f"tensorflow[and-cuda]=={release}":\n    raise ValueError("torch is old")\n'
    assert {text.partition(": ")[2] for text in named(source)} == {"torch", "jax", "tensorflow[and-cuda]=="}
