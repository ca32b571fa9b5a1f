"""Dotted versions of drivers, CUDA, cuDNN and interpreters, compared as numbers.

Releases of Python packages follow PEP 440 and are compared with `packaging.version`; these do not ("470.57.02", "9.3.0.75").
"""

import functools
from typing import NamedTuple


class Version(NamedTuple):
    """A dotted version: (major, minor, patch, build); missing parts are 0, and `text` is the original spelling.

    Two versions are equal when their numbers are: "12.0" equals "12.0.0".
    """

    major: int
    minor: int = 0
    patch: int = 0
    build: int = 0
    text: str = ""

    def __str__(self) -> str:
        return self.text or ".".join(str(part) for part in self[:4])

    def __lt__(self, other: tuple[object, ...]) -> bool:
        return self[:4] < other[:4]

    def __le__(self, other: tuple[object, ...]) -> bool:
        return self[:4] <= other[:4]

    def __gt__(self, other: tuple[object, ...]) -> bool:
        return self[:4] > other[:4]

    def __ge__(self, other: tuple[object, ...]) -> bool:
        return self[:4] >= other[:4]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and self[:4] == other[:4]

    def __hash__(self) -> int:
        return hash(self[:4])

    @property
    def short(self) -> str:
        """Major and minor only: "12.4"."""
        return f"{self.major}.{self.minor}"


@functools.lru_cache(maxsize=8192)
def parse_version(text: str) -> Version | None:
    """The version that `text` begins with ("12.5.1", "550.54.15", "9", "12.4 (build 3)"), or None if it does not begin with a digit."""
    numbers: list[int] = []
    for part in text.strip().split(".")[:4]:
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits or len(digits) > 9:
            break
        numbers.append(int(digits))
        if digits != part:
            break
    if not numbers:
        return None
    major, minor, patch, build = (*numbers, 0, 0, 0)[:4]
    return Version(major, minor, patch, build, text.strip())


def from_cuda_integer(number: int) -> Version:
    """The CUDA version in cuda.h's encoding, 1000 x major + 10 x minor: 12040 is 12.4."""
    return Version(number // 1000, number % 1000 // 10, text=f"{number // 1000}.{number % 1000 // 10}")


def is_release_named(release: Version, said: str) -> bool:
    """Return whether `said` is the release, or its first two numbers, as in TensorFlow 2.4."""
    return release.text == said or (said.count(".") == 1 and release.text.startswith(f"{said}."))
