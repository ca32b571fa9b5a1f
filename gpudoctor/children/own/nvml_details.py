"""What the NVML probe reads about a GPU for slow, hot or worn cards and support tickets: board, BAR1, heat, clocks, throttling, spare rows, ECC by place."""

import gpudoctor_answer as answer
from nvml_questions import (
    MAX_BYTES,
    MEMORY,
    SM,
    StructArgument,
    as_bool_pair,
    as_identifier,
    as_number,
    as_signed_number,
    as_text,
    checked_number,
)

# nvml.h: nvmlTemperatureThresholds_t, nvmlInforomObject_t, nvmlMemoryErrorType_t, nvmlEccCounterType_t, nvmlMemoryLocation_t
MEMORY_LIMIT, GPU_LIMIT = 2, 3
OEM, ECC, POWER = 0, 1, 2
CORRECTED, UNCORRECTED, VOLATILE, AGGREGATE, SRAM = 0, 1, 0, 1, 7

BOARD = (
    (("vbios",), (("nvmlDeviceGetVbiosVersion",),), as_text),
    (("inforom",), (("nvmlDeviceGetInforomImageVersion",),), as_text),
    (("inforom_oem",), (("nvmlDeviceGetInforomVersion", OEM),), as_text),
    (("inforom_ecc",), (("nvmlDeviceGetInforomVersion", ECC),), as_text),
    (("inforom_power",), (("nvmlDeviceGetInforomVersion", POWER),), as_text),
    (("board_id",), (("nvmlDeviceGetBoardId",),), as_identifier),
    (("part_number",), (("nvmlDeviceGetBoardPartNumber",),), as_text),
    (("gsp_firmware",), (("nvmlDeviceGetGspFirmwareVersion",),), as_text),
    (("gsp_enabled", "gsp_default"), (("nvmlDeviceGetGspFirmwareMode",),), as_bool_pair),
)
SERIAL = ((("serial",), (("nvmlDeviceGetSerial",),), as_text),)
HEAT = (
    (("memory_limit",), (("nvmlDeviceGetTemperatureThreshold", MEMORY_LIMIT),), as_number),
    (("gpu_limit",), (("nvmlDeviceGetTemperatureThreshold", GPU_LIMIT),), as_number),
    (("margin",), (("nvmlDeviceGetMarginTemperature",),), as_signed_number),
)
CLOCKS = (
    (("sm",), (("nvmlDeviceGetApplicationsClock", SM),), as_number),
    (("sm_default",), (("nvmlDeviceGetDefaultApplicationsClock", SM),), as_number),
    (("memory",), (("nvmlDeviceGetApplicationsClock", MEMORY),), as_number),
    (("memory_default",), (("nvmlDeviceGetDefaultApplicationsClock", MEMORY),), as_number),
)
SINGLE_QUESTIONS = (
    (("link_generation_own",), (("nvmlDeviceGetGpuMaxPcieLinkGeneration",),), as_number),
    (("bar1",), (("nvmlDeviceGetBAR1MemoryInfo",),), lambda value: (bar1_memory(value),)),
    (("spare_rows",), (("nvmlDeviceGetRowRemapperHistogram",),), lambda value: (spare_rows(value),)),
    (("numa_memory",), (("nvmlDeviceGetNumaNodeId",),), as_number),
)
NOT_IDENTIFIED = answer.missing("not-asked", "only read with --identify")

# nvml.h, NVML_FI_DEV_*: all in one call
HELD_FIELDS = {
    "power": 74, "thermal": 75, "sync_boost": 76, "board_limit": 77, "low_utilization": 78, "reliability": 79, "thermal_by_driver": 269,
    "thermal_by_hardware": 270, "power_brake": 271,
}  # fmt: skip
HEAT_FIELDS = {"memory": 82, "shutdown_tlimit": 193, "slowdown_tlimit": 194, "memory_tlimit": 195, "gpu_tlimit": 196}
COUNTS = ("corrected", "uncorrected", "corrected_total", "uncorrected_total")
ECC_FIELDS = {
    "l1": (7, 8, 18, 19), "l2": (9, 10, 20, 21), "memory": (11, 12, 22, 23), "registers": (13, 14, 24, 25), "texture": (15, 16, 26, 27),
    "cbu": (None, 17, None, 28),
}  # fmt: skip


def bar1_memory(value):
    total = checked_number(value.bar1Total, MAX_BYTES)
    return {"type": "bar1", "total": total, "used": checked_number(value.bar1Used, total + 1)}


def spare_rows(value):
    return dict({name: checked_number(getattr(value, name)) for name in ("max", "high", "partial", "low", "none")}, type="spare-rows")


def struct_or_problem(tag, values):
    """A struct of these fields; if the GPU offers none of them, why not."""
    told = [value for value in values.values() if not isinstance(value, dict)]
    return dict(values, type=tag) if told else next(iter(values.values()))


class DetailReader:
    """One GPU's; `ask` is the probe's function that calls NVML, `read` the one that reads fields."""

    NAMES = (
        "link_generation_own",
        "bar1",
        "spare_rows",
        "numa_memory",
        "board",
        "heat",
        "held_back",
        "ecc_places",
        "application_clocks",
        "rack",
    )

    def __init__(self, ask, identify):
        self.ask, self.identify = ask, identify

    def fields(self, ecc_enabled):
        """The fields that `facts` needs; memory errors by place only if ECC is on, by the earlier answers."""
        places = ECC_FIELDS if ecc_enabled is True else {}
        ecc = [field for fields in places.values() for field in fields if field]
        return [*HELD_FIELDS.values(), *HEAT_FIELDS.values(), *ecc]

    def facts(self, ecc_enabled, read):
        """Yield every name of NAMES with its value, each once it is known, with fields from the values read."""
        yield {"held_back": self.held_back(read)}
        for question in SINGLE_QUESTIONS:
            yield self.values([question])
        yield {
            "board": struct_or_problem(
                "gpu-board", self.values(BOARD + SERIAL) if self.identify else dict(self.values(BOARD), serial=NOT_IDENTIFIED)
            )
        }
        yield {"heat": struct_or_problem("heat", dict(self.values(HEAT), **{name: read[field] for name, field in HEAT_FIELDS.items()}))}
        yield {"application_clocks": struct_or_problem("application-clocks", self.values(CLOCKS))}
        yield {"ecc_places": self.ecc_places(read) if ecc_enabled is True else ecc_enabled if isinstance(ecc_enabled, dict) else []}
        yield {"rack": self.rack()}

    def values(self, questions):
        found = {}
        for fields, calls, convert in questions:
            values = self.ask(calls, convert)
            found.update(zip(fields, [values] * len(fields) if isinstance(values, dict) else values))
        return found

    def held_back(self, read):
        return struct_or_problem("held-back", {name: read[field] for name, field in HELD_FIELDS.items()})

    def ecc_places(self, read):
        """The parts that count errors, or why none could be read; on-chip memory as a whole has no field and needs calls."""
        found = {place: [read[field] for field in fields if field] for place, fields in ECC_FIELDS.items()}
        kinds = [(kind, counter) for counter in (VOLATILE, AGGREGATE) for kind in (CORRECTED, UNCORRECTED)]
        found["sram"] = [self.sram(kind, counter) for kind, counter in kinds]
        names = {place: [name for name, field in zip(COUNTS, ECC_FIELDS.get(place, COUNTS)) if field] for place in found}
        offered = [place for place, values in found.items() if not all(is_unsupported(value) for value in values)]
        told = [value for place in offered for value in found[place]]
        if told and all(isinstance(value, dict) for value in told):
            return next(value for value in told if not is_unsupported(value))
        return [dict(zip(names[place], found[place]), type="ecc-place", place=place) for place in offered]

    def sram(self, kind, counter):
        """One count; a mark names the first call, which also sends what was told before."""
        first = (kind, counter) == (CORRECTED, VOLATILE)
        value = self.ask((("nvmlDeviceGetMemoryErrorCounter", kind, counter, SRAM),), as_identifier, quiet=not first)
        return value if isinstance(value, dict) else value[0]

    def rack(self):
        """The newer version of the struct, otherwise the older one, whose fields have other names."""
        calls = [("nvmlDeviceGetPlatformInfo", StructArgument("c_nvmlPlatformInfo_v%d_t" % version)) for version in (2, 1)]
        values = self.ask(calls, lambda value: (self.rack_place(value),))
        return values if isinstance(values, dict) else values[0]

    def rack_place(self, value):
        slot, tray, host = (
            (value.slotNumber, value.trayIndex, value.hostId)
            if hasattr(value, "slotNumber")
            else (value.chassisPhysicalSlotNumber, value.computeSlotIndex, value.nodeIndex)
        )
        numbers = {"slot": slot, "tray": tray, "host": host, "peer": value.peerType, "module": value.moduleId}
        unsaid = answer.missing("unsupported", "this driver does not report the chassis")
        serial = answer.printable_text(value.chassisSerialNumber) if hasattr(value, "chassisSerialNumber") else unsaid
        return dict(
            {name: ord(byte) for name, byte in numbers.items()},
            type="rack-place",
            chassis_serial=serial if self.identify else NOT_IDENTIFIED,
        )


def is_unsupported(value):
    return isinstance(value, dict) and value["cause"] == "unsupported"
