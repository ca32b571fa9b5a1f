"""Modules of the standard library that a Python lacks: the import of a framework fails at them, or does not ask for them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.children.channel import run
from gpudoctor.children.own.xray.disk import Disk
from gpudoctor.children.own.xray.python_files import NOT_IN_PYTHON, holes
from gpudoctor.elf.system import FileTree
from gpudoctor.frameworks.spec import FrameworkSpec
from gpudoctor.probe.interpreter import interpreter_query
from gpudoctor.probe.target_facts import target_facts
from gpudoctor.process import Supervisor

SPEC = FrameworkSpec(name="torch", title="PyTorch", distributions=("torch",))
STARTS = (
    "import ctypes\n",
    "from ctypes import c_int\n",
    "from torch import below\n",
    "from lzma import open as compressed\n",
    "import bz2, lzma\n",
    "import sqlite3\n",
    "import json\n",
    "try:\n    import lzma\nexcept ModuleNotFoundError:\n    lzma = None\n",
    "try:\n    import ctypes\nexcept ImportError:\n    ctypes = None\n",
    "def later():\n    import ctypes\n",
    "if False:\n    import ctypes\n",
    'TEXT = """\nimport ctypes\n"""\n',
)


def planted(site: Path, start: str) -> None:
    files = {"torch/__init__.py": start, "torch/below.py": "import ctypes.util\n"}
    for path, text in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
    metadata = site / "torch-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: torch\n\n")
    (metadata / "RECORD").write_text("".join(f"{path},sha256=0,{len(text)}\n" for path, text in files.items()))


def imported(site: Path, lacking: str) -> bool:
    told = f"import sys; sys.modules[{lacking!r}] = None; sys.path.insert(0, {str(site)!r}); import torch"
    return subprocess.run((sys.executable, "-I", "-S", "-c", told), capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("lacking", ["_ctypes", "_lzma", "_bz2", "_sqlite3", "_json"])
@pytest.mark.parametrize("start", STARTS)
def test_a_module_that_python_lacks_is_named_exactly_if_the_import_fails(tmp_path: Path, start: str, lacking: str) -> None:
    planted(tmp_path, start)
    path = tuple(entry for entry in (*sys.path[1:], str(tmp_path)) if Path(entry).is_dir() and "-packages" not in entry)
    found = holes(Disk(FileTree("/", []), path, ()), str(tmp_path / "torch"), SPEC, frozenset(), frozenset([lacking]))
    assert bool(found) is not imported(tmp_path, lacking)
    assert [(one.module, one.kind) for one in found] == ([(lacking, NOT_IN_PYTHON)] if found else [])


def test_an_interpreter_says_which_modules_of_the_standard_library_it_lacks() -> None:
    with Supervisor() as supervisor:
        lacking = set(target_facts(run(supervisor, interpreter_query(sys.executable, os.environ))).lacking)
    assert {"winreg", "msvcrt"} <= lacking
    for name in sys.stdlib_module_names - {"antigravity", "this"}:
        assert (name in lacking) is (name not in sys.modules and importlib.util.find_spec(name) is None), name
