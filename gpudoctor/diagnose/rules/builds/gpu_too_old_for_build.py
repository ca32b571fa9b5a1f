from gpudoctor.derive import FrameworkView
from gpudoctor.derive.gpu_code import Fit
from gpudoctor.diagnose.advice.from_log import install_for_gpu
from gpudoctor.diagnose.rule import advises, rule
from gpudoctor.diagnose.rules.builds.no_kernels import WITHOUT_KERNELS, no_kernels
from gpudoctor.findings import Impact, Problems, Rung, Severity


@rule("GD506", severity=Severity.ERROR, breaks=Rung.TRAINED, impact=Impact.PARTLY, explains=WITHOUT_KERNELS)
@advises(lambda machine: install_for_gpu(machine, newer=False))
def gpu_too_old_for_build(framework: FrameworkView) -> Problems:
    """GPU is too old for the framework's build."""
    yield from no_kernels(framework, Fit.TOO_OLD)
