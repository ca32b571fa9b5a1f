"""What each framework requests from the loader on import and on its first use of a GPU, in order: one module each.

From the frameworks' sources and LD_DEBUG=libs of their wheels.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from gpudoctor.children.own.xray.patient import Around, Patient


class WantedFramework:
    """One framework of the environment, as the parent knows it."""

    __slots__ = ("cuda", "cudnn", "home", "name")

    def __init__(self, name: str, home: str, cuda: str, cudnn: str) -> None:
        self.name = name
        self.home = home
        """The folder of its package."""
        self.cuda = cuda
        """The CUDA version that it states it was built with; empty if none."""
        self.cudnn = cudnn


Load = Callable[[WantedFramework, Around], tuple[Patient, list[str]]]


def loading(framework: str) -> Load:
    """The function that simulates how a framework loads its libraries: it returns the process and the framework's own relevant files."""
    load: Load = importlib.import_module(f"{__name__}.{framework}").load
    return load
