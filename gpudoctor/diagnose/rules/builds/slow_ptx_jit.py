"""GD507: slow-ptx-jit."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Driver, EffectiveCode, EffectiveCuda, MachineView, Meetings
from gpudoctor.derive.code import Fit, compiles
from gpudoctor.diagnose.advice.gpu_code import code_evidence, models
from gpudoctor.diagnose.advice.installing import install
from gpudoctor.diagnose.advice.releases import pick
from gpudoctor.diagnose.build_facts import met, tell
from gpudoctor.diagnose.rule import Explains, Join, need, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, Missing


@rule(
    "GD507",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    of_training=True,
    explains=(Explains(TRAINING_FAILS, "", Join.FRAMEWORK),),
)
def slow_ptx_jit(
    framework: Framework,
    meetings: Meetings | Missing,
    code: EffectiveCode | Missing,
    effective: EffectiveCuda | Missing,
    driver: Driver | Missing,
    machine: MachineView,
) -> Iterator[Problem]:
    """The framework's build has only PTX for this GPU, which the driver compiles at first use.

    ## Why it matters
    Without machine code for the GPU every kernel is compiled when it is first called. TensorFlow itself warns of half an hour; until then
    a program seems to hang. The driver keeps what it compiled in ~/.nv/ComputeCache, which is limited in size and lost with a container.

    ## What to do
    Install a release with machine code for the GPU. Where there is none, give the cache room and a place that stays.

    ## References
    - https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#just-in-time-compilation
    """
    found = met(meetings)
    portable = found.lacking(Fit.PTX)
    if not portable:
        tell(found, framework)
        return
    cuda = need(effective)
    if isinstance(driver, Driver) and compiles(driver, cuda, machine.matrix) is False:
        return  # driver-too-old says so
    holds = need(code)
    newer = pick(machine, framework.name)
    other = () if newer is None or newer.release == framework.release else (newer,)
    room = "export CUDA_CACHE_MAXSIZE=4294967296 CUDA_CACHE_PATH=$HOME/.nv/ComputeCache"
    yield Problem(
        message=f"{framework.label} holds no machine code for {models(portable)}, only PTX ({' '.join(holds.ptx or ())}): "
        "the driver compiles it at first use, which can take half an hour.",
        evidence=(*code_evidence(holds, portable), Evidence("CUDA of the PTX", str(cuda.version), cuda.where)),
        fixes=(
            *(install(machine, framework.name, one, title=f"Install {one.name}, which has machine code for it") for one in other),
            Fix("Keep what was compiled: 4 GiB, in a folder that stays", room, kind=FixKind.INSTEAD if other else FixKind.FIX),
        ),
    )
