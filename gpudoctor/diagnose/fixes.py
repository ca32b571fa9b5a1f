"""Fixes that several rules offer, spelt for the shell, the machine and the environment at hand."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from gpudoctor.derive import Site
from gpudoctor.findings import Fix, FixKind
from gpudoctor.snapshot import Distribution, GpuProcess, Missing, Python

ROOT, REBOOT, DOWNLOAD = "root", "reboot", "download"
_UV = {"--force-reinstall": "--reinstall"}
"""How uv calls an option of pip that it calls otherwise."""
VENV = '"$HOME"/training'
"""Where to make an environment for a Python into which the distribution forbids to install."""


def shell_path(path: str) -> str:
    """A path as a shell reads it; a redacted home folder or user name is spelt so that the shell fills it in."""
    parts = path.split("/")
    if parts[0] == "~":
        return "/".join(filter(None, ('"$HOME"', shell_path("/".join(parts[1:])) if parts[1:] else "")))
    if "~" not in parts:
        return shlex.quote(path) if path else ""
    return "/".join('"$USER"' if part == "~" else shlex.quote(part) if part else "" for part in parts)


def shell_list(folders: Iterable[str]) -> str:
    """Folders, separated by colons, as a shell reads them."""
    return ":".join(map(shell_path, folders))


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
    install = f"{_with_uv(python)} {shlex.join(_UV.get(word, word) for word in words)}" if by_uv(python) else _pip(python, words)
    return f"{remove_packages(python, *gone)} && {install}" if gone else install


def again(python: Python | Missing, *installed: Distribution) -> str:
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
    if by_uv(python):
        return f"uv pip uninstall --python {interpreter(python)} {shlex.join(names)}"
    return f"{interpreter(python)} -m pip uninstall -y {shlex.join(names)}"


def by_uv(python: Python | Missing) -> bool:
    """Whether uv installs here: it made the environment, and that holds no pip."""
    return isinstance(python, Python) and python.pip is False and python.maker == "uv"


def _with_uv(python: Python | Missing) -> str:
    return f"uv pip install --python {interpreter(python)}"


def _pip(python: Python | Missing, words: list[str]) -> str:
    own = interpreter(python)
    first = f"{own} -m ensurepip && " if isinstance(python, Python) and python.pip is False else ""
    return f"{first}{own} -m pip install {shlex.join(words)}"


def unset(name: str, where: str = "the profile, image or job script that sets it") -> Fix:
    """A variable that must not be set."""
    return Fix(f"Unset {name}, here and in {where}", f"unset {name}")


def set_variable(name: str, value: str, title: str) -> Fix:
    """A variable's right value, spelt for the shell already."""
    return Fix(title, f"export {name}={value}")


def end_processes(processes: Iterable[GpuProcess], site: Site) -> Fix | None:
    """How to end processes that hold a GPU; None where there is none to end."""
    found = [one for one in processes if one.pid > 0]
    if not found:
        return None
    names = ", ".join(f"{one.name} (pid {one.pid})" if isinstance(one.name, str) else f"pid {one.pid}" for one in found)
    if site.container:  # NVML counts the host's processes
        return Fix(f"End {names} on the host, if nobody needs it any more.", needs=(ROOT,))
    return Fix(f"End {names}, if nobody needs it any more", f"sudo kill {' '.join(str(one.pid) for one in found)}", (ROOT,))


def read_log(pattern: str = "NVRM|Xid", title: str = "Read what the driver wrote to the kernel log") -> Fix:
    """The kernel's lines that match an extended regular expression."""
    return Fix(title, f"sudo dmesg -T | grep -E {shlex.quote(pattern)}", (ROOT,), kind=FixKind.CHECK)


def reboot(title: str = "Reboot") -> Fix:
    """What a new start of the machine cures."""
    return Fix(title, "sudo reboot", (ROOT, REBOOT))


def power_cycle(title: str = "Shut the machine down, wait half a minute and switch it on again") -> Fix:
    """What only a cold start cures."""
    return Fix(title, "sudo poweroff", (ROOT, REBOOT))


def explained(cause: str) -> Fix:
    """The page of a rule, which says what to do."""
    return Fix(f"Read what {cause} means and what to do about it", f"gpudoctor explain {cause}", kind=FixKind.CHECK)
