"""Reads `nvidia-smi -q`, as text and as XML (`-x`): both have the same tree of labels, and a line holds one of them.

The XML is not parsed as a document. Its tags are read one by one: what is cut off costs only itself, and no entity is declared or expanded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module

from gpudoctor.expressions import expression
from gpudoctor.read.readers.nvidia_smi_labels import (
    CLOCK_REASON_LABELS,
    GPU_LABELS,
    INSTANCE_LABELS,
    MACHINE_LABELS,
    PROCESS_LABELS,
    UNCORRECTED_LABELS,
)
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Directness, Line, Statement
from gpudoctor.snapshot import normalise_address

QUERY_READER = "nvidia-smi -q"
_QUERY_CUES = (
    *(
        "nvsmi log",
        "attached gpus",
        "nvidia_smi_log",
        "<gpu id=",
        "gpu 0000",
        "fb memory usage",
        "remapped rows",
        "retired pages",
        "ecc errors",
        "ecc mode",
    ),
    *(
        "mig mode",
        "clocks throttle reasons",
        "clocks event reasons",
        "compute mode",
        "gpu link info",
        "gpu current temp",
        "gpu shutdown temp",
        "gpu slowdown temp",
        "gpu reset status",
        "performance state",
        "power readings",
        "power limit",
        "sw power cap",
        "hw slowdown",
        "pcie generation",
        "virtualization mode",
        "licensed product",
        "driver version",
        "kmd version",
        "cuda version",
        "umd version",
        "fabric",
        "recovery action",
        "cliqueid",
        "route unhealthy",
        "<health>",
    ),
)
"""Of an output or an excerpt, in lower case."""
UNKNOWN_GPU = "any"
"""Stands for the number of a GPU that an excerpt does not name."""
_SINGLE_GPU_COMMAND = expression(r"nvidia-smi\b[^|]{0,60}?(?: -i| --id[= ]) ?(?P<gpu>\d{1,3})\b")
_STANDALONE_LABELS = (
    "compute_mode",
    "gpu_current_temp",
    "gpu_shutdown_temp",
    "gpu_slowdown_temp",
    "gpu_recovery_action",
    "performance_state",
)
"""Labels that state a fact of a GPU even in an excerpt without headings."""
_HEADING_BY_LABEL = {
    "enforced_power_limit": "power_readings",
    "current_power_limit": "gpu_power_readings",
    "default_power_limit": "power_readings",
    **dict.fromkeys(
        ("sw_power_cap", "hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown"), CLOCK_REASON_LABELS[0]
    ),
}
"""The heading above a label, which an excerpt may leave out. Driver branches name it differently, with the same last word: readings, reasons."""
_GPU_HEADING = expression(r"^\s*(?:GPU\s+|<gpu id=\")(?P<address>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)(?:\">)?\s*$")
_LABEL_LINE = expression(r"^\s*(?P<label>v?[A-Z][\w .()/-]{0,60}?)(?:\s*:(?:\s+(?P<value>\S.{0,300})|$)|\s*$)")
_XML_ELEMENT = expression(r"<(?P<label>/?[a-zA-Z_]\w{1,60})>(?:(?P<value>[^<]{1,300})</\w{1,60}>)?")
_WORD_FORM = expression(r"[A-Za-z0-9]+")
_INSTANCE_PARTS: tuple[str, ...] = ("gi", "ci", "used", "total")
_PROCESS_PARTS: tuple[str, ...] = ("type", "memory", "name")
_LAST_PARTS = ("used", "total", "memory")
_KNOWN_SECTIONS = {key.partition("/")[0] for key in GPU_LABELS if "/" in key} | set(CLOCK_REASON_LABELS)
_MAX_FOREIGN_LINES = 6
"""Lines in a row without a label, after which the output has ended."""


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    output = _QueryOutput()
    for line in lines:
        for what, value in output.stated(line.text):
            yield Statement(what, value, QUERY_READER, line.number, Directness.TOOL)


def _labels_of_line(text: str) -> Iterator[tuple[str, str]]:
    """Yield the labels of a line with their values; "" for a heading."""
    begins = text.lstrip()[:1]
    if begins == "<":
        html = import_module("html")  # its table of entities takes 2 ms, and little output is XML
        for element in _XML_ELEMENT.finditer(text):
            yield element["label"].lower(), html.unescape(element["value"] or "").strip()
    elif begins == "v" or begins.isupper():
        found = _LABEL_LINE.match(text)
        if found is not None:
            yield "_".join(_WORD_FORM.findall(found["label"])).lower(), (found["value"] or "").strip()


class _QueryOutput:
    """Where in an output a reading is: its GPU, and the last headings."""

    def __init__(self) -> None:
        self.gpu = self.section = self.epoch = ""
        """The epoch of ECC counters: volatile (since the driver was loaded) or aggregate."""
        self.asked = UNKNOWN_GPU
        """The GPU that a command asks about."""
        self.foreign = 0
        self.parts: dict[str, str] = {}
        """Of the process or the MIG instance that is being read."""

    def stated(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield what a line states."""
        gpu = _GPU_HEADING.match(text) if "GPU" in text or "gpu" in text else None
        if gpu is not None:
            self.gpu, self.section, self.parts = normalise_address(gpu["address"]) or "", "", {}
            yield f"address:{self.gpu}", gpu["address"]
            return
        asked = _SINGLE_GPU_COMMAND.search(text) if "nvidia-smi" in text else None
        if asked is not None:
            self.asked = asked["gpu"]
        labels = list(_labels_of_line(text))
        self.foreign = 0 if labels else self.foreign + 1
        if self.foreign > _MAX_FOREIGN_LINES or "</gpu>" in text:
            self.gpu = self.section = ""
        for label, value in labels:
            if self.gpu:
                yield from self._gpu_facts(label, value)
            elif label in MACHINE_LABELS and value[:1].isdigit():
                yield MACHINE_LABELS[label], value.split(" ")[0]
            else:
                yield from self._excerpt_facts(label, value)

    def _gpu_facts(self, label: str, value: str) -> Iterator[tuple[str, str]]:
        if label == "mig_devices" and value == "None":
            yield f"mig devices:{self.gpu}", value
        elif label in ("/processes", "processes") and (label[0] == "/" or value == "None"):
            yield f"processes:{self.gpu}", "complete"
        elif not value:
            self._enter(label)
        elif self.section in ("mig_device", "processes"):
            yield from self._part_facts(label, value)
        elif self.section in CLOCK_REASON_LABELS and value in ("Active", "Not Active"):
            yield f"clock reason:{self.gpu}/{label.removeprefix(self.section[:-1]).strip('_')}", value
        elif self.epoch and (label in UNCORRECTED_LABELS or (self.section, label) == (UNCORRECTED_LABELS[0], "total")):
            yield f"uncorrected {self.epoch}:{self.gpu}/{label}", value
        else:
            fact = GPU_LABELS.get(f"{self.section}/{label}") or GPU_LABELS.get(label)
            if fact is not None:
                yield f"{fact}:{self.gpu}", value

    def _excerpt_facts(self, label: str, value: str) -> Iterator[tuple[str, str]]:
        """Yield what a label states outside the section of a GPU: only what no other program prints."""
        heading = _HEADING_BY_LABEL.get(label, "")
        if heading and self.section.rpartition("_")[2] != heading.rpartition("_")[2]:
            self.section = heading
        if not value:
            self._enter(label)
        elif label in _STANDALONE_LABELS or self.section in _KNOWN_SECTIONS or self.epoch:
            for what, stated in self._gpu_facts(label, value):
                fact, _, place = what.partition(":")
                yield f"{fact}:{self.asked}{place}", stated

    def _enter(self, label: str) -> None:
        """Begin the section of a heading. A process and a MIG instance have sections of their own."""
        if label in ("mig_device", "processes", "process_info"):
            self.section, self.parts = label.replace("process_info", "processes"), {}
        elif label[0] != "/" and self.section != "mig_device":
            self.section = label
        self.epoch = label if label in ("volatile", "aggregate") else self.epoch if label in ("single_bit", "double_bit") else ""

    def _part_facts(self, label: str, value: str) -> Iterator[tuple[str, str]]:
        """Yield a process or MIG instance, once its last part is known. After the instances, the GPU's own facts go on."""
        is_instance = self.section == "mig_device"
        if is_instance and label == "accounting_mode":
            self.section = ""
            return
        part = (INSTANCE_LABELS if is_instance else PROCESS_LABELS).get(label)
        if part == "pid":
            self.parts = {}
        if part is None or part in self.parts:
            return
        self.parts[part] = value.replace(" ", "") if part in _LAST_PARTS else value
        what, key, order = ("mig device", "place", _INSTANCE_PARTS) if is_instance else ("process", "pid", _PROCESS_PARTS)
        if part in _LAST_PARTS and key in self.parts and all(one in self.parts for one in order):
            yield f"{what}:{self.gpu}/{self.parts[key]}", " ".join(self.parts[one] for one in order)


READER = Reader(QUERY_READER, blocks=_statements, cues=_QUERY_CUES)
