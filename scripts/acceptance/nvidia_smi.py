"""Compares what nvidia-smi reports for each GPU with the facts of a snapshot."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from gpudoctor.snapshot import normalise_address

Fact: TypeAlias = tuple[str, str, str, str, str]
"""The GPU, the fact, gpudoctor's value, nvidia-smi's, and equal, different, changed or not comparable."""

MIB: Final = 1 << 20
NOT_THERE: Final = re.compile(r"\[?(N/A|Not Supported|Unknown Error|Insufficient Permissions)\]?", re.IGNORECASE)
UNKNOWN_FIELD: Final = re.compile(r'Field "([^"]+)" is not a valid field')
LINK: Final = re.compile(r"^\s*Link (\d+): (<inactive>|[\d.]+ GB/s)", re.MULTILINE)
CUDA_HEADER: Final = re.compile(r"CUDA(?: \w+)? Version\s*:\s*(\d+\.\d+)")


def _enabled(text: str) -> bool:
    return text == "Enabled"


def _yes(text: str) -> bool:
    return text in {"Yes", "1"}


def _word(text: str) -> str:
    """Return a word as a snapshot spells it: exclusive-process for "Exclusive_Process", not-started for "Not Started"."""
    return text.lower().replace("_", "-").replace(" ", "-")


def _milliwatts(text: str) -> int:
    return round(float(text) * 1000)


@dataclass(frozen=True)
class Counterpart:
    """A fact of the snapshot, with dots for fields of structs, and its counterpart in nvidia-smi.

    A fact that `changes` by itself may differ between two readings.
    """

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
    Counterpart("ecc_pending", "ecc.mode.pending", _enabled),
    Counterpart("ecc_corrected", "ecc.errors.corrected.volatile.total", int, changes=True),
    Counterpart("ecc_uncorrected", "ecc.errors.uncorrected.volatile.total", int),
    Counterpart("ecc_corrected_total", "ecc.errors.corrected.aggregate.total", int, changes=True),
    Counterpart("ecc_uncorrected_total", "ecc.errors.uncorrected.aggregate.total", int),
    Counterpart("retired_pages.single_bit", "retired_pages.single_bit_ecc.count", int),
    Counterpart("retired_pages.double_bit", "retired_pages.double_bit.count", int),
    Counterpart("retired_pages.pending", "retired_pages.pending", _yes),
    Counterpart("remapped_rows.correctable", "remapped_rows.correctable", int),
    Counterpart("remapped_rows.uncorrectable", "remapped_rows.uncorrectable", int),
    Counterpart("remapped_rows.pending", "remapped_rows.pending", _yes),
    Counterpart("remapped_rows.failed", "remapped_rows.failure", _yes),
    Counterpart("recovery_action", "gpu_recovery_action", _word),
    Counterpart("compute_mode", "compute_mode", _word),
    Counterpart("persistence", "persistence_mode", _enabled),
    Counterpart("link_generation", "pcie.link.gen.current", int, changes=True),
    Counterpart("link_generation_max", "pcie.link.gen.max", int),
    Counterpart("link_width", "pcie.link.width.current", int, changes=True),
    Counterpart("link_width_max", "pcie.link.width.max", int),
    Counterpart("clocks_event_reasons", "clocks_event_reasons.active", lambda text: int(text, 16), changes=True),
    Counterpart("performance_state", "pstate", lambda text: int(text.lstrip("P")), changes=True),
    Counterpart("utilization", "utilization.gpu", int, changes=True),
    Counterpart("clock_sm", "clocks.sm", int, changes=True),
    Counterpart("clock_sm_max", "clocks.max.sm", int),
    Counterpart("clock_memory", "clocks.mem", int, changes=True),
    Counterpart("clock_memory_max", "clocks.max.mem", int),
    Counterpart("temperature", "temperature.gpu", int, changes=True),
    Counterpart("power", "power.draw", _milliwatts, changes=True),
    Counterpart("power_limit", "enforced.power.limit", _milliwatts, lambda value: round(value, -1)),
    Counterpart("power_limit_default", "power.default_limit", _milliwatts, lambda value: round(value, -1)),
    Counterpart("power_limit_min", "power.min_limit", _milliwatts, lambda value: round(value, -1)),
    Counterpart("power_limit_max", "power.max_limit", _milliwatts, lambda value: round(value, -1)),
    Counterpart("fabric.state", "fabric.state", _word, changes=True),
)
"""The query names of nvidia-smi 550.163.01; gpu_recovery_action came later."""


def smi(*arguments: str) -> str:
    """Return nvidia-smi's output. Raises OSError without one."""
    done = subprocess.run(["nvidia-smi", *arguments], capture_output=True, text=True, errors="replace", timeout=120, check=False)
    return done.stdout + done.stderr


def queried(fields: Sequence[str], about: str = "gpu") -> tuple[list[dict[str, str]], list[str]]:
    """Return nvidia-smi's values, a dictionary for each GPU (or row of `about`), and the fields that this nvidia-smi lacks."""
    asked, unknown = list(fields), list[str]()
    while True:
        output = smi(f"--query-{about}={','.join(asked)}", "--format=csv,noheader,nounits")
        refused = UNKNOWN_FIELD.search(output)
        if not refused:
            lines = [line.split(", ") for line in output.splitlines() if line.count(", ") == len(asked) - 1]
            return [dict(zip(asked, map(str.strip, line), strict=True)) for line in lines], unknown
        asked.remove(refused[1])
        unknown.append(refused[1])


def is_missing(value: object) -> bool:
    """Return whether a value in a snapshot's JSON is a missing one."""
    return value is None or (isinstance(value, dict) and value.get("type") == "missing")


def compared(mine: Any, text: str, pair: Counterpart) -> tuple[str, str, str]:
    """Return both values as text, and how they compare."""
    shown = mine.get("reason", "") if isinstance(mine, dict) else mine
    if NOT_THERE.fullmatch(text) or is_missing(mine):
        both = bool(NOT_THERE.fullmatch(text)) and is_missing(mine)
        return str(shown), text, "equal" if both else "different"
    ours, its = pair.mine(mine), pair.read(text)
    state = (
        "equal"
        if ours == its or (pair.fact.startswith("power_limit") and abs(ours - its) <= 10)
        else "changed"
        if pair.changes
        else "different"
    )
    return str(ours), str(its), state


def rows() -> tuple[list[dict[str, str]], list[str]]:
    """Return everything nvidia-smi reports for each GPU, and the fields that it lacks."""
    queries = [pair.query for pair in COUNTERPARTS]
    remapped = [query for query in queries if query.startswith("remapped_rows.")]
    found, unknown = queried([query for query in queries if query not in remapped])
    more, without = queried(["gpu_uuid", *remapped], "remapped-rows")
    of_uuid = {row["gpu_uuid"]: row for row in more}
    return [{**row, **of_uuid.get(row["uuid"], {})} for row in found], [*unknown, *without]


def links_up(index: int) -> list[int] | None:
    """Return which NVLinks of a GPU are up; None if nvidia-smi lists none."""
    listed = LINK.findall(smi("nvlink", "--status", "-i", str(index)))
    return [int(link) for link, state in listed if state != "<inactive>"] if listed else None


def computing(uuid: str) -> list[int]:
    """Return the sorted pids of the processes that compute on a GPU."""
    listed, _ = queried(["gpu_uuid", "pid"], "compute-apps")
    return sorted(int(row["pid"]) for row in listed if row["gpu_uuid"] == uuid)


def facts(snapshot: Mapping[str, Any]) -> tuple[list[Fact], int, list[str]]:
    """Return each NVML fact with nvidia-smi's, the number of GPUs in nvidia-smi, and the fields that it lacks."""
    listed, unknown = rows()
    by_address = {normalise_address(row["pci.bus_id"]): row for row in listed}
    found: list[Fact] = []
    for gpu in snapshot["nvml"].get("gpus") or []:
        address = gpu.get("address")
        found += _of_gpu(gpu, by_address.get(address, {}) if isinstance(address, str) else {})
    return found + _of_driver(snapshot), len(listed), unknown


def _of_gpu(gpu: Mapping[str, Any], row: Mapping[str, str]) -> list[Fact]:
    whose = f"GPU {gpu['index']}"
    found: list[Fact] = []
    for pair in COUNTERPARTS:
        values = compared(_inside(gpu, pair.fact), row[pair.query], pair) if pair.query in row else ("", "", "not comparable")
        found.append((whose, pair.fact, *values))
    found += _listed(gpu, whose)
    told = {fact.partition(".")[0] for _, fact, *_ in found}
    return [*found, *((whose, fact, str(gpu[fact])[:60], "", "not comparable") for fact in sorted(set(gpu) - told - {"type", "index"}))]


def _inside(gpu: Mapping[str, Any], fact: str) -> Any:
    """Return the value of a fact, or the missing struct that would hold it."""
    struct, _, field = fact.partition(".")
    value = gpu.get(struct)
    return value if not field or is_missing(value) or value is None else value.get(field)


def _listed(gpu: Mapping[str, Any], whose: str) -> Iterator[Fact]:
    """Return the facts that nvidia-smi reports as lists."""
    links, processes = gpu.get("nvlinks"), gpu.get("compute_processes")
    ours = [link["link"] for link in links if link.get("active") is True] if isinstance(links, list) else None
    its = links_up(gpu["index"])
    yield whose, "nvlinks", str(ours), str(its), "equal" if ours == its else "different"
    if isinstance(processes, list) and isinstance(gpu.get("uuid"), str):
        mine, theirs = sorted(process["pid"] for process in processes), computing(gpu["uuid"])
        yield whose, "compute_processes", str(mine), str(theirs), "equal" if mine == theirs else "changed"


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
