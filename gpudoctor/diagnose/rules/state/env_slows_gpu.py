import msgspec

from gpudoctor.derive import MachineView, not_applicable
from gpudoctor.diagnose.advice.system import unset_variable
from gpudoctor.diagnose.rule import explains, rule
from gpudoctor.findings import Evidence, Impact, Problem, Problems, Rung, Severity


class _Setting(msgspec.Struct, frozen=True):
    """A variable that slows CUDA programs down at one of these values."""

    name: str
    values: tuple[str, ...]
    effect: str
    severity: Severity


_SETTINGS = (
    _Setting("CUDA_LAUNCH_BLOCKING", ("1",), "makes the CPU wait for each GPU kernel before it launches the next", Severity.WARNING),
    _Setting("CUDA_CACHE_DISABLE", ("1",), "makes each process compile PTX kernels again", Severity.NOTE),
    _Setting("NVIDIA_TF32_OVERRIDE", ("0",), "keeps FP32 matmuls and convolutions from using TF32", Severity.NOTE),
)


@rule("GD741", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.SLOWER, predicts=False)
@explains(("gpu-slower-than-expected", "gpu-not-faster-than-cpu"), "The variable slows every CUDA program down.")
def env_slows_gpu(machine: MachineView) -> Problems:
    """Environment variable slows training down."""
    if not machine.hardware:
        not_applicable("there is no NVIDIA GPU")
    variables = machine.variables
    for setting in _SETTINGS:
        value = variables.values.get(setting.name)
        if value in setting.values:
            yield Problem(
                message=f"{setting.name}={value} {setting.effect}.",
                severity=setting.severity,
                evidence=(Evidence(setting.name, value, variables.place(setting.name)),),
                fixes=(unset_variable(setting.name, machine),),
            )
