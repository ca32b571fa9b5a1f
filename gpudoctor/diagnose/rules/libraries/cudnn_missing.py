from gpudoctor.derive import FrameworkView
from gpudoctor.derive.libraries import same_name
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, advises, explains, rule
from gpudoctor.diagnose.rules.libraries.install_missing import install_libraries
from gpudoctor.diagnose.rules.libraries.missing import missing_from_machine
from gpudoctor.findings import Problems, Rung, Severity


@rule("GD402", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
@advises(lambda machine: install_libraries(machine, "cudnn-missing"))
@explains(TRAINING_FAILS, "Without cuDNN TensorFlow uses the CPU, and PyTorch and JAX fail to start.", Join.FRAMEWORK)
def cudnn_missing(framework: FrameworkView) -> Problems:
    """cuDNN is not installed."""
    lost = tuple(use for use in framework.missing_libraries if use.component == "cudnn" and not same_name(use))
    if lost:
        yield missing_from_machine(framework, lost)
