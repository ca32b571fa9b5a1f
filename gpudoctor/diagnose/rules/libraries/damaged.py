"""GD4 and GD6: files that are installed and that no process can load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpudoctor.derive import MachineView, Stack
from gpudoctor.diagnose.advice.needs import DOWNLOAD, ROOT
from gpudoctor.diagnose.advice.packages import reinstall_packages
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.package_facts import system_package
from gpudoctor.findings import Fix, FixKind
from gpudoctor.snapshot import Damage, DamageKind, Distribution, Fact, Framework, Missing, Python

_MOST = 4


_STATES = {
    DamageKind.UNREADABLE: "cannot be read",
    DamageKind.NOEXEC: "cannot be mapped",
    DamageKind.MISSING: "is missing",
}


_FOREIGN = {
    "conda": "Reinstall the conda package that holds {path}",
    "toolkit": "Reinstall the CUDA toolkit that holds {path}",
    "system": "Reinstall the system package that holds {path}; `dpkg -S` or `rpm -qf` names it",
}


def _told(damage: Damage) -> str:
    state = _STATES.get(damage.kind, "is damaged")
    asker = f", which {damage.asked_by.rpartition('/')[2]} needs," if damage.asked_by and damage.kind is DamageKind.MISSING else ""
    return f"{damage.path}{asker} {state} ({damage.why})"


def _fixes(found: list[Damage], framework: Framework, machine: MachineView, python: Python | Missing) -> Iterator[Fix]:
    paths = tuple(dict.fromkeys(one.path for one in found))
    kinds = {one.kind for one in found}
    if kinds <= {DamageKind.UNREADABLE}:
        yield Fix("Let everybody read it", f"chmod a+rX {' '.join(map(shell_path, paths))}")
        return
    if kinds <= {DamageKind.NOEXEC}:
        mount = f'sudo mount -o remount,exec "$(findmnt -n -o TARGET -T {shell_path(paths[0])})"'
        yield Fix("Allow programs on that file system", mount, (ROOT,))
        yield Fix("Make the environment anew on a file system that is mounted without noexec", kind=FixKind.INSTEAD)
        return
    packages = tuple(_packages(found, framework, machine))
    vendor = system_package(framework, machine)
    if vendor and packages:
        yield Fix(f"Reinstall {vendor}", f"sudo apt-get install --reinstall {vendor}", (ROOT, DOWNLOAD))
    elif packages:
        yield Fix(f"Reinstall {' and '.join(one.name for one in packages)}", reinstall_packages(python, *packages), (DOWNLOAD,))
    foreign = ((one, _FOREIGN[one.owner]) for one in found if one.owner in _FOREIGN)
    yield from (Fix(text.format(path=one.path), needs=(ROOT, DOWNLOAD)) for one, text in list(foreign)[:1])
    if DamageKind.LFS_POINTER in kinds:
        folder = shell_path(paths[0].rpartition("/")[0])
        yield Fix(
            "Fetch the file with Git LFS, if it lies in a Git repository", f"git -C {folder} lfs pull", (DOWNLOAD,), kind=FixKind.INSTEAD
        )


def _packages(found: Iterable[Damage], framework: Framework, machine: MachineView) -> Iterator[Distribution]:
    """The installed distributions that hold these files: NVIDIA's packages, else the framework's own."""
    installed = machine.stack_or_missing.distributions if isinstance(machine.stack_or_missing, Stack) else {}
    for name in dict.fromkeys(_owner(one, framework) for one in found):
        if name == framework.distribution and isinstance(framework.version, Fact):
            where = installed[name].where if name in installed else ""
            yield Distribution(name, framework.version.value.partition("+")[0], where)
        elif name in installed:
            yield installed[name]


def _owner(damage: Damage, framework: Framework) -> str:
    named = damage.owners[0] if damage.owners else damage.owner
    foreign = named in _FOREIGN or (
        damage.kind is DamageKind.MISSING and not damage.path.startswith(("/", "libtorch", "libtensorflow", "libc10"))
    )
    return named if named and not foreign else "" if foreign else framework.distribution
