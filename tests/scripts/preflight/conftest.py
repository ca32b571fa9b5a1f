"""Hands the real gpudoctor, on a machine that a recipe describes, to the tests of this folder."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from tests.machines import packages
from tests.machines.build import UNSET
from tests.machines.recipes.base import TF
from tests.scripts.preflight import ROOT, Machine, Recipe
from tests.seams import environ_with


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    def provide(recipe: Recipe, require: tuple[str, ...] = ()) -> Path:
        tree, libraries = recipe
        root = tmp_path / "root"
        shutil.rmtree(root, ignore_errors=True)
        tree.build(root)
        target = tmp_path / "environment"
        if not target.exists():
            packages.environment(target, (TF,))
        coverage = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
        base = coverage | {"PYTHONPATH": str(ROOT), "GPUDOCTOR_PYTHON": str(target)}
        variables = environ_with(*libraries, directory=tmp_path / "libraries", base=base)
        unset = " ".join(f"-u {name}" for name in UNSET if name not in {"CUDA_VISIBLE_DEVICES", *variables})
        exports = shlex.join(f"{name}={value}" for name, value in variables.items())
        hidden = shlex.join(["--root", str(root), *(f"--require={one}" for one in require)])
        program = tmp_path / "bin" / "gpudoctor"
        program.parent.mkdir(exist_ok=True)
        program.write_text(
            f'#!/bin/sh\ncommand=$1; shift\nexec env {unset} {exports} {sys.executable} -m gpudoctor "$command" {hidden} "$@"\n'
        )
        program.chmod(0o755)
        return program

    return provide
