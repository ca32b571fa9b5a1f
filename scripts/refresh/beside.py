"""What packages state of a framework that they run beside and do not require: installers add and compare nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from gpudoctor.frameworks import spec_of
from gpudoctor.versions import Version
from scripts.refresh.common import Wheel
from scripts.refresh.metadata import beside, of_extra


class Beside(NamedTuple):
    """Where a package names the releases of a framework that suit it: in an extra, a module of its wheel, or a table in its description.

    Or by what the modules of a series call, which only these releases of the framework have, or what its README says of a series.
    """

    framework: str
    extra: str = ""
    newer: bool = False
    """Whether releases newer than the extra allows suit it too: its upper bound only keeps tests stable."""
    module: str = ""
    """The end of its path, for releases without that extra; `pattern` finds the oldest release, and the first that is too new if it names one."""
    pattern: str = ""
    """For a table: finds the package's release, or its series, and the framework's."""
    series: Mapping[str, str] = MappingProxyType({})
    """The framework's releases by the package's series."""
    source: tuple[str, ...] = ()
    """Where they are from, if not from the wheel."""


BESIDE = {
    "diffusers": Beside("torch", extra="torch", newer=True),
    # keras/backend/tensorflow_backend.py calls tf.get_default_graph, since 2.3 _TensorLike of tensorflow.python.framework.ops: TensorFlow lost
    # them in 2.0 and 2.3. Keras's notes of 2.3.0 name TensorFlow 1.13.
    "keras": Beside("tensorflow", series={"2.0": "<2.0", "2.1": "<2.0", "2.2": "<2.0", "2.3": "<2.3,>=1.13"}),
    "tensorflow-addons": Beside(
        "tensorflow",
        extra="tensorflow",
        module="/tensorflow_addons/utils/ensure_tf_install.py",
        pattern=r'(?:MIN_TF|required_tensorflow)_VERSION = "([\d.]+)"(?:\nMAX_TF_VERSION = "([\d.]+)")?',
    ),
    "tensorflow-hub": Beside(
        "tensorflow", module="/tensorflow_hub/__init__.py", pattern=r"required_tensorflow_version = ['\"]([\d.]+)['\"]"
    ),
    "tensorflow-io": Beside("tensorflow", extra="tensorflow"),
    "tensorflow-probability": Beside(
        "tensorflow", module="/tensorflow_probability/python/__init__.py", pattern=r"required_tensorflow_version = '(2[\d.]+)'"
    ),
    "torchcodec": Beside("torch", pattern=r"^\| `([\d.]+)` +\| `((?:>=)?[\d.]+)` +\|"),
    "transformers": Beside("torch", extra="torch", newer=True),
    "triton-windows": Beside(
        "torch",
        # its README leaves open whether 3.2 works with later releases of torch
        series={"3.1": "<2.6,>=2.4", "3.2": ">=2.6", "3.3": "==2.7.*", "3.4": "==2.8.*", "3.5": "==2.9.*", "3.6": "==2.10.*"},
        source=("triton-windows-readme",),
    ),
}


def documented(distribution: str) -> tuple[str, ...]:
    """Return the sources, beside its wheels, of what a package states of a framework."""
    return BESIDE[distribution].source if distribution in BESIDE else ()


def stated(wheels: Mapping[Version, Wheel], distribution: str) -> dict[Version, tuple[str, ...]]:
    """Return what each release states of every build of the framework, as PEP 508 without spaces; a table is that of the newest release."""
    one = BESIDE.get(distribution)
    if one is None or not wheels:
        return {}
    spec = spec_of(one.framework)
    names = [name for name in spec.tabled if name in spec.distributions]  # what runs beside one build runs beside all
    return {
        release: tuple(beside(name + text.removeprefix(one.framework)) for text in texts for name in names)
        for release, texts in _of_framework(wheels, one).items()
    }


def _of_framework(wheels: Mapping[Version, Wheel], one: Beside) -> dict[Version, tuple[str, ...]]:
    if one.series:
        return {release: tuple(_of_series(release, one)) for release in wheels}
    if one.extra or one.module:
        return {release: tuple(_of_extra(wheel, one)) or tuple(_of_module(wheel, one)) for release, wheel in wheels.items()}
    rows = re.findall(one.pattern, wheels[max(wheels)].text(".dist-info/METADATA") or "", re.MULTILINE)
    return {release: tuple(_of_table(release, rows, one.framework)) for release in wheels}


def _of_series(release: Version, one: Beside) -> Iterable[str]:
    return (one.framework + bounds for series, bounds in one.series.items() if f"{release}.".startswith(f"{series}."))


def _of_extra(wheel: Wheel, one: Beside) -> Iterable[str]:
    for text in of_extra(wheel.metadata(), one.extra, one.framework) if one.extra else ():
        kept = [bound for bound in text.removeprefix(one.framework).split(",") if not (one.newer and bound.startswith("<"))]
        yield one.framework + ",".join(kept)


def _of_module(wheel: Wheel, one: Beside) -> Iterable[str]:
    text = wheel.text(one.module) if one.module else None
    for found in re.finditer(one.pattern, text, re.IGNORECASE) if text else ():
        oldest, *too_new = filter(None, found.groups())
        yield one.framework + ",".join((*(f"<{release}" for release in too_new), f">={oldest}"))


def _of_table(release: Version, rows: Iterable[tuple[str, str]], framework: str) -> Iterable[str]:
    for series, wanted in rows:
        if f"{release}.".startswith(f"{series}."):
            yield f"{framework}{wanted}" if wanted.startswith(">=") else f"{framework}=={wanted}.*"
