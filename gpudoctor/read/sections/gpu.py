"""One GPU, of what a text states of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpudoctor.matrix import Matrix
from gpudoctor.read.sections.gpu_values import (
    CONFIGURATION_SHIFT,
    FABRIC_ANSWERS,
    FABRIC_HEALTH,
    FAILED_VALUE,
    FIELD_BY_FACT,
    PARSE_ANSWER,
    PARSE_COUNT,
    PARSE_MIB,
    SENSOR_FACTS,
    clock_reason_bits,
    configuration_fault_code,
    parsed_value,
)
from gpudoctor.read.sections.statement_index import NOT_STATED
from gpudoctor.read.statements import Statement
from gpudoctor.snapshot import (
    Cause,
    Fabric,
    GpuProcess,
    Licence,
    MigInstance,
    Missing,
    NvLink,
    NvmlGpu,
    RemappedRows,
    RetiredPages,
    Sram,
    normalise_address,
)
from gpudoctor.status_codes import NvmlError

_BUSY_PERCENT = 10
"""Percent utilisation from which a GPU is not idle; an idle one may have dropped lanes to save power."""
_NARROW_WIDTHS = 4
"""An idle GPU does not drop three of four lanes."""
_MIN_DEAD_SENSORS = 3
"""Sensors that cannot be read of a GPU that no longer answers. One or two fail on healthy GPUs: a fan without a tachometer, a laptop's power."""

GpuFacts = Mapping[str, Statement]


def gpu_of(index: int, facts: GpuFacts, matrix: Matrix, *, starved: bool) -> NvmlGpu:
    """Return the GPU that has the stated facts."""
    name = facts["gpu"].value if "gpu" in facts and not FAILED_VALUE.fullmatch(facts["gpu"].value) else NOT_STATED
    fields: dict[str, Any] = {field: _fact_value(facts, fact, parse) for fact, (field, parse) in FIELD_BY_FACT.items() if fact in facts}
    address = normalise_address(facts["address"].value) if "address" in facts else None
    if "capability" in facts:
        fields["compute_capability"] = facts["capability"].value
    else:
        fields["compute_capability"] = _capability_of_product(name, matrix)
    fields |= _derived_fields(facts, fields)
    fields |= {field: value for field, value in _structured_fields(facts).items() if value is not None}
    if not starved:
        fields.pop("memory_free", None)
    return NvmlGpu(index=index, address=address or NOT_STATED, name=name, **fields)


def _fact_value(facts: GpuFacts, fact: str, parse: Any) -> Any:
    return parsed_value(facts[fact].value, parse)


def _capability_of_product(name: str | Missing, matrix: Matrix) -> str | Missing:
    """Return the compute capability of a product, also of one whose name nvidia-smi cut to its column, or of an unlisted variant."""
    if isinstance(name, Missing):
        return NOT_STATED
    product = matrix.gpu(name) or matrix.gpu_of_cut_name(name) or next(iter(matrix.gpu_family(name)), None)
    return str(product.compute_capability) if product else NOT_STATED


def _derived_fields(facts: GpuFacts, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that several facts decide together."""
    settled: dict[str, Any] = {}
    dead = [fact for fact in SENSOR_FACTS if fact in facts and FAILED_VALUE.fullmatch(facts[fact].value)]
    if len(dead) >= _MIN_DEAD_SENSORS:
        settled["temperature"] = Missing(Cause.LOST, f"nvidia-smi shows {facts[dead[0]].value} for {', '.join(dead)}")
    ecc = facts["ecc"].value if "ecc" in facts else ""
    if "ecc mode" not in facts and ecc:
        settled["ecc_enabled"] = True if ecc.isdecimal() else parsed_value(ecc, PARSE_ANSWER)
    load = fields.get("utilization")
    width, most = fields.get("link_width"), fields.get("link_width_max")
    narrow = isinstance(width, int) and isinstance(most, int) and width <= most / _NARROW_WIDTHS
    if "link_width" in fields and not narrow and not (isinstance(load, int) and load >= _BUSY_PERCENT):
        settled["link_width"] = NOT_STATED
    if "mig devices" in facts and "mig mode" not in facts:
        settled["mig_enabled"] = True
    used, total = fields.get("memory_used"), fields.get("memory_total")
    if isinstance(used, int) and isinstance(total, int):
        settled["memory_free"] = parsed_value(facts["memory free"].value, PARSE_MIB) if "memory free" in facts else max(0, total - used)
    return settled


def _structured_fields(facts: GpuFacts) -> dict[str, Any]:
    """Return the fields that are structures; None where the text states nothing of one."""
    return {
        "compute_processes": _gpu_processes(facts, drawing=False),
        "graphics_processes": _gpu_processes(facts, drawing=True),
        "mig_instances": _mig_instances(facts),
        "nvlinks": tuple(_nvlinks(facts)) or None,
        "ecc_uncorrected": _uncorrected_errors(facts, "volatile"),
        "ecc_uncorrected_total": _uncorrected_errors(facts, "aggregate"),
        "remapped_rows": _remapped_rows(facts),
        "retired_pages": _retired_pages(facts),
        "sram": _sram_errors(facts),
        "recovery_action": _recovery_action(facts),
        "licences": _vgpu_licences(facts),
        "fabric": _gpu_fabric(facts),
        "clocks_event_reasons": _clock_reason_bits(facts),
    }


def _values_by_part(facts: GpuFacts, fact: str) -> dict[str, str]:
    """Return the values of a fact that has parts, by part."""
    return {what.partition("/")[2]: statement.value for what, statement in facts.items() if what.startswith(f"{fact}/")}


def _gpu_processes(facts: GpuFacts, *, drawing: bool) -> tuple[GpuProcess, ...] | None:
    listed = _values_by_part(facts, "process")
    if not listed and "processes" not in facts:
        return None
    found = [(pid, *value.split(" ", 2)) for pid, value in listed.items() if pid.isdecimal() and value.count(" ") > 1]
    return tuple(
        GpuProcess(pid=int(pid), memory=parsed_value(memory, PARSE_MIB), name=_program_name(name))
        for pid, kind, memory, name in found
        if ("C" not in kind) is drawing
    )


def _program_name(name: str) -> str:
    """Return the program of a command line without its folder; empty for one that nvidia-smi does not show."""
    if name.startswith(("[", "N/A", "Unknown Error")):
        return ""
    command = name if "\\" in name else name.split(" ", maxsplit=1)[0]
    return re.split(r"[/\\]", command.rstrip("/\\"))[-1].removeprefix("...")


def _mig_instances(facts: GpuFacts) -> tuple[MigInstance, ...] | None:
    shown, named = _values_by_part(facts, "mig device"), _values_by_part(facts, "mig uuid")
    if not shown and not named:
        return () if "mig devices" in facts else None
    return tuple(_mig_instance(int(place), shown.get(place, ""), named.get(place, "")) for place in sorted({*shown, *named}, key=int))


def _mig_instance(place: int, shown: str, named: str) -> MigInstance:
    parts = re.findall(r"\d+", shown)
    gpu_instance, compute_instance, used, total = parts if len(parts) == 4 else ("", "", "", "")
    profile, _, uuid = named.partition(" ")
    return MigInstance(
        place=place,
        uuid=uuid or NOT_STATED,
        name=profile or NOT_STATED,
        memory_used=int(used) << 20 if used else NOT_STATED,
        memory_total=int(total) << 20 if total else NOT_STATED,
        gpu_instance=int(gpu_instance) if gpu_instance else NOT_STATED,
        compute_instance=int(compute_instance) if compute_instance else NOT_STATED,
    )


def _nvlinks(facts: GpuFacts) -> Iterator[NvLink]:
    for link, state in _values_by_part(facts, "nvlink").items():
        speed = re.match(r"[\d.]+", state)
        yield NvLink(link=int(link), active=speed is not None, speed=round(float(speed[0]) * 1000) if speed else NOT_STATED)


def _uncorrected_errors(facts: GpuFacts, epoch: str) -> int | None:
    counts = [int(value) for value in _values_by_part(facts, f"uncorrected {epoch}").values() if value.isdecimal()]
    return sum(counts) if counts else None


def _stated_count(facts: GpuFacts, fact: str) -> int:
    """Return a number; 0 if it is not stated."""
    value = _fact_value(facts, fact, PARSE_COUNT) if fact in facts else 0
    return value if isinstance(value, int) else 0


def _stated_answer(facts: GpuFacts, fact: str) -> bool | None:
    """Return an answer; None if there is none."""
    answer = _fact_value(facts, fact, PARSE_ANSWER) if fact in facts else None
    return answer if isinstance(answer, bool) else None


def _remapped_rows(facts: GpuFacts) -> RemappedRows | None:
    pending, failed = _stated_answer(facts, "remap pending"), _stated_answer(facts, "remap failed")
    if pending is None and failed is None:
        return None
    return RemappedRows(
        correctable=_stated_count(facts, "remapped correctable"),
        uncorrectable=_stated_count(facts, "remapped uncorrectable"),
        pending=pending is True,
        failed=failed is True,
    )


def _retired_pages(facts: GpuFacts) -> RetiredPages | None:
    pending = _stated_answer(facts, "retirement pending")
    if pending is None:
        return None
    return RetiredPages(
        single_bit=_stated_count(facts, "retired single"), double_bit=_stated_count(facts, "retired double"), pending=pending
    )


def _sram_errors(facts: GpuFacts) -> Sram | None:
    exceeded = _stated_answer(facts, "sram threshold exceeded")
    return None if exceeded is None else Sram(uncorrected_total=_uncorrected_errors(facts, "aggregate") or 0, threshold_exceeded=exceeded)


def _recovery_action(facts: GpuFacts) -> str | None:
    """Return the recovery action that NVML names, or that older releases name by two questions."""
    if "recovery action" in facts:
        action = facts["recovery action"].value.lower().replace(" ", "-")
        return action if re.fullmatch(r"[a-z0-9-]{3,24}", action) else None
    needed, recommended = _stated_answer(facts, "reset required"), _stated_answer(facts, "drain recommended")
    if needed is None and recommended is None:
        return None
    return "reset" if needed else "drain-and-reset" if recommended else "none"


def _vgpu_licences(facts: GpuFacts) -> tuple[Licence, ...] | None:
    if "licence" not in facts:
        return None
    state = facts["licence"].value
    product = facts["licensed product"].value if "licensed product" in facts else "vGPU software"
    return (Licence(product=product, enabled=state != "N/A", licensed=state.startswith("Licensed")),)


def _gpu_fabric(facts: GpuFacts) -> Fabric | Missing | None:
    if "fabric state" not in facts:
        return None
    state = parsed_value(facts["fabric state"].value, _hyphenated)
    if isinstance(state, Missing):
        return state
    return Fabric(
        state=state,
        status=_registration_code(facts),
        clique=_stated_count(facts, "fabric clique"),
        health=_fabric_health(facts),
        summary=_fact_value(facts, "fabric health summary", _hyphenated) if "fabric health summary" in facts else NOT_STATED,
        cluster=_fact_value(facts, "fabric cluster", _uuid_digits) if "fabric cluster" in facts else NOT_STATED,
    )


def _hyphenated(text: str) -> str:
    return text.lower().replace(" ", "-")


def _uuid_digits(text: str) -> str:
    return text.replace("-", "").lower()


def _registration_code(facts: GpuFacts) -> int:
    """Return NVML's code of a GPU's registration with its fabric; UNKNOWN for words that are not in NVML's list."""
    words = facts["fabric status"].value if "fabric status" in facts else ""
    if words in ("Success", "N/A", ""):
        return 0
    return NvmlError.__members__.get(words.upper().replace(" ", "_"), NvmlError.UNKNOWN)


def _fabric_health(facts: GpuFacts) -> int | Missing:
    """Return NVML's health mask of what nvidia-smi prints of it; not stated if it prints none."""
    answers = [(shift, facts[fact].value) for shift, fact in FABRIC_HEALTH.items() if fact in facts]
    mask = sum(FABRIC_ANSWERS.get(answer, 0) << shift for shift, answer in answers)
    if "fabric health configuration" in facts:
        mask |= configuration_fault_code(facts["fabric health configuration"].value) << CONFIGURATION_SHIFT
    return mask or NOT_STATED


def _clock_reason_bits(facts: GpuFacts) -> int | None:
    parts = _values_by_part(facts, "clock reason")
    active = parts.get("active", "")
    if active.startswith("0x"):
        return int(active, 16)
    return clock_reason_bits(parts.items()) if parts else None
