"""Fixes and commands that install and remove Python packages with pip or uv, whichever the examined environment has."""

from __future__ import annotations

import shlex

from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.findings import DOWNLOAD, Action, Fix, FixKind
from gpudoctor.snapshot import Distribution, Missing, Python

_UV_OPTIONS = {"--force-reinstall": "--reinstall"}
"""uv's names for options of pip."""
REINSTALL = ("--force-reinstall", "--no-deps")
"""pip's options that install a release again, and nothing that it requires."""
VENV = '"$HOME"/training'
"""The environment to create if the distribution manages the packages of its Python (PEP 668)."""
_PIP_INSTALL = "python -m pip install "


def quoted_interpreter(python: Python | Missing) -> str:
    """Return the examined interpreter, quoted for the shell."""
    return shell_path(python.executable) if isinstance(python, Python) else "python"


def pip_command(python: Python | Missing, *words: str) -> str:
    """Return a command of pip for the examined environment."""
    return f"{quoted_interpreter(python)} -m pip {shlex.join(words)}"


def command_for_environment(command: str, python: Python | Missing) -> str:
    """Return a command of general advice as the examined environment needs it: its own interpreter in place of `python`, its installer in place of pip."""
    return " && ".join(_adapted_step(step, python) for step in command.split(" && ")) if isinstance(python, Python) else command


def _adapted_step(step: str, python: Python) -> str:
    if step.startswith(_PIP_INSTALL) and "|" not in step:
        return install_command(python, *shlex.split(step.removeprefix(_PIP_INSTALL)))
    return f"{quoted_interpreter(python)} {step.removeprefix('python ')}" if step.startswith("python ") else step


def uv_command(python: Python | Missing, verb: str, *words: str) -> str:
    """Return a command of uv's pip interface for the examined environment."""
    return f"uv pip {verb} --python {quoted_interpreter(python)} {shlex.join(_UV_OPTIONS.get(word, word) for word in words)}"


def is_uv_environment(python: Python | Missing) -> bool:
    """Return whether uv created the environment, which has no pip."""
    return isinstance(python, Python) and python.pip is False and python.maker == "uv"


def install_fix(
    title: str,
    python: Python | Missing,
    *requirements: str,
    options: tuple[str, ...] = (),
    replace: tuple[str, ...] = (),
    index: str = "",
    kind: FixKind = FixKind.FIX,
    action: Action | None = None,
) -> Fix:
    """Return the fix that installs `requirements` into the examined environment, after removing `replace`; `options` are pip's."""
    command = install_command(python, *options, *requirements, replace=replace, index=index)
    return Fix(title, command, (DOWNLOAD,), kind=kind, action=action, installs=requirements, removes=replace)


def install_command(
    python: Python | Missing, *requirements: str, replace: tuple[str, ...] = (), index: str = "", extra_index: str = ""
) -> str:
    """Return the command that installs `requirements` into the examined environment, after removing `replace`."""
    indexes = (("--index-url", index), ("--extra-index-url", extra_index))
    words = [*requirements, *(word for option in indexes if option[1] for word in option)]
    if isinstance(python, Python) and python.managed is True:
        return f"{quoted_interpreter(python)} -m venv {VENV} && {VENV}/bin/python -m pip install {shlex.join(words)}"
    steps = [remove_command(python, *replace)] if replace else []
    if is_uv_environment(python):
        return " && ".join((*steps, uv_command(python, "install", *words)))
    if isinstance(python, Python) and python.pip is False:
        steps.insert(0, f"{quoted_interpreter(python)} -m ensurepip")
    return " && ".join((*steps, pip_command(python, "install", *words)))


def reinstall_packages(title: str, python: Python | Missing, *installed: Distribution, index: str = "") -> Fix:
    """Return the fix that reinstalls the same releases in their folder, without dependencies; `index` has them all."""
    folder = next((package.where for package in installed if _is_target_folder(package.where, python)), "")
    target = ("--target", folder, "--upgrade") if folder else ()
    pins = (f"{package.name}=={package.version}" for package in installed)
    return install_fix(title, python, *pins, options=(*REINSTALL, *target), index=index)


def _is_target_folder(folder: str, python: Python | Missing) -> bool:
    """Return whether `pip install --target` created a folder: no interpreter searches it by default."""
    own = not isinstance(python, Python) or not isinstance(python.prefix, str) or folder.startswith(f"{python.prefix}/")
    return bool(folder) and not own and not folder.endswith(("/site-packages", "/dist-packages"))


def remove_command(python: Python | Missing, *names: str) -> str:
    """Return the command that removes distributions from the examined environment."""
    return uv_command(python, "uninstall", *names) if is_uv_environment(python) else pip_command(python, "uninstall", "-y", *names)
