"""GD411: cudnn-drops-gpu."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Component, EffectiveCuda, MachineView, Meetings, wheel_platform
from gpudoctor.derive.code import LACKS, Fit, Meeting, runs, spelt
from gpudoctor.derive.components import unlike, with_code
from gpudoctor.derive.specifiers import satisfies
from gpudoctor.diagnose.advice.gpu_code import models
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.build_facts import met, tell
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.libraries.cudnn import _cudnn
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import CudnnRelease
from gpudoctor.snapshot import Cause, Framework, Missing, Python
from gpudoctor.versions import Version


@rule(
    "GD411",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(Explains(TRAINING_FAILS, "", Join.FRAMEWORK),),
)
def cudnn_drops_gpu(
    framework: Framework, effective: EffectiveCuda | Missing, meetings: Meetings | Missing, machine: MachineView, python: Python | Missing
) -> Iterator[Problem]:
    """The cuDNN that would be loaded has no code for this GPU, though the framework has.

    ## Why it matters
    CuDNN is a package of its own with its own list of GPUs: newer releases leave out architectures that the framework still supports, and
    older ones do not know the newest. Convolutions then end with CUDNN_STATUS_ARCH_MISMATCH, CUDNN_STATUS_EXECUTION_FAILED or "no
    kernel image is available". An installer takes the newest cuDNN that the framework's bounds allow, whatever the GPU.

    Where nobody named the version, it is a warning: pin it.

    ## What to do
    Pin the newest cuDNN that has code for the GPU and that the framework accepts.

    ## References
    - https://docs.nvidia.com/deeplearning/cudnn/backend/latest/reference/support-matrix.html
    """
    cuda, found = _cudnn(framework, effective, machine)
    usable = met(meetings)
    loaded = need(found.loaded)
    if isinstance(found.wanted, Version) and unlike(found.wanted, loaded) == "major":
        not_applicable("the cuDNN that is there is of another major release")
    code = need(with_code(found, cuda, machine.observed, machine.matrix).code)
    fits = [(one, runs(code, one.capability) if one.capability else Fit.UNKNOWN) for one in usable if one.fit not in LACKS]
    lost = [one for one, fit in fits if fit in LACKS]
    if not lost:
        tell(usable, framework)
        if any(fit is Fit.UNKNOWN for _, fit in fits):
            need(Missing(Cause.NOT_STATED, f"whether cuDNN {loaded} holds code for every GPU is not known"))
        return
    left = any(fit not in LACKS for _, fit in fits)
    yield Problem(
        message=f"cuDNN {loaded} has no code for {models(lost)}, which {framework.label} otherwise supports.",
        severity=Severity.WARNING if found.chosen or left else None,
        only_for=framework.name,
        evidence=(
            Evidence("cuDNN", str(loaded), found.loaded_where),
            Evidence("GPU code in it", spelt(code), code.where),
            *(Evidence("compute capability", str(one.capability), one.gpu.label) for one in lost),
        ),
        fixes=(_pin(framework, cuda, found, lost, machine, python),),
    )


def _pin(
    framework: Framework, cuda: EffectiveCuda, found: Component, lost: list[Meeting], machine: MachineView, python: Python | Missing
) -> Fix:
    def fits(row: CudnnRelease) -> bool:
        accepted = all(satisfies(str(row.release), demand.requirement.specifier) is not False for demand in found.demands)
        compatible = isinstance(found.wanted, Missing) or not unlike(found.wanted, row.release)
        return accepted and compatible and all(one.capability and runs(row, one.capability) is Fit.NATIVE for one in lost)

    published = machine.matrix.cudnns(cuda.version.major, wheel_platform.name(machine.observed.host, machine.observed.python))
    row = next((row for row in reversed(published) if fits(row)), None)
    if row is None:
        title = f"Install a {framework.name} with a cuDNN for this GPU; none that {framework.label} accepts has code for it"
        return msgspec.structs.replace(install_framework(machine, framework.name)[0], title=title)
    wanted = f"{found.wheel}=={row.release}"
    return Fix(f"Pin cuDNN {row.release}, the newest that has code for it", install_package(python, wanted), (DOWNLOAD,))
