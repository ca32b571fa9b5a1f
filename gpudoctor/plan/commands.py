"""The commands that create an environment with uv, pip or conda."""

from __future__ import annotations

import re
import shlex

from gpudoctor.derive.add_on_wheels import extended_framework
from gpudoctor.derive.specifiers import only_version, parse_requirement
from gpudoctor.matrix import Matrix
from gpudoctor.report.plan import Commands

ENVIRONMENT_FOLDER = ".venv"
CONDA_NAME = "training"
BUILD_TOOLS = ("setuptools", "wheel", "packaging", "ninja")
"""What a build without isolation finds only in the environment itself."""
COMPILED_NOTE = "{} may be compiled when it is installed, which needs nvcc of the framework's CUDA and a C++ compiler"


def built_against_framework(requirements: tuple[str, ...], matrix: Matrix) -> frozenset[str]:
    """Return those of requirements that are compiled against a framework during installation, whose build imports it (flash-attn)."""
    asked = ((text, wanted, only_version(wanted.specifier)) for text in requirements if (wanted := parse_requirement(text)) is not None)
    rows = ((text, matrix.resolve(wanted.name, pin, "").row) for text, wanted, pin in asked if pin)
    return frozenset(text for text, row in rows if row is not None and row.accelerator == "sdist" and extended_framework(row))


def install_commands(
    requirements: tuple[str, ...],
    python: str,
    index: str,
    backend: str,
    *,
    built: frozenset[str] = frozenset(),
    windows: bool = False,
) -> Commands:
    """Return the commands; uv takes the backend, pip the index. What is `built` against the others follows them, in the same environment."""
    first = tuple(one for one in requirements if one not in built) or requirements
    pinned = " ".join(_quoted_requirement(one, windows=windows) for one in first)
    later = " ".join(_quoted_requirement(one, windows=windows) for one in requirements if one not in first)
    version = python or "3"
    extra = f" --extra-index-url {index}" if index else ""
    chosen = f" --torch-backend={backend}" if backend else ""
    executable = f"{ENVIRONMENT_FOLDER}\\Scripts\\python" if windows else f"{ENVIRONMENT_FOLDER}/bin/python"
    launcher = f"py -{version}" if windows else f"python{version}"
    uv, pip, conda = (
        f"uv pip install --python {ENVIRONMENT_FOLDER}",
        f"{executable} -m pip install",
        f"conda run --name {CONDA_NAME} python -m pip install",
    )
    return Commands(
        uv=f"uv venv --python {version} {ENVIRONMENT_FOLDER} && {uv} {pinned}{chosen}{_second_step(uv, later)}",
        pip=f"{launcher} -m venv {ENVIRONMENT_FOLDER} && {pip} {pinned}{extra}{_second_step(pip, later)}",
        conda=f"conda create --yes --name {CONDA_NAME} --channel conda-forge python={version} pip && {conda} {pinned}{extra}{_second_step(conda, later)}",
    )


def _second_step(install: str, later: str) -> str:
    """Return the second step: what is compiled needs build tools and the framework, which an isolated build does not see."""
    return f" && {install} {' '.join(BUILD_TOOLS)} && {install} --no-build-isolation {later}" if later else ""


def _quoted_requirement(text: str, *, windows: bool) -> str:
    """Return a requirement for the shell, or for PowerShell and cmd."""
    if not windows:
        return shlex.quote(text)
    return text if re.fullmatch(r"[\w.+=\[\]-]+", text) else f'"{text}"'
