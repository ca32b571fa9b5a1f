"""Upgrades a snapshot of an older minor version to today's fields: the only place that parses what used to be a sentence.

Fields that already exist are kept, so a snapshot written again under its old version stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Plain = dict[str, Any]
_CONVOLUTIONAL = "convolutional "
_STATED = "stated: "
_LOADED = ("nvml", "libcuda", "libcuda_unmasked")
_UNLOADABLE = ("wrong ELF class", "invalid ELF header", "file too short", "Exec format error")


def upgraded_snapshot(snapshot: Plain) -> Plain:
    """The same snapshot in today's format, changed in place."""
    for name in _LOADED:
        _upgrade_unloadable(snapshot.get(name))
    for thing in _json_objects(snapshot):
        for change in _CHANGES.get(str(thing.get("type")), ()):
            change(thing)
    return snapshot


def _json_objects(value: object) -> Iterator[Plain]:
    """Every JSON object in a value, at any depth."""
    if isinstance(value, dict):
        yield value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        yield from _json_objects(part)


def _upgrade_unloadable(section: object) -> None:
    """1.3: a library that this process cannot load has its own cause."""
    if isinstance(section, dict) and section.get("cause") == "failed" and any(words in str(section.get("reason")) for words in _UNLOADABLE):
        section["cause"] = "unloadable"


def _upgrade_stage(stage: Plain) -> None:
    """1.3: what was "convolutional training on GPU:0" has a kind, a network and a device."""
    kind, _, device = str(stage.get("name")).partition(" on ")
    stage["name"], network = _kind_and_network(kind)
    if device:
        stage["device"] = device
    if network:
        stage.setdefault("network", network)


def _upgrade_stage_load(load: Plain) -> None:
    load["stage"], network = _kind_and_network(str(load.get("stage")))
    if network:
        load.setdefault("network", network)


def _kind_and_network(kind: str) -> tuple[str, str]:
    bare = kind.removeprefix(_CONVOLUTIONAL)
    dense = "dense" if bare in {"training", "agreement"} else ""
    return bare, dense if bare == kind else "convolutional"


def _upgrade_smoke(smoke: Plain) -> None:
    """1.3: a skipped GPU is named apart from the reason."""
    if "skipped" in smoke:
        pairs = (str(text).partition(": ") for text in smoke.pop("skipped"))
        smoke["left_alone"] = [{"type": "left-alone", "gpu": gpu, "reason": reason} for gpu, _, reason in pairs]


def _upgrade_distribution(distribution: Plain) -> None:
    """1.3: what the user asked for has its own field in an assumed environment."""
    where = str(distribution.get("where"))
    if where.startswith(_STATED):
        distribution["requirement"] = where.removeprefix(_STATED)


def _upgrade_python(python: Plain) -> None:
    """1.3: whether the user named the interpreter."""
    if python.get("why") == "named with --python":
        python["named"] = True


def _upgrade_allocation(allocation: Plain) -> None:
    """1.3: whether Slurm hides the device files."""
    if str(allocation.get("gpus_where")).endswith("NoDevFiles"):
        allocation["hidden"] = True


def _upgrade_place(place: Plain) -> None:
    """1.3: what led to a file is separate from its description."""
    why = str(place.get("why"))  # the words that gpudoctor wrote before 1.3, where nothing else records the way
    ways = {
        "rpath": why.startswith("DT_RPATH"),
        "runpath": why.startswith("DT_RUNPATH"),
        "ld-library-path": why.endswith("LD_LIBRARY_PATH"),
        "wheel": why == "wheel",
        "variable": why in {"TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"},
    }
    way = next((way for way, led in ways.items() if led), "")
    if way:
        place.setdefault("found_by", way)


def _upgrade_owner(file: Plain) -> None:
    """1.3: several possible owners are listed."""
    owners = str(file.get("owner")).split(" or ")
    if len(owners) > 1:
        file.setdefault("owners", owners)


_CHANGES: dict[str, tuple[Callable[[Plain], None], ...]] = {
    "stage": (_upgrade_stage,),
    "stage-load": (_upgrade_stage_load,),
    "smoke": (_upgrade_smoke,),
    "distribution": (_upgrade_distribution,),
    "python": (_upgrade_python,),
    "allocation": (_upgrade_allocation,),
    "place": (_upgrade_place,),
    "library-use": (_upgrade_place,),
    "library-file": (_upgrade_owner,),
    "damage": (_upgrade_owner,),
}
