"""Compares gpudoctor's result for an environment with what its frameworks do in it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpudoctor.children.own.xray.components import component
from gpudoctor.diagnose.rules import RULES
from gpudoctor.elf import file as elf_file
from gpudoctor.findings import Rung

REFUSED = ("operation not supported", "no supported devices found for platform CUDA")
"""How a framework that reached the driver fails there: our libcuda refuses cudart's private tables, and XLA needs more than it plays."""
TELLING = ("dlopen", "dso_loader", "cannot open", "stub", "could not find", "unable to load", "outdated", "cuinit", "skipping")
NOT_LOADED = re.compile(r"Could not load dynamic library '([^']+)'")
"""The names in TensorFlow up to 2.15."""
BREAKS = {rule.code: rule.breaks for rule in RULES}


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Of one framework in one environment."""

    framework: str
    version: str
    sees: bool
    """Whether it reached the GPU."""
    words: str
    """Its error if it did not."""
    expects: bool
    """Whether gpudoctor reports no error."""
    findings: tuple[str, ...]
    """gpudoctor's findings except notes: code, name, and the message of those about this framework."""
    differences: tuple[str, ...]
    """Libraries whose file differs between simulation and process."""
    same: int
    """Libraries whose mapped file was predicted exactly."""
    unmapped: tuple[str, ...]
    """Predicted libraries that this run did not reach."""

    @property
    def agrees(self) -> bool:
        """Whether both agree on the GPU and on every file."""
        return not self.differences and self.sees is self.expects


def compare(framework: str, witness: dict[str, Any], report: dict[str, Any], xray: dict[str, Any]) -> Comparison:
    """`witness` is witness.py's output with the log under "log"; `report` and `xray` are gpudoctor's documents."""
    others = {one["framework"] for one in _frameworks(xray)} - {framework}
    found = [one for one in report["findings"] if one["severity"] != "note" and one["subject"]["key"] not in others]
    differences, same, unmapped = files(framework, witness, xray)
    return Comparison(
        framework=framework,
        version=witness["version"] or "",
        sees=sees(witness),
        words="" if sees(witness) else words(witness),
        expects=not any(BREAKS[one["code"]] < Rung.TRAINED for one in found if one["severity"] == "error" or one["subject"]["key"]),
        findings=tuple(f"{one['code']} {one['name']}: {one['message']}" for one in found),
        differences=tuple(differences),
        same=same,
        unmapped=tuple(unmapped),
    )


def _frameworks(xray: dict[str, Any]) -> list[dict[str, Any]]:
    return list(xray["libraries"].get("frameworks", ()))


def sees(witness: dict[str, Any]) -> bool:
    """Whether the framework reached the GPU, or failed only where our libcuda plays no further."""
    return bool(witness["gpus"]) or any(text in (witness["error"] or "") for text in REFUSED)


def words(witness: dict[str, Any]) -> str:
    """The framework's reason for seeing no GPU."""
    lines = (line.partition("] ")[2] or line for line in witness["log"].splitlines())
    said = [line.strip() for line in lines if any(word in line.lower() for word in TELLING)]
    return " · ".join(dict.fromkeys(filter(None, (witness["error"], *said[:2])))) or "no GPU, and no word"


def files(framework: str, witness: dict[str, Any], xray: dict[str, Any]) -> tuple[list[str], int, list[str]]:
    """Differences between predicted and mapped files; the number of equal ones; those not mapped."""
    mapped: dict[str, set[str]] = {}
    everything = {os.path.realpath(path) for path in witness["mapped"]}
    for path in witness["mapped"]:
        name = soname(path)
        if component(name) is not None:
            mapped.setdefault(name, set()).add(os.path.realpath(path))
    differences, unmapped, same = [], [], 0
    seen = next((one for one in _frameworks(xray) if one["framework"] == framework), None)
    for use in (one for one in (seen["uses"] if seen else ()) if one["asking"] in {"linked", "opened"}):
        real = mapped.pop(use["wanted"], set())
        taken = use["file"].get("path")
        if taken is None:
            differences += [f"{use['wanted']}: found nowhere, and mapped from {path}" for path in real]
        elif _real(taken) in real:
            same += 1
        elif real:
            differences.append(f"{use['wanted']}: {taken} expected, {', '.join(sorted(real))} mapped")
        else:
            unmapped.append(use["wanted"])
    unfound = {use["wanted"] for use in (seen["uses"] if seen else ()) if use["vital"] and use["file"].get("path") is None}
    said = set(NOT_LOADED.findall(witness["log"]))
    differences += [f"{name}: only one of both says that it is not found" for name in sorted(unfound ^ said if said else ())]
    if sees(witness):
        vital = {use["wanted"] for use in (seen["uses"] if seen else ()) if use["vital"]}
        differences += [f"{name}: vital, and not mapped though the GPU is seen" for name in unmapped if name in vital]
    also = {_real(path) for path in (seen or {}).get("also_loaded", ())}
    differences += [f"{name}: not foreseen, and mapped from {', '.join(sorted(real))}" for name, real in mapped.items() if not real <= also]
    differences += [f"{path}: said to be loaded too, and is not mapped" for path in sorted(also - everything)]
    return differences, same, unmapped


def _real(path: str) -> str:
    """A report's path, which has ~ for the home folder, as it would be mapped."""
    return os.path.realpath(Path(path).expanduser())


def soname(path: str) -> str:
    """The soname of a mapped file."""
    try:
        return elf_file.read_elf_file(path).soname or Path(path).name
    except (OSError, elf_file.NotElf):
        return Path(path).name
