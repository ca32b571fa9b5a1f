"""Makes a Snapshot of what a text states. What it does not state is missing as not stated, and causes no finding."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gpudoctor.matrix import Matrix
from gpudoctor.read.sections.device_nodes import stated_device_nodes
from gpudoctor.read.sections.frameworks import stated_frameworks
from gpudoctor.read.sections.gpus import matching_bus, stated_nvml
from gpudoctor.read.sections.host import stated_host, stated_python
from gpudoctor.read.sections.kernel import stated_kernel_driver, stated_kernel_log, stated_kernel_modules
from gpudoctor.read.sections.other_vendors import is_without_nvidia, stated_amd_gpus
from gpudoctor.read.sections.packages import stated_packages, stated_variables
from gpudoctor.read.sections.pci import stated_pci
from gpudoctor.read.sections.remarks import contradiction_remarks, expected_remarks, harmless_line_remarks, unavailable_remarks
from gpudoctor.read.sections.statement_index import NOT_STATED, StatementIndex
from gpudoctor.read.sections.surroundings import (
    stated_container,
    stated_container_tools,
    stated_details,
    stated_fabric_manager,
    stated_limits,
    stated_loader_cache,
)
from gpudoctor.read.sections.text_log import lacks_memory, text_log
from gpudoctor.read.signs import FaultSigns
from gpudoctor.read.statements import Line, Statement
from gpudoctor.snapshot import NOT_ASKED, TEXT, Snapshot, Toolkit

__all__ = ["assembled_snapshot"]


def assembled_snapshot(lines: Sequence[Line], statements: Sequence[Statement], signs: FaultSigns, matrix: Matrix, created: str) -> Snapshot:
    """Return the snapshot of the machine that `statements` and `signs` describe, all of which are in `lines`."""
    stated = StatementIndex(statements)
    machine, bus = stated_host(stated), stated_pci(stated)
    seen = stated_nvml(stated, matrix, bus, starved=lacks_memory(signs))
    snapshot = Snapshot(
        created=created,
        origin=TEXT,
        host=machine,
        details=stated_details(stated),
        container=stated_container(stated),
        container_tools=stated_container_tools(stated),
        loader_cache=stated_loader_cache(stated),
        limits=stated_limits(stated),
        device_nodes=stated_device_nodes(stated),
        fabric_manager=stated_fabric_manager(stated),
        python=stated_python(stated),
        pci=matching_bus(bus, seen),
        nvml=msgspec.structs.replace(seen, gpus=()) if is_without_nvidia(stated, machine) else seen,
        amd=stated_amd_gpus(stated),
        kernel_driver=stated_kernel_driver(stated),
        kernel_modules=stated_kernel_modules(stated),
        kernel_log=stated_kernel_log(statements),
        toolkits=NOT_STATED if stated.get("toolkit") is None else (Toolkit(path="", toolkit_cuda=stated.fact("toolkit")),),
        system_cudnn=stated.fact("cudnn"),
        variables=stated_variables(stated),
        packages=stated_packages(stated),
        frameworks=stated_frameworks(stated, matrix, machine),
        text_log=text_log(lines, statements, signs),
        remarks=(
            *unavailable_remarks(stated),
            *contradiction_remarks(statements, stated),
            *harmless_line_remarks(signs.noise),
            *(() if signs.faults else expected_remarks(lines, stated)),
        ),
    )
    silent = (name for name in Snapshot.__struct_fields__ if getattr(snapshot, name) is NOT_ASKED)
    return msgspec.structs.replace(snapshot, **dict.fromkeys(silent, NOT_STATED))
