"""GD641: cpu-lacks-avx."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.derive import MachineView, Stack, wheel_platform
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.python.wheels import _compiled
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix.cite import cited
from gpudoctor.snapshot import Details, Framework

_PASS_THROUGH = Fix('Pass the host\'s CPU through to this virtual machine ("host-passthrough", `-cpu host`) and restart it.')


_OTHER_MACHINE = Fix("Train on a machine whose CPU has them.", kind=FixKind.ELSE)


@rule(
    "GD641",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    on_cpu_too=True,
    explains=(Explains(TRAINING_FAILS, "", Join.FRAMEWORK),),
)
def cpu_lacks_avx(framework: Framework, details: Details, stack: Stack, machine: MachineView) -> Iterator[Problem]:
    """The processor lacks instructions that the framework's wheel is built with.

    ## Why it matters
    Published wheels of TensorFlow since 1.6 use AVX, those of jaxlib AVX and since 0.12 AVX2 and others. On a processor without them, or
    in a virtual machine that hides them, the import ends with "Illegal instruction", or says that the library was built to use them. No
    GPU helps.

    ## What to do
    In a virtual machine pass the host's CPU through (`-cpu host`, "host-passthrough"). Otherwise use another machine, or a build without.

    ## References
    - https://github.com/tensorflow/tensorflow/blob/master/RELEASE.md
    - https://github.com/jax-ml/jax/blob/main/jaxlib/cpu_feature_guard.c
    """
    if not wheel_platform.name(machine.observed.host, machine.observed.python).endswith(("x86_64", "amd64")):
        not_applicable("AVX is of x86_64 processors")
    needs = [
        (one, row)
        for one in _compiled(framework, stack)
        if (version := versions.parse(one.version.partition("+")[0])) and (row := machine.matrix.cpu_need(one.name, version))
    ]
    if not needs:
        not_applicable("no table says what its wheels ask of the processor")
    there = need(details.cpu.flags)
    for one, row in needs:
        lacking = [feature for feature in row.features if feature not in there]
        if lacking:
            model = details.cpu.model if isinstance(details.cpu.model, str) else "the processor"
            words = ", ".join(feature.upper() for feature in lacking)
            yield Problem(
                message=f"{one.name} {one.version} needs {words}, which {model} does not show.",
                title="" if "avx" in lacking else f"The CPU lacks {words}, which the framework's wheel is built with",
                evidence=(
                    Evidence("instructions that the wheel needs", " ".join(row.features), cited(row.source, f"{one.name} {row.release}")),
                    Evidence("those of the processor", " ".join(there) or "none of them", "/proc/cpuinfo"),
                ),
                fixes=(_PASS_THROUGH, _OTHER_MACHINE)
                if "hypervisor" in there
                else (msgspec.structs.replace(_OTHER_MACHINE, kind=FixKind.FIX),),
            )
