"""Every command is started by a process that may do little, with odd streams, variables, locales and clocks.

A command that is not hindered says what it says otherwise, byte for byte; one that cannot write says so. None shows a traceback or leaves a file.
Checks under the same limits are in `limits`, with other exit codes.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Final

from scripts.torture_parts.binaries import healthy
from scripts.torture_parts.cell import GPUDOCTOR, Case, Result, Workplace, emptied
from scripts.torture_parts.limits import WRAPPERS
from tests.seams import Nvml, PciCard, Tree
from tests.seams.build import preloaded

LIMIT: Final = 120.0
"""Seconds; a command takes one at most."""
DIGITS: Final = "9" * 5000
REFUSED: Final = 2
LOG: Final = "RuntimeError: CUDA error: uncorrectable ECC error encountered\nNVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\n"
PASTED: Final = "{log}"
COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "check": ("check", "--no-smoke", "--python", "{python}", "--root", "{root}", "--format", "json"),
    "diagnose": ("diagnose", PASTED),
    "diagnose of standard input": ("diagnose", "-", "--format", "json"),
    "diagnose of a report": ("diagnose", "{report}"),
    "ticket": ("ticket", "{report}", "--format", "html"),
    "ticket of this machine": ("ticket", "--python", "{python}", "--format", "json"),
    "diff": ("diff", "{report}", "{other}", "-v"),
    "fleet merge": ("fleet", "merge", "{report}", "{other}", "--format", "json"),
    "compat": ("compat", "torch==2.8.0", "--gpu", "GTX 1080", "--driver", "470.57.02"),
    "compat of a file": ("compat", "-r", "{requirements}", "--format", "json"),
    "plan": ("plan", "torch", "--gpu", "V100", "--driver", "550.54.14", "--python-version", "3.11", "--offline"),
    "index": ("index", "torch", "--gpu", "V100", "--driver", "550.54.14"),
    "fit": ("fit", "resnet50", "--gpu", "RTX 4090", "--batch", "32"),
    "matrix": ("matrix", "gpu", "RTX 4090"),
    "xray": ("xray", "--python", "{python}"),
    "xray of a file": ("xray", "{library}", "--format", "json"),
    "envs": ("envs", "--timeout", "50"),
    "explain": ("explain", "CUDA error 803"),
    "rules": ("rules",),
    "schema": ("schema",),
    "completion": ("completion", "bash"),
    "mcp": ("mcp",),
    "help": ("check", "--help"),
    "nothing": (),
}
LIVE: Final = frozenset({"check", "ticket of this machine", "xray", "envs"})
"""Commands that look at the machine: under a limit they may see another one."""
READS: Final = frozenset({"diagnose of standard input", "mcp"})
_MEASURED: Final = "seconds|uptime|available|free|swap_free"
VOLATILE: Final = re.compile(rb'\d{4}-\d\d-\d\d[T ][\d:]+Z?|"id":\s*"[0-9a-f]{16}"' + rf'|\b(?:{_MEASURED})(?:":\s*| = )[\d.e-]+'.encode())
"""What differs between two answers of a command that are the same: times, identities, and what a ticket measures of this machine."""


@dataclass(frozen=True)
class Oddity:
    """How a command is started, and whether it still says the same."""

    wrapper: tuple[str, ...]
    same: bool = True
    refused: bool = False
    """Nothing can be written: the exit code is that of a usage error."""
    reads_nothing: bool = False


def _shell(text: str) -> tuple[str, ...]:
    return ("sh", "-c", text)


def _redirected(how: str) -> tuple[str, ...]:
    return _shell(f'exec "$0" "$@" {how}')


_AS_IN_LIMITS: Final = (
    "64 descriptors",
    "512 MB of memory",
    "small stack",
    "files of no size",
    "no shared memory",
    "read-only file system",
    "full temporary folder",
    "no temporary folder",
    "variables that are not UTF-8",
    "umask of 777",
    "a current directory that is gone",
    "signals ignored",
    "look-alikes on PATH",
)
_OTHER_LETTERS: Final = ("locale C", "locale of Latin-1")
ODDITIES: Final[Mapping[str, Oddity]] = {
    **{name: Oddity(WRAPPERS[name]) for name in _AS_IN_LIMITS},
    **{name: Oddity(WRAPPERS[name], same=False) for name in _OTHER_LETTERS},
    "strict ASCII": Oddity(("env", "LC_ALL=POSIX", "PYTHONIOENCODING=ascii:strict"), same=False),
    "UTF-16": Oddity(("env", "PYTHONIOENCODING=utf-16"), same=False),
    "no home": Oddity(WRAPPERS["no home"], same=False),  # which paths begin with
    "a home that is no folder": Oddity(("env", "HOME=/proc/version"), same=False),
    "standard input closed": Oddity(_redirected("<&-"), reads_nothing=True),
    "standard error closed": Oddity(_redirected("2>&-")),
    "standard error full": Oddity(_redirected("2>/dev/full")),
    "standard output closed": Oddity(_redirected(">&-"), refused=True),
    "all streams closed": Oddity(_redirected("<&- >&- 2>&-"), refused=True),
    "standard output full": Oddity(_redirected(">/dev/full"), refused=True),
    "all streams full": Oddity(_redirected(">/dev/full 2>/dev/full"), refused=True),
    "standard output read-only": Oddity(_redirected("1</dev/null"), refused=True),
    "COLUMNS of 1": Oddity(("env", "COLUMNS=1"), same=False),
    "COLUMNS of 0": Oddity(("env", "COLUMNS=0")),
    "COLUMNS of a word": Oddity(("env", "COLUMNS=wide", "LINES=tall")),
    "COLUMNS of a digit that is no number": Oddity(("env", "COLUMNS=²", "LINES=²")),
    "COLUMNS of 5,000 digits": Oddity(("env", f"COLUMNS={DIGITS}", f"LINES={DIGITS}")),
    "TERM of escapes": Oddity(("env", "TERM=\x1b[2J", "COLORTERM=\x1b]0;x\x07")),
    "TERM dumb": Oddity(("env", "TERM=dumb", "NO_COLOR=1")),
    "Python's variables": Oddity(
        (
            "env",
            "PYTHONSTARTUP=/nowhere",
            "PYTHONBREAKPOINT=os.abort",
            "PYTHONINSPECT=1",
            "PYTHONPATH=/nowhere:relative",
            "PYTHONMALLOC=debug",
        )
    ),
    "Python without docstrings": Oddity(("env", "PYTHONOPTIMIZE=2")),
    "Python in development mode": Oddity(("env", "PYTHONDEVMODE=1", "PYTHONWARNINGS=error", "PYTHONUNBUFFERED=1")),
    "the loader's variables": Oddity(
        ("env", "LD_PRELOAD=/nowhere.so", "LD_AUDIT=/nowhere.so", "GLIBC_TUNABLES=glibc.malloc.check=3:x=\x1b")
    ),
    "the shell's variables": Oddity(("env", "BASH_ENV=/nowhere", "ENV=/nowhere", "IFS=/", "PS4=$(id)")),
    "PATH empty": Oddity(("env", "PATH=")),
    "no variables": Oddity(("env", "--ignore-environment"), same=False),
    "an unknown time zone": Oddity(("env", "TZ=:/nowhere/\x1b")),
    "1970": Oddity(("env", "FAKE_CLOCK=0", "FAKE_CLOCK_STEP=0"), same=False),
    "2100": Oddity(("env", "FAKE_CLOCK=4102444800", "FAKE_CLOCK_STEP=1"), same=False),
}


@dataclass(frozen=True)
class Place:
    """The files that commands read."""

    workplace: Workplace

    @cached_property
    def words(self) -> dict[str, str]:
        """Return what stands for the names in the braces of a command line."""
        folder, nvml = self.workplace.folder, Nvml(gpus=2)
        root = Tree(pci=[PciCard.of(card) for card in nvml.cards], kernel_driver=nvml.driver).build(folder / "tree")
        (folder / "libraries").mkdir()
        named = {"report": "a.json", "other": "b.json", "log": "log.txt", "requirements": "requirements.txt"}
        words = {name: str(folder / file) for name, file in named.items()}
        words |= {"python": sys.executable, "root": str(root), "library": str(healthy(folder / "libraries")["library with GPU code"])}
        (folder / "log.txt").write_text(LOG)
        (folder / "requirements.txt").write_text("torch==2.8.0\nnumpy\n")
        for name, more in (("report", ("--no-smoke", "--python", sys.executable, "--root", str(root))), ("other", ("--node",))):
            subprocess.run(
                (GPUDOCTOR, "check", "--quiet", *more, "--json", words[name]), env=self.environ, check=False, capture_output=True
            )
        return words

    @cached_property
    def environ(self) -> dict[str, str]:
        """Return the environment of each command."""
        steering = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "GITHUB_")
        kept = {key: value for key, value in self.workplace.environ.items() if not key.startswith(steering)}
        return {**kept, "LANG": "C.UTF-8", "HOME": str(self.workplace.folder)}

    def run(self, name: str, odd: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
        """Run a command under an oddity, with an empty temporary folder."""
        emptied(folder)
        environ = {**self.environ, "TMPDIR": str(folder), "LOOK_ALIKES": "/nowhere"}
        wrapper = ODDITIES[odd].wrapper if odd else ()
        if any(word.startswith("FAKE_CLOCK") for word in wrapper):
            environ |= preloaded("clock.c", environ)
        words = (word.format(**self.words) for word in COMMANDS[name])
        command: Sequence[str] = (*wrapper, GPUDOCTOR, *words)
        return subprocess.run(
            command, env=environ, input=LOG.encode(), capture_output=True, timeout=self.workplace.patience(LIMIT), check=False, cwd="/"
        )


def cells(workplace: Workplace) -> Iterator[Case]:
    """Yield each command under each oddity; a short run has each oddity with one command, another one for each."""
    place, names = Place(workplace), tuple(name for name in COMMANDS if not workplace.only or name in workplace.only)
    usual = {name: place.run(name, "", workplace.folder / f"usual-{number}") for number, name in enumerate(names)}
    for number, (odd, oddity) in enumerate(ODDITIES.items()):
        for nth, name in enumerate(names):
            chosen = nth == number % len(names) or not workplace.short
            if chosen and shutil.which(oddity.wrapper[0]):
                yield Case(name, odd, partial(run, place, name, odd, usual[name], workplace.folder / f"{nth}-{number}"), "odd start")


def run(place: Place, name: str, odd: str, usual: subprocess.CompletedProcess[bytes], folder: Path) -> Result:
    """Return what a command says under an oddity."""
    began = time.monotonic()
    try:
        done = place.run(name, odd, folder)
    except subprocess.TimeoutExpired:
        return Result(f"still runs after {time.monotonic() - began:.0f} s")
    oddity, result = ODDITIES[odd], Result("", done.returncode, seconds=time.monotonic() - began)
    result = result.but("a traceback" if b"Traceback" in done.stderr else "")
    left = [path.name for path in folder.iterdir() if path.name not in {"gone", "full"}]
    result = result.but(f"{left[0]} is left" if left else "")
    if oddity.refused and (usual.stdout or name not in READS):
        return result.but("" if done.returncode == REFUSED else f"exit code {done.returncode}")
    if name in READS and (oddity.reads_nothing or oddity.refused):  # with nothing to answer it may miss neither stream
        return result.but("" if done.returncode in {0, REFUSED} else f"exit code {done.returncode}")
    result = result.but(_invalid(usual.stdout, done.stdout))
    if name in LIVE:
        return result.but("" if done.returncode in {0, 1, 3} else f"exit code {done.returncode}: {done.stderr[-200:]!r}")
    result = result.but("" if done.returncode == usual.returncode else f"exit code {done.returncode}: {done.stderr[-200:]!r}")
    return result.but(_difference(usual.stdout, done.stdout) if oddity.same else "")


def _invalid(usual: bytes, said: bytes) -> str:
    """Return what is wrong with a JSON document; a text has nothing wrong."""
    if usual.startswith(b"{"):
        try:
            json.loads(said)
        except ValueError as error:
            return f"no valid JSON: {error}"
    return ""


def _difference(usual: bytes, said: bytes) -> str:
    """Return the first line that differs, without times."""
    before, after = (VOLATILE.sub(b"", text).splitlines() for text in (usual, said))
    pairs = zip(before, after, strict=False)
    different = next((f"{now[:80]!r} in place of {then[:80]!r}" for then, now in pairs if then != now), "")
    return different or (f"{len(after)} lines in place of {len(before)}" if len(before) != len(after) else "")
