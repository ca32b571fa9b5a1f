"""Damaged libraries, GPU code and loader caches: our readers say what is wrong with each, in time, and never raise or take memory without limit.

A cell is a batch of mutants of one healthy file, read in a process of its own by the code that `gpudoctor xray FILE` runs.
"""

from __future__ import annotations

import json
import random
import resource
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from gpudoctor.children.own.xray import examine
from gpudoctor.elf import symbols
from gpudoctor.elf.cache import Cache
from gpudoctor.elf.file import NotElf
from gpudoctor.elf.file import read_elf_file as read_elf
from scripts.torture_parts.cell import Case, Result, Workplace
from tests.machines.elf_library import Library

ROOT: Final = Path(__file__).parents[2]
BATCH: Final = {True: 100, False: 500}
BATCHES: Final = {True: 1, False: 5}
"""Batches of each file, in a short and a long torture: 10,000 mutants in the long one."""
SLOW: Final = 1.0
"""Seconds of the processor for a mutant; a healthy file takes a few milliseconds."""
MEMORY: Final = 1 << 30
LIMIT: Final = 120.0
"""Seconds for a batch."""
ODD: Final = (0, 1, 2, 7, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 63, (1 << 64) - 1)
"""Numbers at which readers of counts, offsets and sizes go wrong."""


def fat_binary() -> bytes:
    """Return GPU code for two architectures and PTX, as the headers in a library describe it."""
    entries = b""
    for kind, number in ((2, 80), (2, 90), (1, 90)):
        entries += struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, 40, 0, 0, 8, 1, number, 0, 0, 0x11, 0, 0).ljust(64, b"\0") + bytes(40)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


def healthy(place: Path) -> dict[str, Path]:
    """Return the files to damage."""
    libraries = {
        "library": Library(
            "liba.so.1", needs=("libcudart.so.12", "libc.so.6"), runpath="$ORIGIN/../lib", undefined="missing", defines=("one", "two")
        ),
        "library with RPATH": Library("libb.so.2", needs=("liba.so.1",), rpath="/opt/$LIB:$ORIGIN"),
        "library with GPU code": Library("libc2.so", needs=("libcudnn.so.9",), code=fat_binary()),
    }
    for name, library in libraries.items():
        library.put(place / name)
    cache = Path("/etc/ld.so.cache")
    (place / "loader cache").write_bytes(cache.read_bytes() if cache.exists() else b"glibc-ld.so.cache1.1" + bytes(28))
    return {name: place / name for name in (*libraries, "loader cache")}


def mutant(data: bytes, draw: random.Random) -> bytes:
    """Return `data` with one to four damages: bytes flipped, numbers overwritten, parts removed, repeated or moved."""
    made = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(max(1, min(len(made), draw.choice((64, 512, 1 << 20)))))  # headers are read most
        size = draw.choice((1, 2, 4, 8))
        match draw.randrange(5):
            case 0:
                made[place : place + 1] = bytes([draw.randrange(256)])
            case 1:
                made[place : place + size] = (draw.choice(ODD) % (1 << 8 * size)).to_bytes(size, draw.choice(("little", "big")))
            case 2:
                del made[place:]
            case 3:
                made[place:place] = made[place : place + draw.randrange(4096)]
            case _:
                start = draw.randrange(max(1, len(made)))
                made[place : place + 64] = made[start : start + 64]
    return bytes(made)


def read_library(path: Path) -> None:
    """Do with a file what an X-ray does."""
    said: list[dict[str, Any]] = []
    examine.single(examine.Task(sys.executable, sys.path, {}), str(path), said.append)
    json.dumps(said)
    try:
        found = read_elf(str(path), code=True, versions=True)
        symbols.undefined_symbols(str(path), found)
        symbols.defined_symbols(str(path), found, ("one", "nothing"))
    except NotElf:
        return


def read_cache(path: Path) -> None:
    """Look up libraries in a loader cache."""
    cache = Cache(path.read_bytes())
    assert all(name is None or isinstance(name, str) for name in map(cache.get, ("libc.so.6", "libcuda.so.1", "")))


READERS: Final[Mapping[str, Callable[[Path], None]]] = {"loader cache": read_cache}


def cells(workplace: Workplace) -> Iterator[Case]:
    """Yield the batches of each file."""
    for name, file in healthy(workplace.folder).items():
        for number in range(BATCHES[workplace.short]):
            if not workplace.only or name in workplace.only:
                yield Case(name, f"mutants, batch {number}", partial(run, workplace, file, number, BATCH[workplace.short]), name)


def run(workplace: Workplace, file: Path, seed: int, count: int) -> Result:
    """Read a batch of mutants in another process; return which could not be read properly."""
    began = time.monotonic()
    command = (sys.executable, "-m", "scripts.torture_parts.binaries", str(file), str(seed), str(count))
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=workplace.patience(LIMIT), check=False)
    except subprocess.TimeoutExpired:
        return Result(f"still reads after {time.monotonic() - began:.0f} s")
    trouble = done.stdout.strip() or (f"the reader died: {done.returncode} {done.stderr[-300:]}" if done.returncode else "")
    return Result(trouble.replace("\n", "; ")[:400], done.returncode, seconds=time.monotonic() - began)


def main() -> None:
    """Read the mutants of a file and print those that raised, were slow or took too much memory."""
    file, seed, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    data, draw, place = file.read_bytes(), random.Random(f"{file.name} {seed}"), file.with_name(f"{file.name}.{seed}")
    read = READERS.get(file.name, read_library)
    for number in range(count):
        place.write_bytes(mutant(data, draw))
        began = time.process_time()
        try:
            read(place)
        except Exception as error:  # noqa: BLE001 -- what is looked for
            trace = error.__traceback__
            while trace and trace.tb_next:
                trace = trace.tb_next
            where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
            print(f"mutant {number}: {type(error).__name__}: {error} at {where}")
        if (took := time.process_time() - began) > SLOW:
            print(f"mutant {number}: took {took:.1f} s")
    place.unlink()


if __name__ == "__main__":
    main()
