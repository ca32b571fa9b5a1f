"""Every module can be imported, which is also where coverage sees the lines that run on import: under it, collecting the tests takes ten times as long."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.scripts.programs import ROOT

ALL = """
import importlib, pkgutil
for module in pkgutil.walk_packages(["gpudoctor"], "gpudoctor."):
    if module.name != "gpudoctor.__main__" and not module.name.startswith("gpudoctor.children."):
        importlib.import_module(module.name)
"""


@pytest.mark.followed
def test_every_module_can_be_imported() -> None:
    subprocess.run([sys.executable, "-c", ALL], cwd=ROOT, check=True)
