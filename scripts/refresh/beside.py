"""What packages state of a framework that they run beside and do not require: installers add and compare nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from gpudoctor.frameworks import spec_of
from gpudoctor.versions import Version
from scripts.refresh.common import Wheel
from scripts.refresh.metadata import of_extra


class Beside(NamedTuple):
    """Where a package names the releases of a framework that suit it: in an extra, a module of its wheel, or a table in its description.

    Or by what the modules of a series call, which only these releases of the framework have.
    """

    framework: str
    extra: str = ""
    newer: bool = False
    """Whether releases newer than the extra allows suit it too: its upper bound only keeps tests stable."""
    module: str = ""
    """The end of its path; `pattern` finds the oldest release."""
    pattern: str = ""
    """For a table: finds the package's release, or its series, and the framework's."""
    series: Mapping[str, str] = MappingProxyType({})
    """The framework's releases by the package's series."""


BESIDE = {
    "diffusers": Beside("torch", extra="torch", newer=True),
    # keras/backend/tensorflow_backend.py calls tf.get_default_graph, since 2.3 _TensorLike of tensorflow.python.framework.ops: TensorFlow lost
    # them in 2.0 and 2.3. Keras's notes of 2.3.0 name TensorFlow 1.13.
    "keras": Beside("tensorflow", series={"2.0": "<2.0", "2.1": "<2.0", "2.2": "<2.0", "2.3": "<2.3,>=1.13"}),
    "tensorflow-addons": Beside("tensorflow", extra="tensorflow"),
    "tensorflow-io": Beside("tensorflow", extra="tensorflow"),
    "tensorflow-probability": Beside(
        "tensorflow", module="/tensorflow_probability/python/__init__.py", pattern=r"required_tensorflow_version = '(2[\d.]+)'"
    ),
    "torchcodec": Beside("torch", pattern=r"^\| `([\d.]+)` +\| `((?:>=)?[\d.]+)` +\|"),
    "transformers": Beside("torch", extra="torch", newer=True),
}


def stated(wheels: Mapping[Version, Wheel], distribution: str) -> dict[Version, tuple[str, ...]]:
    """Return what each release states of every build of the framework, as PEP 508 without spaces; a table is that of the newest release."""
    one = BESIDE.get(distribution)
    if one is None or not wheels:
        return {}
    spec = spec_of(one.framework)
    names = [name for name in spec.tabled if name in spec.distributions]  # what runs beside one build runs beside all
    return {
        release: tuple(name + text.removeprefix(one.framework) for text in texts for name in names)
        for release, texts in _of_framework(wheels, one).items()
    }


def _of_framework(wheels: Mapping[Version, Wheel], one: Beside) -> dict[Version, tuple[str, ...]]:
    if one.series:
        return {release: tuple(_of_series(release, one)) for release in wheels}
    if one.extra:
        return {release: tuple(_of_extra(wheel.metadata(), one)) for release, wheel in wheels.items()}
    if one.module:
        texts = {release: wheel.text(one.module) or "" for release, wheel in wheels.items()}
        return {release: tuple(f"{one.framework}>={found}" for found in re.findall(one.pattern, text)) for release, text in texts.items()}
    rows = re.findall(one.pattern, wheels[max(wheels)].text(".dist-info/METADATA") or "", re.MULTILINE)
    return {release: tuple(_of_table(release, rows, one.framework)) for release in wheels}


def _of_series(release: Version, one: Beside) -> Iterable[str]:
    return (one.framework + bounds for series, bounds in one.series.items() if f"{release}.".startswith(f"{series}."))


def _of_extra(metadata: str, one: Beside) -> Iterable[str]:
    for text in of_extra(metadata, one.extra, one.framework):
        kept = [bound for bound in text.removeprefix(one.framework).split(",") if not (one.newer and bound.startswith("<"))]
        yield one.framework + ",".join(kept)


def _of_table(release: Version, rows: Iterable[tuple[str, str]], framework: str) -> Iterable[str]:
    for series, wanted in rows:
        if f"{release}.".startswith(f"{series}."):
            yield f"{framework}{wanted}" if wanted.startswith(">=") else f"{framework}=={wanted}.*"
