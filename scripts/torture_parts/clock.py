"""The wall clock is wrong, stands still or jumps: a check of a healthy machine stays right, because deadlines go by the monotonic clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from scripts.torture_parts.cell import Case, Result, Workplace
from tests.seams import Cuda, Nvml, PciCard, Tree, environ_with, seen_by_child
from tests.seams.build import preloaded

YEAR: Final = 31_556_952
NOW: Final = 56 * YEAR
CLOCKS: Final[Mapping[str, tuple[int, int]]] = {
    "1970": (0, 0),
    "before 1970": (-50 * YEAR, 1),
    "2038": (1 << 31, 1),
    "9999": (8029 * YEAR, 1),
    "30000": (28_030 * YEAR, 1),
    "standing still": (NOW, 0),
    "an hour ahead each time": (NOW, 3600),
    "an hour back each time": (NOW, -3600),
    "a year ahead each time": (NOW, YEAR),
    "a year back each time": (NOW, -YEAR),
}
"""The time that the clock shows at first, and how far it jumps each time that it is asked, in seconds."""


def cells(workplace: Workplace) -> Iterator[Case]:
    """Yield each clock."""
    nvml = Nvml(gpus=2)
    tree = Tree(pci=[PciCard.of(card) for card in nvml.cards], kernel_driver=nvml.driver).build(workplace.folder / "tree")
    environ = seen_by_child(tree, environ_with(nvml, Cuda(gpus=nvml.gpus), directory=workplace.folder / "shims", base=workplace.environ))
    environ |= preloaded("clock.c", environ)
    for name, clock in CLOCKS.items():
        if not workplace.only or name in workplace.only:
            yield Case("clock", name, partial(run, workplace, environ, clock), "wrong clock")


def run(workplace: Workplace, environ: Mapping[str, str], clock: tuple[int, int]) -> Result:
    """Return what a check of two healthy GPUs says under a clock."""
    first, step = clock
    result = workplace.check({**environ, "FAKE_CLOCK": str(first), "FAKE_CLOCK_STEP": str(step)})
    return result.but("" if result.verdict == "ready" else f"not ready: {', '.join(result.causes)} {result.report.get('because', '')}")
