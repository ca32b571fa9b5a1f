"""What packages state of a framework that they run beside and do not require: installers add and compare nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gpudoctor.versions import Version
from scripts.refresh.common import Wheel
from scripts.refresh.metadata import of_extra


class Beside(NamedTuple):
    """Where a package names the releases of a framework that suit it: in an extra, a module of its wheel, or a table in its description."""

    framework: str
    extra: str = ""
    newer: bool = False
    """Whether releases newer than the extra allows suit it too: its upper bound only keeps tests stable."""
    module: str = ""
    """The end of its path; `pattern` finds the oldest release."""
    pattern: str = ""
    """For a table: finds the package's release, or its series, and the framework's."""


BESIDE = {
    "diffusers": Beside("torch", extra="torch", newer=True),
    "tensorflow-addons": Beside("tensorflow", extra="tensorflow"),
    "tensorflow-io": Beside("tensorflow", extra="tensorflow"),
    "tensorflow-probability": Beside(
        "tensorflow", module="/tensorflow_probability/python/__init__.py", pattern=r"required_tensorflow_version = '(2[\d.]+)'"
    ),
    "torchcodec": Beside("torch", pattern=r"^\| `([\d.]+)` +\| `((?:>=)?[\d.]+)` +\|"),
    "transformers": Beside("torch", extra="torch", newer=True),
}


def stated(wheels: Mapping[Version, Wheel], distribution: str) -> dict[Version, tuple[str, ...]]:
    """Return what each release states, as PEP 508 without spaces; a table is that of the newest release."""
    one = BESIDE.get(distribution)
    if one is None or not wheels:
        return {}
    if one.extra:
        return {release: tuple(_of_extra(wheel.metadata(), one)) for release, wheel in wheels.items()}
    if one.module:
        texts = {release: wheel.text(one.module) or "" for release, wheel in wheels.items()}
        return {release: tuple(f"{one.framework}>={found}" for found in re.findall(one.pattern, text)) for release, text in texts.items()}
    rows = re.findall(one.pattern, wheels[max(wheels)].text(".dist-info/METADATA") or "", re.MULTILINE)
    return {release: tuple(_of_table(release, rows, one.framework)) for release in wheels}


def _of_extra(metadata: str, one: Beside) -> Iterable[str]:
    for text in of_extra(metadata, one.extra, one.framework):
        kept = [bound for bound in text.removeprefix(one.framework).split(",") if not (one.newer and bound.startswith("<"))]
        yield one.framework + ",".join(kept)


def _of_table(release: Version, rows: Iterable[tuple[str, str]], framework: str) -> Iterable[str]:
    for series, wanted in rows:
        if f"{release}.".startswith(f"{series}."):
            yield f"{framework}{wanted}" if wanted.startswith(">=") else f"{framework}=={wanted}.*"
