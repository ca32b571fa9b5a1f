"""Commands that install and remove Python packages, by pip or uv, whichever the examined environment has."""

from __future__ import annotations

import shlex

from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.snapshot import Distribution, Missing, Python

_UV = {"--force-reinstall": "--reinstall"}
"""uv's names of options that pip calls otherwise."""
VENV = '"$HOME"/training'
"""Where to make an environment for a Python into which the distribution forbids to install."""


def interpreter(python: Python | Missing) -> str:
    """The examined interpreter as a shell starts it."""
    return shell_path(python.executable) if isinstance(python, Python) else "python"


def install_package(python: Python | Missing, *requirements: str, replace: str | tuple[str, ...] = (), index: str = "") -> str:
    """The command that installs `requirements` into the examined environment, after removing `replace` where that is named."""
    gone = (replace,) if isinstance(replace, str) and replace else tuple(replace)
    words = [*requirements, *(("--index-url", index) if index else ())]
    make = ""
    if isinstance(python, Python) and python.managed is True:
        make = f"{interpreter(python)} -m venv {VENV} && "
        install = f"{VENV}/bin/python -m pip install {shlex.join(words)}"
        return make + install
    install = f"{_with_uv(python)} {shlex.join(_UV.get(word, word) for word in words)}" if installs_with_uv(python) else _pip(python, words)
    return f"{remove_packages(python, *gone)} && {install}" if gone else install


def reinstall_packages(python: Python | Missing, *installed: Distribution) -> str:
    """The command that installs distributions again as they are, in their folder, and nothing that they require."""
    folder = next((one.where for one in installed if _outside(one.where, python)), "")
    target = ("--target", folder, "--upgrade") if folder else ()
    return install_package(python, "--force-reinstall", "--no-deps", *target, *(f"{one.name}=={one.version}" for one in installed))


def _outside(folder: str, python: Python | Missing) -> bool:
    """Whether `pip install --target` made a folder of packages: no interpreter looks there by itself."""
    own = not isinstance(python, Python) or not isinstance(python.prefix, str) or folder.startswith(f"{python.prefix}/")
    return bool(folder) and not own and not folder.endswith(("/site-packages", "/dist-packages"))


def remove_packages(python: Python | Missing, *names: str) -> str:
    """The command that removes distributions from the examined environment."""
    if installs_with_uv(python):
        return f"uv pip uninstall --python {interpreter(python)} {shlex.join(names)}"
    return f"{interpreter(python)} -m pip uninstall -y {shlex.join(names)}"


def installs_with_uv(python: Python | Missing) -> bool:
    """Whether uv installs here: it made the environment, and that holds no pip."""
    return isinstance(python, Python) and python.pip is False and python.maker == "uv"


def _with_uv(python: Python | Missing) -> str:
    return f"uv pip install --python {interpreter(python)}"


def _pip(python: Python | Missing, words: list[str]) -> str:
    own = interpreter(python)
    first = f"{own} -m ensurepip && " if isinstance(python, Python) and python.pip is False else ""
    return f"{first}{own} -m pip install {shlex.join(words)}"
