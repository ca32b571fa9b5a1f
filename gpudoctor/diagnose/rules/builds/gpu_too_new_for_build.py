from gpudoctor.derive import FrameworkView
from gpudoctor.derive.gpu_code import Fit
from gpudoctor.diagnose.advice.logged_frameworks import install_for_gpu
from gpudoctor.diagnose.rule import advises, rule
from gpudoctor.diagnose.rules.builds.no_kernels import NO_KERNELS_EXPLAINS, no_kernel_problems
from gpudoctor.findings import Problems, Rung, Severity


@rule("GD505", severity=Severity.ERROR, breaks=Rung.TRAINED, explains=NO_KERNELS_EXPLAINS)
@advises(lambda machine: install_for_gpu(machine, newer=True))
def gpu_too_new_for_build(framework: FrameworkView) -> Problems:
    """GPU is too new for the framework's build."""
    yield from no_kernel_problems(framework, Fit.TOO_NEW)
