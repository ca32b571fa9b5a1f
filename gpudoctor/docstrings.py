"""Keeps docstrings under `python -OO`: titles of rules, help and descriptions in the schema are docstrings."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

_PACKAGE_PREFIX = f"{__name__.partition('.')[0]}."


def keep_docstrings() -> None:
    """Load our other modules with their docstrings from now on."""
    sys.meta_path.insert(0, _DocstringFinder())


class _DocstringFinder:
    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return where a module of ours is, if it is a source file."""
        spec = PathFinder.find_spec(name, path, target) if name.startswith(_PACKAGE_PREFIX) else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _DocstringLoader(spec.loader.name, spec.loader.path)
        return spec


class _DocstringLoader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType | None:  # noqa: ARG002 -- importlib's signature
        """Return the code of a module, compiled here: what Python caches has no docstrings."""
        return compile(self.get_data(self.path), self.path, "exec", dont_inherit=True, optimize=1)
