"""A healthy machine on which any command runs with any interpreter: its output is then about that interpreter, or about us."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.machines.build import UNSET
from tests.machines.packages import environment
from tests.machines.recipes import healthy
from tests.seams import environ_with, warm

ROOT = Path(__file__).parents[2]


class Machine:
    """One A100 under driver 550, and an environment with TensorFlow; healthy at level look."""

    def __init__(self, place: Path) -> None:
        recipe = healthy()
        base = {name: value for name, value in os.environ.items() if name not in UNSET} | {"PATH": os.defpath, "HOME": str(place)}
        self.root = recipe.tree.build(place / "root")
        self.python = environment(place / "environment", recipe.packages)
        self._environ = environ_with(*recipe.libraries, directory=place / "libraries", base=base)

    def run(
        self, *arguments: str, python: Path | None = None, package: Path = ROOT, wrapper: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[bytes]:
        """Run the command of the gpudoctor that lies in `package`, started by the wrapper."""
        more = ("--root", str(self.root), "--python", str(python or self.python), "--format", "json")
        if package == ROOT and not wrapper:
            return warm.gpudoctor(*arguments, *more, env=self._environ)
        command = (*wrapper, sys.executable, "-m", "gpudoctor", *arguments, *more)
        return subprocess.run(command, env=self._environ, cwd=package, capture_output=True, check=False, timeout=200)
