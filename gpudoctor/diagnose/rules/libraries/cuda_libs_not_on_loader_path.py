from gpudoctor.derive import FrameworkView
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, advises, explains, rule
from gpudoctor.diagnose.rules.libraries.install_missing import add_library_folder
from gpudoctor.diagnose.rules.libraries.missing import unsearched_library_problems
from gpudoctor.findings import Problems, Rung, Severity


@rule("GD403", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
@advises(lambda machine: add_library_folder(machine, "cuda-libs-not-on-loader-path"))
@explains(TRAINING_FAILS, "Without the libraries the framework fails to import or uses the CPU.", Join.FRAMEWORK)
def cuda_libs_not_on_loader_path(framework: FrameworkView) -> Problems:
    """CUDA libraries are installed but not on the loader's path."""
    yield from unsearched_library_problems(framework, in_wheels=False)
