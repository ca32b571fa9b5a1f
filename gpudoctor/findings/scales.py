"""The ordered words of a diagnosis: how grave, how sure, how far a GPU came and how far a check goes."""

from __future__ import annotations

import enum


class _OrderedWord(str, enum.Enum):
    """Words ordered by where they are declared."""

    def __init__(self, _: str) -> None:
        self.position = len(type(self).__members__)

    def __lt__(self, other: str) -> bool:
        return self.position < type(self)(other).position

    def __le__(self, other: str) -> bool:
        return self.position <= type(self)(other).position

    def __gt__(self, other: str) -> bool:
        return self.position > type(self)(other).position

    def __ge__(self, other: str) -> bool:
        return self.position >= type(self)(other).position

    def __str__(self) -> str:
        return str(self.value)


class Severity(_OrderedWord):
    """What a finding means for the user: cannot train; can, but slower or at risk; worth knowing."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


class Impact(str, enum.Enum):
    """What a finding costs the user, in the words that open a report."""

    CANNOT_TRAIN = "cannot train"
    REQUIREMENT = "requirement not met"
    PARTLY = "works in part"
    SLOWER = "runs slower"
    AT_RISK = "at risk"
    NONE = "none"


class Confidence(_OrderedWord):
    """How sure a finding is. A possible cause never hides another finding."""

    POSSIBLE = "possible"
    LIKELY = "likely"
    CERTAIN = "certain"


class Rung(_OrderedWord):
    """The stages that a GPU passes before it trains, lowest first."""

    SLOT = "slot"
    KERNEL_DRIVER = "kernel driver"
    DEVICE_NODE = "device node"
    NVML = "NVML"
    LIBCUDA = "libcuda"
    KERNEL_RAN = "kernel ran"
    FRAMEWORK = "framework sees it"
    TRAINED = "trained"

    @property
    def proof(self) -> str:
        """What reaching it shows: the words before a number of GPUs."""
        return _PROOF_TEXTS[self]


_PROOF_TEXTS = {
    Rung.SLOT: "seen on the PCI bus:",
    Rung.KERNEL_DRIVER: "driver loaded for",
    Rung.DEVICE_NODE: "device file present for",
    Rung.NVML: "NVML works on",
    Rung.LIBCUDA: "CUDA initialised on",
    Rung.KERNEL_RAN: "kernel ran on",
    Rung.FRAMEWORK: "framework sees",
    Rung.TRAINED: "trained on",
}


class Level(_OrderedWord):
    """How far a check goes, and so the rung it must reach."""

    LOOK = "look"
    TOUCH = "touch"
    TRAIN = "train"
    FULL = "full"

    @property
    def required_rung(self) -> Rung:
        """The rung that a check of this level must reach."""
        return _REQUIRED_RUNGS[self]


_REQUIRED_RUNGS = {Level.LOOK: Rung.LIBCUDA, Level.TOUCH: Rung.KERNEL_RAN, Level.TRAIN: Rung.TRAINED, Level.FULL: Rung.TRAINED}
