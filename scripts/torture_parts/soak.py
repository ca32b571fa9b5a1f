"""Many checks in a row in one process, many at once, and one on a machine that is busy: nothing grows, and no verdict changes."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from scripts.torture_parts.cell import CHECK, Case, Result, Workplace, emptied
from tests.seams import Cuda, Nvml, PciCard, Tree, environ_with

ROOT: Final = Path(__file__).parents[2]
IN_A_ROW: Final = {True: 40, False: 2000}
"""Checks in one process, in a short torture and in a long one. The first twenty fill caches: 2.5 MB."""
AT_ONCE: Final = 16
BUSY: Final = 20
"""Processes that only compute: load 10 on two processors."""
GROWTH: Final = 8 << 10
"""Bytes of memory that a check may add to the process on average: less than what one report takes."""
WARMING: Final = 512 << 10
"""Bytes that caches add after the first half of a short row."""
PATIENCE: Final = 90.0
"""Seconds for a check on a machine that this part keeps busy."""


def machine(workplace: Workplace, gpus: int) -> tuple[Path, dict[str, str]]:
    """Return the tree of a machine with healthy GPUs, and the environment in which its driver answers."""
    nvml, folder = Nvml(gpus=gpus), workplace.folder / f"{gpus} GPUs"
    root = Tree(pci=[PciCard.of(card) for card in nvml.cards], kernel_driver=nvml.driver).build(folder / "tree")
    return root, environ_with(nvml, Cuda(gpus=nvml.gpus), directory=folder / "shims", base=workplace.environ)


def cells(workplace: Workplace) -> Iterator[Case]:
    """Yield the three cells; each wants the machine for itself."""
    root, environ = machine(workplace, 8)
    count = IN_A_ROW[workplace.short]
    tried = {
        "in a row": (f"{count} checks in a row", partial(in_a_row, root, environ, count)),
        "at once": (f"{AT_ONCE} checks at once", partial(at_once, workplace, root, environ)),
        "busy": (f"a check beside {BUSY} busy processes", partial(busy, workplace, root, environ)),
    }
    for name, (what, run) in tried.items():
        if not workplace.only or name in workplace.only:
            yield Case(name, what, run, "soak")


def at_once(workplace: Workplace, root: Path, environ: Mapping[str, str]) -> Result:
    """Run checks side by side; all must say what one says alone."""
    command = (*CHECK, "--root", str(root))
    alone = workplace.check(environ, command, PATIENCE, PATIENCE)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(lambda _: workplace.check(environ, command, PATIENCE, PATIENCE), range(AT_ONCE)))
    slowest = max(results, key=lambda result: result.seconds)
    different = [result for result in results if result.trouble or (result.verdict, result.causes) != (alone.verdict, alone.causes)]
    return slowest.but(f"{len(different)} differ: {different[0]}"[:300] if different else "").but(_not_ready(alone))


def busy(workplace: Workplace, root: Path, environ: Mapping[str, str]) -> Result:
    """Check while other processes compute; slower is fine."""
    others = [subprocess.Popen((sys.executable, "-I", "-S", "-c", "while True: pass")) for _ in range(BUSY)]
    try:
        result = workplace.check(environ, (*CHECK, "--root", str(root)), PATIENCE, PATIENCE)
    finally:
        for other in others:
            other.kill()
            other.wait()
    return result.but(_not_ready(result))


def _not_ready(result: Result) -> str:
    return "" if result.verdict == "ready" else f"not ready: {', '.join(result.causes)} {result.report.get('because', '')}"


def in_a_row(root: Path, environ: Mapping[str, str], count: int) -> Result:
    """Check repeatedly in one process, as --wait does, and compare its memory, descriptors and files in the middle and at the end."""
    began = time.monotonic()
    command = (sys.executable, "-m", "scripts.torture_parts.soak", str(root), str(count))
    temporary = emptied(root.parent / "temporary")
    done = subprocess.run(command, cwd=ROOT, env={**environ, "TMPDIR": str(temporary)}, capture_output=True, text=True, check=False)
    if done.returncode:
        return Result(f"ended with status {done.returncode}: {done.stderr[-300:]}")
    told = json.loads(done.stdout.splitlines()[-1])
    grown = told["memory"][1] - told["memory"][0]
    trouble = f"memory grows by {2 * grown / count:.0f} bytes a check" if grown > WARMING + GROWTH * count / 2 else ""
    trouble = trouble or next((f"more {what}: {told[what]}" for what in ("descriptors", "files") if told[what][1] > told[what][0]), "")
    verdicts = ", ".join(told["verdicts"])
    return Result(
        trouble or ("" if verdicts == "ready" else f"verdicts {verdicts}"), 0, verdicts, seconds=(time.monotonic() - began) / count
    )


def main() -> None:
    """Check the tree in this process and print what it holds after half of the checks and after all."""
    import tempfile  # noqa: PLC0415 -- only in the process that checks

    from gpudoctor.check.model import CheckOptions  # noqa: PLC0415
    from gpudoctor.check.run import examine_machine  # noqa: PLC0415
    from gpudoctor.findings import Level, Policy  # noqa: PLC0415

    root, count = sys.argv[1], int(sys.argv[2])
    options = CheckOptions(policy=Policy(level=Level.LOOK, node=True), root=root)
    told: dict[str, list[int]] = {"memory": [], "descriptors": [], "files": []}
    verdicts = set()
    for number in range(1, count + 1):
        verdicts.add(examine_machine(options).diagnosis.verdict.value)
        if number in {count // 2, count}:
            gc.collect()  # what is only waiting to be collected is a megabyte, now at one of the two times and now at the other
            told["memory"].append(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
            told["descriptors"].append(len(list(Path("/proc/self/fd").iterdir())))
            told["files"].append(len(list(Path(tempfile.gettempdir()).iterdir())))
    print(json.dumps({**told, "verdicts": sorted(verdicts)}))


if __name__ == "__main__":
    main()
