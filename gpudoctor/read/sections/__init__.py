"""Makes a Snapshot of what a text states. What it does not state is missing as not stated, and causes no finding."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gpudoctor.matrix import Matrix
from gpudoctor.read.sections.frameworks import frameworks
from gpudoctor.read.sections.gpus import matching, nvml
from gpudoctor.read.sections.host import host, python
from gpudoctor.read.sections.kernel import kernel_driver, kernel_log, kernel_modules
from gpudoctor.read.sections.nodes import device_nodes
from gpudoctor.read.sections.other_vendors import amd, without_nvidia
from gpudoctor.read.sections.packages import packages, variables
from gpudoctor.read.sections.pci import pci
from gpudoctor.read.sections.remarks import contradictions, expected, harmless_lines, unavailable
from gpudoctor.read.sections.stated import NOT_STATED, Stated
from gpudoctor.read.sections.surroundings import container, container_tools, details, fabric_manager, limits, loader_cache
from gpudoctor.read.sections.text_log import lacks_memory, text_log
from gpudoctor.read.signs import Signs
from gpudoctor.read.statements import Line, Statement
from gpudoctor.snapshot import NOT_ASKED, TEXT, Snapshot, Toolkit

__all__ = ["assemble"]


def assemble(lines: Sequence[Line], statements: Sequence[Statement], signs: Signs, matrix: Matrix, created: str) -> Snapshot:
    """Return the snapshot of the machine that `statements` and `signs` describe, all of which are in `lines`."""
    stated = Stated(statements)
    machine, bus = host(stated), pci(stated)
    seen = nvml(stated, matrix, bus, starved=lacks_memory(signs))
    snapshot = Snapshot(
        created=created,
        origin=TEXT,
        host=machine,
        details=details(stated),
        container=container(stated),
        container_tools=container_tools(stated),
        loader_cache=loader_cache(stated),
        limits=limits(stated),
        device_nodes=device_nodes(stated),
        fabric_manager=fabric_manager(stated),
        python=python(stated),
        pci=matching(bus, seen),
        nvml=msgspec.structs.replace(seen, gpus=()) if without_nvidia(stated, machine) else seen,
        amd=amd(stated),
        kernel_driver=kernel_driver(stated),
        kernel_modules=kernel_modules(stated),
        kernel_log=kernel_log(statements),
        toolkits=NOT_STATED if stated.get("toolkit") is None else (Toolkit(path="", toolkit_cuda=stated.fact("toolkit")),),
        system_cudnn=stated.fact("cudnn"),
        variables=variables(stated),
        packages=packages(stated),
        frameworks=frameworks(stated, matrix, machine),
        text_log=text_log(lines, statements, signs),
        remarks=(
            *unavailable(stated),
            *contradictions(statements, stated),
            *harmless_lines(signs.noise),
            *(() if signs.faults else expected(lines, stated)),
        ),
    )
    silent = (name for name in Snapshot.__struct_fields__ if getattr(snapshot, name) is NOT_ASKED)
    return msgspec.structs.replace(snapshot, **dict.fromkeys(silent, NOT_STATED))
