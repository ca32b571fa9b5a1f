"""Builds the machine of a recipe and examines it with the real program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from tests.machines.diagnoses import diagnosed
from tests.machines.edited import Edited
from tests.machines.packages import environment
from tests.machines.recipes import Recipe
from tests.seams import environ_with, warm

__all__ = ["diagnosed", "examine", "expected"]

UNSET = (
    "CUDA_VISIBLE_DEVICES",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "GPUDOCTOR_PYTHON",
    "KUBERNETES_SERVICE_HOST",
)
OBEYING = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
"""Root without the privilege to open every file."""


ONLY_IN_TRAINING = "import sys\nif any(argument.endswith('/smoke.py') for argument in sys.orig_argv):\n"


def examine(recipe: Recipe, place: Path, *more: str, target: Path | None = None) -> tuple[int, dict[str, Any]]:
    """The exit code and report of `gpudoctor check` on the machine of `recipe`, built below `place`; `target` is an existing environment."""
    base = {name: value for name, value in os.environ.items() if name not in UNSET and not name.startswith(("SLURM_", "NVIDIA_"))}
    root = recipe.tree.build(place / "root")
    target = target or (Path(sys.prefix) if recipe.trains else environment(place / "environment", recipe.packages))
    base |= {"PATH": os.defpath} | {name: value.replace("{place}", str(place)) for name, value in recipe.environment.items()}
    variables = environ_with(*recipe.libraries, directory=place / "libraries", base=base)
    if recipe.patch:
        (place / "sitecustomize.py").write_text(ONLY_IN_TRAINING + textwrap.indent(recipe.patch, "    "))
        variables["PYTHONPATH"] = str(place)
    where = () if "--node" in recipe.arguments else ("--python", str(target))
    command = ("check", "--root", str(root), *where, "--format", "json", *recipe.arguments, *more)
    if recipe.obeys_permissions:
        done = subprocess.run([*OBEYING, sys.executable, "-m", "gpudoctor", *command], env=variables, capture_output=True, check=False)
    else:
        done = warm.gpudoctor(*command, env=variables)
    assert done.stdout, done.stderr.decode()
    return done.returncode, json.loads(done.stdout)


def expected(recipe: Recipe | Edited) -> dict[str, Any]:
    return {
        key: getattr(recipe, key) if key == "verdict" else list(getattr(recipe, key)) for key in ("verdict", "roots", "folded", "notes")
    }
