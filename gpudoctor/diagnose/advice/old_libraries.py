"""Fixes for a library, found first by the loader, that lacks a symbol version."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive.libraries import LIBRARY_PATH
from gpudoctor.diagnose.advice.shell import set_library_path, shell_path
from gpudoctor.diagnose.advice.system import distribution_command
from gpudoctor.findings import DOWNLOAD, ROOT, Fix, FixKind
from gpudoctor.snapshot import Damage, Missing

_CONDA_PACKAGES = {"libstdc++.so.6": "libstdcxx-ng", "libgcc_s.so.1": "libgcc-ng", "libgomp.so.1": "libgomp", "libz.so.1": "zlib"}
_DEBIAN_PACKAGES = {"libstdc++.so.6": "libstdc++6", "libgcc_s.so.1": "libgcc-s1", "libgomp.so.1": "libgomp1", "libz.so.1": "zlib1g"}
_PRELOAD = "LD_PRELOAD"


def replace_old_library(damage: Damage, machine: MachineView) -> Iterator[Fix]:
    """Yield the fixes after which the loader finds a copy that is new enough."""
    folder, name = posixpath.split(posixpath.normpath(damage.path))
    preloaded = machine.variable(_PRELOAD).replace(":", " ").split()
    entries = [entry for entry in machine.variable(LIBRARY_PATH).split(":") if entry]
    listed = [entry for entry in entries if posixpath.normpath(entry) == folder]
    if damage.path in preloaded and damage.instead:
        yield Fix(f"Remove {damage.path} from {_PRELOAD}, here and in the profile that sets it", f"unset {_PRELOAD}")
    elif listed and damage.instead:
        left = [entry for entry in entries if entry not in listed]
        title = f"Remove {' and '.join(dict.fromkeys(listed))} from {LIBRARY_PATH}, here and in the profile that sets it"
        yield Fix(title, set_library_path(left))
    elif (prefix := _conda_prefix(folder, machine)) and name in _CONDA_PACKAGES:
        yield Fix(f"Update {name} in {prefix}", _conda_update(prefix, name), (DOWNLOAD,))
    elif folder.startswith(("/usr", "/lib")) and not folder.startswith("/usr/local"):
        commands = {"debian": f"sudo apt-get install --only-upgrade {_DEBIAN_PACKAGES[name]}"} if name in _DEBIAN_PACKAGES else {}
        yield Fix(
            f"Use a newer release of the distribution or a newer container image: this one's {name} is too old.", needs=(ROOT, DOWNLOAD)
        )
        if command := distribution_command(machine.site, commands):
            yield Fix(f"Update {name} if the distribution has a newer one", command, (ROOT, DOWNLOAD), kind=FixKind.INSTEAD)
    elif damage.instead:
        yield Fix(
            f"Rename {damage.path}: the loader then finds {damage.instead}",
            f"mv {shell_path(damage.path)} {shell_path(damage.path)}.old",
        )
    else:
        yield Fix(f"Replace {damage.path} by a newer {name}.", needs=(DOWNLOAD,))
    if damage.instead:
        yield Fix("Load the newer copy first", f"export {_PRELOAD}={shell_path(damage.instead)}", kind=FixKind.INSTEAD)


def _conda_prefix(folder: str, machine: MachineView) -> str:
    """Return the prefix of the examined conda environment if a folder is its lib; otherwise empty."""
    python = machine.observed.python
    if isinstance(python, Missing) or not isinstance(python.base_prefix, str):
        return ""
    prefixes = [python.base_prefix, *([python.prefix] if isinstance(python.prefix, str) else [])]
    return next((prefix for prefix in prefixes if folder == f"{prefix}/lib" and "conda" in (str(python.kind), *prefix.split("/"))), "")


def _conda_update(prefix: str, name: str) -> str:
    return f"conda install --prefix {shell_path(prefix)} --channel conda-forge --update-deps {_CONDA_PACKAGES[name]}"
