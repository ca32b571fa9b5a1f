"""Combinations drawn from all rows of the tables, for machines that people have: most of them cannot work."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from typing import Literal

from gpudoctor.matrix.tables import WHEEL_TABLES
from gpudoctor.plan import Combination
from tests.shipped import shared_matrix

MATRIX = shared_matrix()
_MACHINES = (
    ("K80", "470.256.02"),
    ("K80", "535.104.05"),
    ("GTX 1080", "535.104.05"),
    ("P100", "450.80.02"),
    ("v100-sxm2", "550.54.14"),
    ("v100-sxm2", "580.65.06"),
    ("T4", "525.60.13"),
    ("T4", "418.226.00"),
    ("a100", "535.183.01"),
    ("a100", "460.32.03"),
    ("L4", "550.54.14"),
    ("h100", "570.124.06"),
    ("h100", "515.65.01"),
    ("B200", "570.86.15"),
    ("RTX 5090", "570.124.06"),
    ("RTX 5090", "535.104.05"),
    ("RTX 5090", "580.65.06"),
    ("RTX 3090", "590.44.01"),
    ("GB10", "580.95.05"),
)
_SYSTEMS: tuple[Literal["linux", "windows", "wsl", "macos"], ...] = (*("linux",) * 7, "windows", "wsl", "macos")
_ON_WINDOWS = ("471.68", "528.33", "560.94", "572.16", "580.97")
_PYTHONS = (None, "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.13t", "3.14")
_BESIDE = ("torch", "torch", "tensorflow", "jax", "torchvision", "keras", "transformers", "numpy")
_EXTRAS = {"jax": ("[cuda12]", "[cuda13]", ""), "tensorflow": ("[and-cuda]", "[and-cuda]", "")}


def drawn(count: int, seed: int) -> Iterator[Combination]:
    """Combinations of one or two releases with a machine; one distribution is as likely as another."""
    draw, releases = random.Random(seed), _releases()
    for _ in range(count):
        names = [draw.choice(sorted(releases)), *draw.sample(_BESIDE, draw.choice((0, 0, 1)))]
        requirements = {name: f"{name}{draw.choice(_EXTRAS.get(name, ('',)))}=={draw.choice(releases[name])}" for name in names}
        yield _on_a_machine(draw, tuple(requirements.values()))


def _releases() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for table in WHEEL_TABLES:
        for row in MATRIX.rows(table):
            found[row.distribution].append(str(row.release))
    return {**found, "numpy": ["1.26.4", "2.3.4"]}


def _on_a_machine(draw: random.Random, requirements: tuple[str, ...]) -> Combination:
    (gpu, driver), python = draw.choice(_MACHINES), draw.choice(_PYTHONS)
    os = draw.choice(_SYSTEMS) if gpu != "GB10" else "linux"
    if os == "macos":
        return Combination(requirements=requirements, os=os, python=python)
    if os != "linux":
        return Combination(requirements=requirements, gpus=(gpu,), driver=draw.choice(_ON_WINDOWS), os=os, python=python)
    system = draw.choice((None,) * 6 + ("11.2", "11.8", "12.4"))
    return Combination(
        requirements=requirements,
        gpus=(gpu,),
        driver=driver,
        python=python,
        arch="aarch64" if draw.random() < 0.1 else None,
        system_cuda=system,
        system_cudnn=draw.choice((None, "8.1", "8.9", "9.1")) if system else None,
    )
