"""A healthy machine is examined by a process that may do little: few descriptors, little memory, no space, no rights, odd locales, wrong programs.

Under each limit, a check of two GPUs without training must say ready. A check that trains must say ready, or why the answer is unknown.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from scripts.torture_parts.cell import CHECK, TIMEOUT, Case, Result, Workplace, emptied, left_process
from scripts.torture_parts.patient import LIMIT, MARK, check_of, patient
from tests.seams import Cuda, Nvml, PciCard, Tree, environ_with, seen_by_child

MOUNTED: Final = ("unshare", "--mount", "sh", "-c")
"""Starts a shell that may mount what only it and its children see."""
WRAPPERS: Final[Mapping[str, tuple[str, ...]]] = {
    "64 descriptors": ("prlimit", "--nofile=64"),
    "24 descriptors": ("prlimit", "--nofile=24"),
    "512 MB of memory": ("prlimit", f"--as={512 << 20}"),
    "small stack": ("prlimit", "--stack=262144"),
    "no core file, no locked memory": ("prlimit", "--core=0", "--memlock=0"),
    "files of no size": ("prlimit", "--fsize=0"),
    "not root": ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"),
    "no capabilities": ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"),
    "no shared memory": (*MOUNTED, 'umount /dev/shm; exec "$0" "$@"'),
    "no device files": (*MOUNTED, 'mount -t tmpfs none /dev; exec "$0" "$@"'),
    "read-only file system": (*MOUNTED, 'mount -o bind,remount,ro / && exec "$0" "$@"'),
    "full temporary folder": (*MOUNTED, 'mount -t tmpfs -o size=4k,nr_inodes=2 none "$TMPDIR"; : > "$TMPDIR/full"; exec "$0" "$@"'),
    "no temporary folder": ("env", "TMPDIR=/nowhere"),
    "no home": ("env", "--unset=HOME"),
    "no environment variables but its own": ("env", "--unset=PATH", "--unset=LANG", "--unset=TERM"),
    "locale C": ("env", "LC_ALL=C", "PYTHONUTF8=0", "PYTHONCOERCECLOCALE=0"),
    "locale of Latin-1": ("env", "LC_ALL=de_DE.ISO-8859-1", "PYTHONIOENCODING=latin-1"),
    "Turkish locale": ("env", "LC_ALL=tr_TR.UTF-8"),
    "variables that are not UTF-8": ("sh", "-c", 'CUDA_HOME="$(printf "/x\\377y")" NVIDIA_X="$(printf "\\303\\050")" exec "$0" "$@"'),
    "closed standard streams": ("sh", "-c", 'exec "$0" "$@" <&- 2>&-'),
    "umask of 777": ("sh", "-c", 'umask 777; exec "$0" "$@"'),
    "a current directory that is gone": ("sh", "-c", 'mkdir "$TMPDIR/gone"; cd "$TMPDIR/gone"; rmdir "$TMPDIR/gone"; exec "$0" "$@"'),
    "signals ignored": ("sh", "-c", 'trap "" INT TERM HUP PIPE CHLD ALRM; exec "$0" "$@"'),
    "SIGCHLD blocked and ignored": ("env", "--ignore-signal=CHLD", "--block-signal=CHLD"),
    "look-alikes on PATH": ("sh", "-c", 'PATH="$LOOK_ALIKES" exec "$0" "$@"'),
}
ONLY_NODE: Final = frozenset({"not root"})
"""Where others may read this clone and its interpreter; the environment that trains is made by its owner."""
SHORT: Final = ("64 descriptors", "512 MB of memory", "no capabilities", "full temporary folder", "locale C", "SIGCHLD blocked and ignored")
LOOK_ALIKES: Final = ("python", "python3", "nvidia-smi", "nvcc", "ptxas", "ldconfig", "gcc", "ps", "lspci", "modprobe", "sh", "env", "true")


def cells(workplace: Workplace) -> Iterator[Case]:
    """Yield each limit for a check of two GPUs, and for one of an environment that trains."""
    nvml = Nvml(gpus=2)
    tree = Tree(pci=[PciCard.of(card) for card in nvml.cards], kernel_driver=nvml.driver).build(workplace.folder / "tree")
    shims = environ_with(nvml, Cuda(gpus=nvml.gpus), directory=workplace.folder / "shims", base=workplace.environ)
    bare, python = Tree().build(workplace.folder / "bare"), patient(workplace.folder / "patient")
    traps = workplace.folder / "look-alikes"
    traps.mkdir()
    for name in LOOK_ALIKES:
        (traps / name).write_text("#!/bin/sh\nexec sleep 300\n")
        (traps / name).chmod(0o755)
    checks = {"node": (CHECK, seen_by_child(tree, shims)), "training": (check_of(python, bare), workplace.environ)}
    for subject, (command, environ) in checks.items():
        for limit in SHORT if workplace.short else WRAPPERS:
            if (not workplace.only or subject in workplace.only) and (subject == "node" or limit not in ONLY_NODE):
                given = {**environ, "LOOK_ALIKES": str(traps)}
                yield Case(subject, limit, partial(run, workplace, command, given, limit), subject)


def run(workplace: Workplace, command: tuple[str, ...], environ: Mapping[str, str], limit: str) -> Result:
    """Return what a check says under a limit; empty if this machine cannot set it."""
    wrapper = WRAPPERS[limit]
    trains = command is not CHECK
    folder = emptied(workplace.folder / f"{'training' if trains else 'node'} {limit}".replace(" ", "-"))
    folder.chmod(0o777)
    if shutil.which(wrapper[0]) is None or (limit in ONLY_NODE and not readable_by_all(folder, Path(sys.executable).resolve())):
        return Result()
    result = workplace.check({**environ, MARK: f"{folder}/", "TMPDIR": str(folder)}, (*wrapper, *command), TIMEOUT, LIMIT)
    result = result.but(left_process(f"{MARK}={folder}/"))
    if trains:
        return result.but("" if result.verdict in {"unknown", "broken"} else f"{result.verdict}, although nothing was trained")
    return result.but("" if result.verdict == "ready" else f"not ready: {', '.join(result.causes)} {result.report.get('because', '')}")


def readable_by_all(*places: Path) -> bool:
    """Return whether everybody may read these files and the folders above them."""
    return all(folder.stat().st_mode & 0o005 == 0o005 for place in places for folder in (place, *place.parents))
