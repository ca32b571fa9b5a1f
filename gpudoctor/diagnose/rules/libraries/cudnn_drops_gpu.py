from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import FrameworkView, known, not_applicable, not_stated, wheel_platform
from gpudoctor.derive.cuda_libraries import unlike
from gpudoctor.derive.gpu_code import LACKS, Fit, Meeting, runs
from gpudoctor.derive.specifiers import satisfies
from gpudoctor.diagnose.advice.gpu_code import capability_evidence, models
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.rule import TRAINING_FAILS, Explains, Join, rule
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.matrix import CudnnRelease
from gpudoctor.snapshot import Missing
from gpudoctor.versions import Version


@rule(
    "GD411",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    explains=(Explains(TRAINING_FAILS, "Convolutions fail on a GPU that cuDNN has no kernels for.", Join.FRAMEWORK),),
)
def cudnn_drops_gpu(framework: FrameworkView) -> Iterator[Problem]:
    """cuDNN has no kernels for this GPU."""
    found = framework.cudnn
    usable = [meeting for meeting in framework.meetings if meeting.fit not in LACKS]
    loaded = known(found.loaded)
    if isinstance(found.wanted, Version) and unlike(found.wanted, loaded) == "major":
        not_applicable("the installed cuDNN has a different major version")
    code = framework.cudnn_code
    fits = [(meeting, runs(code, meeting.capability) if meeting.capability else Fit.UNKNOWN) for meeting in usable]
    lost = [meeting for meeting, fit in fits if fit in LACKS]
    if lost:
        left = len(lost) < len(usable)
        yield Problem(
            message=f"cuDNN {loaded} has no kernels for {models(lost)}, which {framework.label} supports.",
            severity=Severity.WARNING if found.chosen or left else None,
            only_for=framework.name,
            evidence=(
                Evidence("cuDNN", str(loaded), found.loaded_where),
                Evidence("kernels in it", code.text, code.where),
                *capability_evidence(lost),
            ),
            fixes=(_pin(framework, lost),),
        )
    elif framework.known_meetings and any(fit is Fit.UNKNOWN for _, fit in fits):
        not_stated(f"the kernels in cuDNN {loaded} are not known for every GPU")


def _pin(framework: FrameworkView, lost: list[Meeting]) -> Fix:
    machine, found = framework.machine, framework.cudnn
    wheels = wheel_platform.name(machine.observed.host, machine.observed.python) or wheel_platform.LINUX
    published = machine.matrix.cudnns(framework.cuda.version.major, wheels)
    row = next((row for row in reversed(published) if _fits(row, framework, lost)), None)
    if row is None:
        title = f"Install a {framework.name} whose cuDNN supports this GPU; no cuDNN that {framework.label} accepts does"
        return msgspec.structs.replace(install_framework(machine, framework.name)[0], title=title)
    title = f"Pin cuDNN {row.release}, the newest with kernels for this GPU"
    return install_fix(title, machine.observed.python, f"{found.wheel}=={row.release}")


def _fits(row: CudnnRelease, framework: FrameworkView, lost: list[Meeting]) -> bool:
    """Return whether the framework accepts a cuDNN release that has machine code for the lost GPUs."""
    found = framework.cudnn
    accepted = all(satisfies(str(row.release), demand.requirement.specifier) is not False for demand in found.demands)
    compatible = isinstance(found.wanted, Missing) or not unlike(found.wanted, row.release)
    return accepted and compatible and all(meeting.capability and runs(row, meeting.capability) is Fit.NATIVE for meeting in lost)
