from gpudoctor.derive import FrameworkView
from gpudoctor.derive.libraries import places_of_same_name
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, advises, explains, rule
from gpudoctor.diagnose.rules.libraries.install_missing import install_libraries
from gpudoctor.diagnose.rules.libraries.missing import missing_library_problem
from gpudoctor.findings import Problems, Rung, Severity


@rule("GD402", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
@advises(lambda machine: install_libraries(machine, "cudnn-missing"))
@explains(TRAINING_FAILS, "Without cuDNN TensorFlow uses the CPU, and PyTorch and JAX fail to start.", Join.FRAMEWORK)
def cudnn_missing(framework: FrameworkView) -> Problems:
    """cuDNN is not installed."""
    lost = tuple(use for use in framework.missing_libraries if use.component == "cudnn" and not places_of_same_name(use))
    if lost:
        yield missing_library_problem(framework, lost)
