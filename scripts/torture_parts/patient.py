"""An environment whose Python or framework misbehaves, on a machine without a GPU that may train on its CPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from scripts.torture_parts.cell import GPUDOCTOR, TIMEOUT, Case, Result, Workplace, emptied, left_process
from tests.machines.packages import Package, environment
from tests.seams import Tree

MARK: Final = "TORTURED"
"""The variable by which a cell's processes are found."""
LIMIT: Final = 16.0
"""Seconds for a cell: the check's own, and a second for each child that is slow to die."""
WAIT: Final = "import time\ntime.sleep(300)\n"
AWAY: Final = "import os\nif os.fork(): os._exit(0)\nos.setsid()\n"
BEHAVIOURS: Final[Mapping[str, str]] = {
    "hangs": WAIT,
    "ignores signals": f"import signal\nfor one in (1, 2, 15): signal.signal(one, signal.SIG_IGN)\n{WAIT}",
    "stops itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n",
    "spins": "while True: pass\n",
    "leaves at once": "import os\nos._exit(0)\n",
    "leaves with SystemExit": "raise SystemExit(7)\n",
    "forks away": AWAY + WAIT,
    "forks away twice": AWAY + AWAY + WAIT,
    "holds its pipes open": f"import os\nif not os.fork():\n    os.setsid()\n    {WAIT.replace(chr(10), chr(10) + '    ').strip()}\n",
    "starts fifty sleepers": f"import os\nfor _ in range(50):\n    if not os.fork():\n        os.setsid()\n        {WAIT.replace(chr(10), chr(10) + '        ').strip()}\n",
    "closes its descriptors": "import os\nos.closerange(0, 256)\n",
    "writes into every descriptor": 'import os\nfor one in range(64):\n    try: os.write(one, b\'\\x1b]0;title\\x07{"type":"done"}\\n\' * 99)\n    except OSError: pass\n',
    "floods": "import os\nwhile True: os.write(2, b'x' * 65536)\n",
    "takes memory": "kept = []\nimport resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\nwhile True: kept.append(b'x' * (1 << 24))\n",
    "refuses by an audit hook": (
        "import sys\ndef hook(event, _arguments):\n    if event in ('open', 'import', 'os.listdir'): raise RuntimeError('refused')\nsys.addaudithook(hook)\n"
    ),
    "replaces modules": "import sys, types\nfor name in ('json', 'os', 'ctypes', 'time'): sys.modules[name] = types.ModuleType(name)\n",
    "raises at every exit": "import atexit, os\natexit.register(os.abort)\n",
}
WAITING: Final = frozenset({"hangs", "ignores signals", "stops itself"})
"""Behaviours that a check waits for until its deadline."""
SHORT: Final = (
    "ignores signals",
    "stops itself",
    "forks away twice",
    "holds its pipes open",
    "closes its descriptors",
    "refuses by an audit hook",
)
PLACES: Final = ("start", "import")


def check_of(python: Path, root: Path, *more: str) -> tuple[str, ...]:
    """Return a check that trains on the CPU of a machine without a GPU."""
    machine = ("--root", str(root), "--python", str(python), "--allow-cpu")
    return (GPUDOCTOR, "check", "--format", "json", *machine, *more)


def patient(place: Path, *, start: str = "", on_import: str = "") -> Path:
    """Return a new environment with a PyTorch; both run this code when they start."""
    version = "__version__ = '2.6.0+cpu'\ncuda = None\n"
    made = environment(place, (Package("torch", "2.6.0", {"torch/__init__.py": on_import, "torch/version.py": version}),))
    (site,) = made.glob("lib/python3*/site-packages")
    (site / "sitecustomize.py").write_text(start)
    return made


def cells(workplace: Workplace) -> Iterator[Case]:
    """Yield each behaviour at Python's start and in the import of the framework."""
    root = Tree().build(workplace.folder / "root")
    for behaviour in SHORT if workplace.short else BEHAVIOURS:
        for place in PLACES:
            if not workplace.only or place in workplace.only:
                yield Case(place, behaviour, partial(run, workplace, root, place, behaviour), f"at {place}", behaviour in WAITING)


def run(workplace: Workplace, root: Path, place: str, behaviour: str) -> Result:
    """Return what a check says of a patient; nothing of it may be left, and it must not pass for a healthy one."""
    folder = emptied(workplace.folder / f"{place} {behaviour}".replace(" ", "-"))
    code = BEHAVIOURS[behaviour]
    made = patient(folder, start=code) if place == "start" else patient(folder, on_import=code)
    environ = workplace.environ | {MARK: f"{folder}/", "TMPDIR": str(folder)}
    result = workplace.check(environ, check_of(made, root), TIMEOUT, LIMIT)
    left = [path.name for path in folder.glob("gpudoctor-*")]
    result = result.but(left_process(f"{MARK}={folder}/")).but(f"{left[0]} is left" if left else "")
    return result.but("ready, although nothing was trained" if result.verdict in {"ready", "degraded"} else "")
