"""Environments of absurd size or content: thousands of distributions, huge metadata, names that steer terminals. A check reads them in time and memory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from scripts.torture_parts.cell import Case, Result, Workplace, emptied
from scripts.torture_parts.patient import check_of, patient
from tests.seams import Tree

MEMORY: Final = ("prlimit", f"--as={1 << 30}")
"""Address space of gpudoctor and each of its children."""
TIMEOUT: Final = 20.0
LIMIT: Final = 25.0
STEERING: Final = "\x1b]0;title\x07\x1b[2J\u202e<script>"
HEAD: Final = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"


def distribution(site: Path, name: str, *, version: str = "1.0", more: str = "", record: str = "") -> Path:
    """Add a distribution; return its METADATA."""
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"{HEAD.format(name=name, version=version)}{more}\n")
    (folder / "RECORD").write_text(record)
    return folder / "METADATA"


def _many(site: Path, count: int, requirements: int) -> None:
    more = "".join(f"Requires-Dist: package-{number} (>=1.0,<9)\n" for number in range(requirements))
    for number in range(count):
        distribution(site, f"package-{number}", more=more)


def _sparse(site: Path, name: str) -> None:
    metadata = distribution(site, "torch-addon", more="Requires-Dist: torch==9.9\n")
    os.truncate(metadata.with_name(name), 1 << 30)


def _steering(site: Path) -> None:
    for place, name in enumerate((STEERING.replace("/", ""), "torchvision", "x\nName: y")):
        distribution(site, f"nvidia-{place}", more=f"Requires-Dist: {name}\nSummary: {STEERING}\n", version="1.0")
        (site / f"{name.replace('/', '')[:60]}{place}-2.{place}.dist-info").mkdir()
    (site / "torch/version.py").write_text(f"__version__ = {STEERING!r}\ncuda = {STEERING!r}\n")


def _long(site: Path) -> None:
    distribution(site, "numpy", version="9" * 150, more=f"Requires-Dist: torch{'[x]' * 9999}\nRequires-Dist: torch>={'9' * 9999}\n")
    distribution(site, "torchaudio", more=f"Requires-Dist: torch (=={'(' * 20_000}\n")
    (site / "torch/version.py").write_text(f"__version__ = '{'9' * 5000}.1'\ncuda = '{'1' * 5000}.8'\n")


def _pipes(site: Path) -> None:
    for name in ("METADATA", "RECORD", "WHEEL", "INSTALLER", "direct_url.json"):
        folder = site / f"piped_{name.lower().replace('.', '_')}-1.0.dist-info"
        folder.mkdir()
        os.mkfifo(folder / name)
    (site / "torch/version.py").unlink()
    os.mkfifo(site / "torch/version.py")


def _links(site: Path) -> None:
    (site / "loop").symlink_to(site)
    for name in ("torchvision-1.0.dist-info", "numpy-2.0.dist-info", "nvidia"):
        (site / name).symlink_to(site / name)
    (site / "jax").symlink_to("/proc/self/root")


def _paths(site: Path) -> None:
    (site / "many.pth").write_text("".join(f"/nowhere/{number}\n" for number in range(20_000)))


SITES: Final[Mapping[str, Callable[[Path], None]]] = {
    "20,000 distributions": lambda site: _many(site, 20_000, 0),
    "5,000 distributions of 200 requirements": lambda site: _many(site, 5_000, 200),
    "METADATA of 1 GiB": lambda site: _sparse(site, "METADATA"),
    "RECORD of 1 GiB": lambda site: _sparse(site, "RECORD"),
    "names that steer terminals": _steering,
    "versions and requirements of thousands of characters": _long,
    "named pipes": _pipes,
    "a named pipe that Python reads": lambda site: os.mkfifo(site / "aaa.pth"),
    "links in circles": _links,
    "20,000 folders in a .pth file": _paths,
}
SHORT: Final = ("METADATA of 1 GiB", "names that steer terminals", "versions and requirements of thousands of characters", "named pipes")


def cells(workplace: Workplace) -> Iterator[Case]:
    """Yield each environment, looked at and trained in."""
    root = Tree().build(workplace.folder / "root")
    for name in SHORT if workplace.short else SITES:
        if not workplace.only or name in workplace.only:
            yield Case(name, "look", partial(run, workplace, root, name), "odd environment")


def run(workplace: Workplace, root: Path, name: str) -> Result:
    """Return what a check without training says of an environment."""
    made = patient(emptied(workplace.folder / name.replace(" ", "-")))
    (site,) = made.glob("lib/python3*/site-packages")
    SITES[name](site)
    wrapper = MEMORY if shutil.which(MEMORY[0]) else ()
    return workplace.check(workplace.environ, (*wrapper, *check_of(made, root, "--no-smoke")), TIMEOUT, LIMIT)
