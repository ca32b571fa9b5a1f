"""The commands that create an environment with uv, pip or conda."""

from __future__ import annotations

import re
import shlex

from gpudoctor.report.plan import Commands

ENVIRONMENT = ".venv"
NAME = "training"


def commands(requirements: tuple[str, ...], python: str, index: str, backend: str, *, windows: bool = False) -> Commands:
    """Return the commands; uv takes the backend, pip the index."""
    pinned = " ".join(_quoted(one, windows=windows) for one in requirements)
    version = python or "3"
    extra = f" --extra-index-url {index}" if index else ""
    chosen = f" --torch-backend={backend}" if backend else ""
    executable = f"{ENVIRONMENT}\\Scripts\\python" if windows else f"{ENVIRONMENT}/bin/python"
    launcher = f"py -{version}" if windows else f"python{version}"
    return Commands(
        uv=f"uv venv --python {version} {ENVIRONMENT} && uv pip install --python {ENVIRONMENT} {pinned}{chosen}",
        pip=f"{launcher} -m venv {ENVIRONMENT} && {executable} -m pip install {pinned}{extra}",
        conda=f"conda create --yes --name {NAME} --channel conda-forge python={version} pip && "
        f"conda run --name {NAME} python -m pip install {pinned}{extra}",
    )


def _quoted(text: str, *, windows: bool) -> str:
    """Return a requirement for the shell, or for PowerShell and cmd."""
    if not windows:
        return shlex.quote(text)
    return text if re.fullmatch(r"[\w.+=\[\]-]+", text) else f'"{text}"'
