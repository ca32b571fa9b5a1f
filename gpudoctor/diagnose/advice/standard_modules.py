"""Fixes for a Python that lacks modules of its own standard library."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.advice.system import distribution_command
from gpudoctor.findings import DOWNLOAD, ROOT, Fix
from gpudoctor.snapshot import Missing, Python

_HEADERS = {
    "_ctypes": ("libffi-dev", "libffi-devel"),
    "_lzma": ("liblzma-dev", "xz-devel"),
    "_bz2": ("libbz2-dev", "bzip2-devel"),
    "zlib": ("zlib1g-dev", "zlib-devel"),
    "_sqlite3": ("libsqlite3-dev", "sqlite-devel"),
    "_ssl": ("libssl-dev", "openssl-devel"),
    "_hashlib": ("libssl-dev", "openssl-devel"),
    "_uuid": ("uuid-dev", "libuuid-devel"),
    "readline": ("libreadline-dev", "readline-devel"),
}
"""The packages of Debian and Fedora without which Python is compiled without a module: https://devguide.python.org/getting-started/setup-building/."""
_PYENV = "/versions/"


def complete_python(module: str, machine: MachineView) -> Iterator[Fix]:
    """Yield the fixes that give the examined Python a module of its standard library that it lacks."""
    python = machine.observed.python
    if isinstance(python, Missing) or not (isinstance(python.base_prefix, str) and isinstance(python.version, str)):
        yield Fix(f"Reinstall Python with its whole standard library: it lacks {module}.", needs=(DOWNLOAD,))
        return
    yield from _installed_again(module, python, python.base_prefix, python.version, machine)


def _installed_again(module: str, python: Python, base: str, version: str, machine: MachineView) -> Iterator[Fix]:
    minor = version.rpartition(".")[0]
    if python.kind == "conda":
        title = f"Reinstall Python {version}, with its whole standard library"
        yield Fix(title, f"conda install --prefix {shell_path(base)} --force-reinstall python={version}", (DOWNLOAD,))
    elif "/uv/python/" in base:
        yield Fix(f"Reinstall Python {version}, with its whole standard library", f"uv python install --reinstall {version}", (DOWNLOAD,))
    elif base == "/usr":
        commands = {
            "debian": f"sudo apt-get install --reinstall libpython{minor}-stdlib python{minor}",
            "fedora": "sudo dnf install python3-libs && sudo dnf reinstall python3-libs",
        }
        yield Fix("Install the whole standard library", distribution_command(machine.site, commands), (ROOT, DOWNLOAD))
    elif "pyenv" in base and base.endswith(f"{_PYENV}{version}"):
        yield from _install_headers(module, machine)
        yield Fix(f"Build Python {version} again", f"pyenv install --force {version}", (DOWNLOAD,))
    else:
        yield from _install_headers(module, machine)
        yield Fix(f"Build or install Python {version} in {base} again, with its whole standard library.", needs=(DOWNLOAD,))


def _install_headers(module: str, machine: MachineView) -> Iterator[Fix]:
    """Yield the fix that installs the headers without which Python is compiled without a module."""
    debian, fedora = _HEADERS.get(module, ("", ""))
    if debian:
        commands = {"debian": f"sudo apt-get install {debian}", "fedora": f"sudo dnf install {fedora}"}
        title = f"Install {debian} ({fedora} on Fedora), without which Python is compiled without {module}"
        yield Fix(title, distribution_command(machine.site, commands), (ROOT, DOWNLOAD))
