"""Random damage to /proc, /sys, /dev and /etc of machines with 1 to 72 GPUs: the check ends in time with a valid report and no crash of ours."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from scripts.torture_parts.cell import CHECK, Case, Result, Workplace, emptied
from tests.seams import Cuda, Nvml, PciCard, Tree, environ_with
from tests.seams.trees import CONTAINERS

RUNS: Final = {True: 8, False: 250}
GPUS: Final = (1, 2, 4, 8, 16, 72)
TIMEOUT: Final = 20.0
LIMIT: Final = 30.0
"""Seconds for a machine with 72 GPUs."""
GARBAGE: Final = (
    b"",
    b"\0" * 64,
    b"\xff\xfe\x80" * 99,
    b"9" * 5000,
    b"-1\n",
    b"0x\n",
    b"\x1b]0;title\x07\x1b[2J",
    b":" * 999,
    b"[" * 9999,
    b"\n" * 99999,
)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _garbage(path: Path, draw: random.Random) -> None:
    path.write_bytes(draw.choice(GARBAGE))


def _cut(path: Path, draw: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: draw.randrange(len(data) + 1)] + bytes(draw.randrange(256) for _ in range(draw.randrange(8))))


def _huge(path: Path, _: random.Random) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def _crowd(path: Path, _: random.Random) -> None:
    path.mkdir()
    for number in range(3000):
        (path / f"0000:{number:04x}\x1b[2J").touch()


DAMAGES: Final[Mapping[str, Callable[[Path, random.Random], None]]] = {
    "missing": lambda _path, _draw: None,
    "a named pipe": lambda path, _: os.mkfifo(path),
    "a folder": lambda path, _: path.mkdir(),
    "a crowded folder": _crowd,
    "a link to itself": lambda path, _: path.symlink_to(path),
    "a dangling link": lambda path, _: path.symlink_to("/nowhere"),
    "an endless device": lambda path, _: path.symlink_to("/dev/zero"),
    "a terminal": lambda path, _: path.symlink_to("/dev/tty"),
    "a file of 1 TiB": _huge,
    "garbage": _garbage,
    "unreadable": lambda path, _: path.touch(mode=0),
}
"""What stands in the place of a file or folder, which is removed first."""


def cells(workplace: Workplace) -> Iterator[Case]:
    """Yield machines with random damage, the same in every torture."""
    for number in range(RUNS[workplace.short]):
        gpus = random.Random(number).choice(GPUS[: 4 if workplace.short else None])
        yield Case(f"{gpus} GPUs", f"damage {number}", partial(run, workplace, gpus, number), "damaged tree")


def run(workplace: Workplace, gpus: int, number: int) -> Result:
    """Return what a check says of a damaged machine."""
    folder, draw, nvml = emptied(workplace.folder / str(number)), random.Random(f"damage {number}"), Nvml(gpus=gpus)
    container = draw.choice([None, None, *CONTAINERS])
    cards = [PciCard.of(card) for card in nvml.cards]
    root = Tree(pci=cards, kernel_driver=nvml.driver, container=container).build(folder / "tree")
    done = damage(root, draw)
    environ = environ_with(nvml, Cuda(gpus=nvml.gpus), directory=folder / "shims", base=workplace.environ)
    result = workplace.check(environ, (*CHECK, "--root", str(root)), TIMEOUT, LIMIT)
    shutil.rmtree(folder)
    return result if not result.trouble else Result(f"{result.trouble} after {'; '.join(done)}", result.exit_code, seconds=result.seconds)


def damage(root: Path, draw: random.Random) -> list[str]:
    """Damage one to six places of a tree; return what was done."""
    done = []
    for _ in range(draw.randint(1, 6)):
        places = sorted(path for path in root.rglob("*") if path != root)
        path, name = draw.choice(places), draw.choice([*DAMAGES, "cut"])
        if name == "cut" and not (path.is_file() and path.stat().st_size < 1 << 20):
            continue
        done.append(f"{path.relative_to(root)}: {name}")
        if name == "cut":
            _cut(path, draw)
        else:
            _remove(path)
            DAMAGES[name](path, draw)
    return done
