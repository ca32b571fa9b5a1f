from gpudoctor.derive import FrameworkView
from gpudoctor.derive.gpu_code import Fit
from gpudoctor.diagnose.advice.from_log import install_for_gpu
from gpudoctor.diagnose.rule import advises, rule
from gpudoctor.diagnose.rules.builds.no_kernels import WITHOUT_KERNELS, no_kernels
from gpudoctor.findings import Problems, Rung, Severity


@rule("GD505", severity=Severity.ERROR, breaks=Rung.TRAINED, explains=WITHOUT_KERNELS)
@advises(lambda machine: install_for_gpu(machine, newer=True))
def gpu_too_new_for_build(framework: FrameworkView) -> Problems:
    """GPU is too new for the framework's build."""
    yield from no_kernels(framework, Fit.TOO_NEW)
