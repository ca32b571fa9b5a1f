"""What each framework asks the loader for when it is imported and when it first meets a GPU, in its own order: a module each.

Known from the frameworks' own sources and from LD_DEBUG=libs of their wheels.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from gpudoctor.children.own.xray.patient import Around, Patient


class Wish:
    """One framework of the environment, as the parent knows it."""

    __slots__ = ("cuda", "cudnn", "home", "name")

    def __init__(self, name: str, home: str, cuda: str, cudnn: str) -> None:
        self.name = name
        self.home = home
        """The folder of its package."""
        self.cuda = cuda
        """The CUDA that it was built with, as it says; empty where it does not."""
        self.cudnn = cudnn


Load = Callable[[Wish, Around], tuple[Patient, list[str]]]


def loading(framework: str) -> Load:
    """What simulates how a framework loads its libraries: it gives what happened, and the framework's own files that matter."""
    load: Load = importlib.import_module(f"{__name__}.{framework}").load
    return load
