"""What nvidia-smi says of each GPU, held against the facts of a snapshot."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from gpudoctor.snapshot import normalise_address

Fact: TypeAlias = tuple[str, str, str, str, str]
"""Whose, which fact, gpudoctor's value, nvidia-smi's, and equal, different, changed or not comparable."""

MIB: Final = 1 << 20
NOT_THERE: Final = re.compile(r"\[?(N/A|Not Supported|Unknown Error|Insufficient Permissions)\]?", re.IGNORECASE)
UNKNOWN_FIELD: Final = re.compile(r'Field "([^"]+)" is not a valid field')
CUDA_HEADER: Final = re.compile(r"CUDA(?: \w+)? Version\s*:\s*(\d+\.\d+)")


def _enabled(text: str) -> bool:
    return text == "Enabled"


def _milliwatts(text: str) -> int:
    return round(float(text) * 1000)


@dataclass(frozen=True)
class Counterpart:
    """A fact of the snapshot and where nvidia-smi says the same. A fact that `changes` by itself may differ between two readings."""

    fact: str
    query: str
    read: Callable[[str], Any] = str
    mine: Callable[[Any], Any] = lambda value: value
    changes: bool = False


COUNTERPARTS: Final = (
    Counterpart("name", "name"),
    Counterpart("uuid", "uuid"),
    Counterpart("address", "pci.bus_id", normalise_address),
    Counterpart("compute_capability", "compute_cap"),
    Counterpart("memory_total", "memory.total", int, lambda value: value // MIB),
    Counterpart("memory_used", "memory.used", int, lambda value: value // MIB, changes=True),
    Counterpart("memory_free", "memory.free", int, lambda value: value // MIB, changes=True),
    Counterpart("mig_enabled", "mig.mode.current", _enabled),
    Counterpart("mig_pending", "mig.mode.pending", _enabled),
    Counterpart("ecc_enabled", "ecc.mode.current", _enabled),
    Counterpart("ecc_uncorrected", "ecc.errors.uncorrected.volatile.total", int),
    Counterpart("compute_mode", "compute_mode", lambda text: text.lower().replace("_", "-")),
    Counterpart("persistence", "persistence_mode", _enabled),
    Counterpart("link_generation", "pcie.link.gen.current", int, changes=True),
    Counterpart("link_generation_max", "pcie.link.gen.max", int),
    Counterpart("link_width", "pcie.link.width.current", int, changes=True),
    Counterpart("link_width_max", "pcie.link.width.max", int),
    Counterpart("clocks_event_reasons", "clocks_event_reasons.active", lambda text: int(text, 16), changes=True),
    Counterpart("temperature", "temperature.gpu", int, changes=True),
    Counterpart("power", "power.draw", _milliwatts, changes=True),
    Counterpart("power_limit", "enforced.power.limit", _milliwatts, lambda value: round(value, -1)),
)


def smi(*arguments: str) -> str:
    """Return what nvidia-smi writes; OSError where there is none."""
    done = subprocess.run(["nvidia-smi", *arguments], capture_output=True, text=True, errors="replace", timeout=120, check=False)
    return done.stdout + done.stderr


def queried(fields: Sequence[str]) -> tuple[list[dict[str, str]], list[str]]:
    """Return nvidia-smi's values, a dictionary for each GPU, and the fields that this nvidia-smi does not know."""
    asked, unknown = list(fields), list[str]()
    while True:
        output = smi(f"--query-gpu={','.join(asked)}", "--format=csv,noheader,nounits")
        refused = UNKNOWN_FIELD.search(output)
        if not refused:
            lines = [line.split(", ") for line in output.splitlines() if line.count(", ") == len(asked) - 1]
            return [dict(zip(asked, map(str.strip, line), strict=True)) for line in lines], unknown
        asked.remove(refused[1])
        unknown.append(refused[1])


def is_missing(value: object) -> bool:
    """Whether a value of a snapshot's JSON stands for a missing one."""
    return value is None or (isinstance(value, dict) and value.get("type") == "missing")


def compared(mine: Any, text: str, pair: Counterpart) -> tuple[str, str, str]:
    """Return both values in words, and what they are to each other."""
    shown = mine.get("reason", "") if isinstance(mine, dict) else mine
    if NOT_THERE.fullmatch(text) or is_missing(mine):
        both = bool(NOT_THERE.fullmatch(text)) and is_missing(mine)
        return str(shown), text, "equal" if both else "different"
    ours, its = pair.mine(mine), pair.read(text)
    state = "equal" if ours == its or (pair.fact == "power_limit" and abs(ours - its) <= 10) else "changed" if pair.changes else "different"
    return str(ours), str(its), state


def facts(snapshot: Mapping[str, Any]) -> tuple[list[Fact], int, list[str]]:
    """Return each NVML fact beside nvidia-smi's, how many GPUs that lists, and the fields that it does not know."""
    rows, unknown = queried([pair.query for pair in COUNTERPARTS])
    by_address = {normalise_address(row["pci.bus_id"]): row for row in rows}
    found: list[Fact] = []
    for gpu in snapshot["nvml"].get("gpus") or []:
        address = gpu.get("address")
        found += _of_gpu(gpu, by_address.get(address, {}) if isinstance(address, str) else {})
    return found + _of_driver(snapshot), len(rows), unknown


def _of_gpu(gpu: Mapping[str, Any], row: Mapping[str, str]) -> list[Fact]:
    whose = f"GPU {gpu['index']}"
    found: list[Fact] = []
    for pair in COUNTERPARTS:
        values = compared(gpu.get(pair.fact), row[pair.query], pair) if pair.query in row else ("", "", "not comparable")
        found.append((whose, pair.fact, *values))
    others = sorted(set(gpu) - {pair.fact for pair in COUNTERPARTS} - {"type", "index"})
    return [*found, *((whose, fact, str(gpu[fact])[:60], "", "not comparable") for fact in others)]


def _of_driver(snapshot: Mapping[str, Any]) -> list[Fact]:
    versions, header = queried(["driver_version", "name"])[0], CUDA_HEADER.search(smi())
    driver, cuda = versions[0]["driver_version"] if versions else "", header[1] if header else ""
    wholes = {
        "nvml.driver_version": (snapshot["nvml"].get("driver_version"), driver),
        "kernel_driver.version": (snapshot["kernel_driver"].get("version", {}).get("value"), driver),
        "nvml.cuda_served": (snapshot["nvml"].get("cuda_served"), cuda),
        "libcuda.cuda_served": (snapshot["libcuda"].get("cuda_served"), cuda),
    }
    return [
        ("driver", fact, str(ours), its, "equal" if ours == its else "different" if its else "not comparable")
        for fact, (ours, its) in wholes.items()
    ]
