"""Reads what `nvidia-smi -L`, `nvidia-smi nvlink -s` and `nvidia-smi topo -m` list: GPUs, MIG instances, NVLinks and the paths between GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "nvidia-smi list"
_GPU_LINE = expression(r"^\W{0,8}GPU (?P<gpu>\d{1,3}): (?P<name>[^(\n]{3,80}?) \(UUID: (?P<uuid>GPU-[0-9a-fA-F-]{8,40})")
_INSTANCE_LINE = expression(r"^\s*MIG (?P<profile>[\w.+]{4,20})\s+Device\s+(?P<place>\d{1,3}): \(UUID: (?P<uuid>MIG-[\w/.-]{3,80})\)?")
_LINK_LINE = expression(r"^\s*Link (?P<link>\d{1,2}): (?P<state>[\d.]{1,8} GB/s|<?inactive>?)\s*$", re.IGNORECASE)
_TOPOLOGY_ROW = expression(
    r"^\s*GPU(?P<gpu>\d{1,3})\s+(?P<cells>(?:X|SYS|NODE|PHB|PXB|PIX|PSB|SOC|NV\d{1,2})(?:\s+(?:X|SYS|NODE|PHB|PXB|PIX|PSB|SOC|NV\d{1,2}))*)"
)


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    gpu = ""
    columns = 0
    for line in lines:
        text = line.text
        listed = _GPU_LINE.match(text) if "UUID: GPU-" in text else None
        if listed is not None:
            gpu = str(int(listed["gpu"]))
            facts = [(f"gpu:{gpu}", listed["name"]), (f"uuid:{gpu}", listed["uuid"])]
        elif gpu and "UUID: MIG-" in text:
            facts = list(_instance_facts(gpu, _INSTANCE_LINE.match(text)))
        elif gpu and "Link " in text:
            found = _LINK_LINE.match(text)
            facts = [(f"nvlink:{gpu}/{found['link']}", found["state"].strip("<>"))] if found else []
        elif "CPU Affinity" in text and text.lstrip().startswith("GPU"):
            columns, facts = len(re.findall(r"\bGPU\d", text)), []
        elif columns and text.lstrip().startswith("GPU"):
            facts = list(_pair_facts(_TOPOLOGY_ROW.match(text), columns))
        else:
            continue
        yield from (Statement(what, value, _NAME, line.number, Directness.TOOL) for what, value in facts)


def _instance_facts(gpu: str, found: re.Match[str] | None) -> Iterator[tuple[str, str]]:
    if found is not None:
        yield f"mig mode:{gpu}", "Enabled"
        yield f"mig uuid:{gpu}/{found['place']}", f"{found['profile']} {found['uuid']}"


def _pair_facts(found: re.Match[str] | None, columns: int) -> Iterator[tuple[str, str]]:
    """Yield how a GPU is connected to those after it."""
    cells = found["cells"].split()[:columns] if found else []
    for other, cell in enumerate(cells):
        if found is not None and cell != "X" and other > int(found["gpu"]):
            yield f"pair:{int(found['gpu'])}/{other}", cell


READER = Reader(_NAME, blocks=_statements)
