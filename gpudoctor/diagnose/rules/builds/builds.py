"""GD5: whether a framework's build holds code for the GPUs that are there."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import EffectiveCode, MachineView, Meetings
from gpudoctor.derive.code import PTX_REFUSED, Fit
from gpudoctor.diagnose.advice.gpu_code import code_evidence, models
from gpudoctor.diagnose.advice.installing import install, install_framework
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.releases import pick
from gpudoctor.diagnose.build_facts import remains, tell
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Severity
from gpudoctor.matrix.cite import cited
from gpudoctor.snapshot import Framework

_CONTAINER = "https://catalog.ngc.nvidia.com/orgs/nvidia/containers/tensorflow"


def _no_code(fit: Fit, framework: Framework, meetings: Meetings, code: EffectiveCode, machine: MachineView) -> Iterator[Problem]:
    lost = meetings.lacking(fit)
    if not lost:
        tell(meetings, framework)
        return
    refused = [one for one in machine.faults(framework) if fit is Fit.TOO_NEW and one.fault == PTX_REFUSED]
    but = ", and its PTX does not load there (CUDA_ERROR_INVALID_PTX)" if refused else ""
    yield Problem(
        message=f"{framework.label} has no kernels for {models(lost)}: it has {code.text}{but}.",
        severity=Severity.WARNING if remains(meetings, lost) else None,
        only_for=framework.name,
        evidence=(
            *code_evidence(code, lost),
            *(Evidence("its PTX", f"refused from compute capability {one.oldest_capability} on", cited(one.source)) for one in refused),
        ),
        fixes=_other_builds(framework, machine, fit),
    )


def _other_builds(framework: Framework, machine: MachineView, fit: Fit) -> tuple[Fix, ...]:
    """The newest release with code for every GPU, and the same one built for another CUDA where that has it."""
    same = pick(machine, framework.name, prefer=framework.release)
    newest = install_framework(machine, framework.name)
    if fit is Fit.TOO_NEW and framework.name == "tensorflow" and pick(machine, framework.name, any_driver=True, any_python=True) is None:
        container = Fix(f"Use NVIDIA's TensorFlow container, whose build has kernels for it: {_CONTAINER}", needs=(DOWNLOAD,))
        return (container, *(msgspec.structs.replace(fix, kind=FixKind.INSTEAD) for fix in newest))
    if same is None or same.release != framework.release:
        return newest
    first = install(machine, framework.name, same, title=f"Install {same.name}, which has code for it")
    other = tuple(msgspec.structs.replace(fix, kind=FixKind.INSTEAD) for fix in newest if fix.command != first.command)
    return (first, *other)
