from gpudoctor.derive import FrameworkView, MachineView, not_applicable, require_known
from gpudoctor.derive.toolkits import toolkit_version
from gpudoctor.diagnose.advice.compilers import another_toolkit
from gpudoctor.diagnose.advice.logged_frameworks import install_toolkit
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.rule import advises, rule
from gpudoctor.findings import Action, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Toolkit


def _advice(machine: MachineView) -> tuple[Fix, ...]:
    """Return the fix that compiles with a toolkit for the architecture which nvcc refused, otherwise with the framework's."""
    other = another_toolkit(machine)
    return (other,) if other else install_toolkit(machine, "nvcc-framework-cuda-mismatch")


@rule("GD416", severity=Severity.NOTE, breaks=Rung.TRAINED)
@advises(_advice)
def nvcc_framework_cuda_mismatch(framework: FrameworkView) -> Problems:
    """nvcc and PyTorch have different CUDA major versions."""
    if not framework.spec.builds_extensions:
        not_applicable(f"{framework.label} does not build extensions with nvcc")
    framework.machine.need_gpu()
    cuda, toolkit = framework.cuda, framework.machine.build_toolkit
    stated, version = require_known(toolkit.toolkit_cuda), toolkit_version(toolkit)
    if version is None or version.major == cuda.version.major:
        return
    complete = (other for other in framework.machine.toolkits if isinstance(other.nvcc, str))
    fitting = next((other for other in complete if _toolkit_major(other) == cuda.version.major), None)
    if fitting is not None:
        fix = Fix("Set CUDA_HOME to the toolkit with the same major version", f"export CUDA_HOME={shell_path(fitting.path)}")
    else:
        fix = Fix(
            f"Install the CUDA {cuda.version.short} toolkit beside the existing one and set CUDA_HOME to it before building.",
            action=Action.INSTALL_PACKAGE,
        )
    yield Problem(
        message=f"nvcc {version.short} in {toolkit.path} cannot build extensions for {framework.label} (CUDA {cuda.version.short}).",
        evidence=(
            Evidence("CUDA version of PyTorch", str(cuda.version), cuda.where),
            Evidence("CUDA version of the toolkit", stated.value, stated.where),
            Evidence("toolkit selected by", ", ".join(toolkit.named_by) or toolkit.path, "environment and folders"),
        ),
        fixes=(fix,),
    )


def _toolkit_major(toolkit: Toolkit) -> int | None:
    version = toolkit_version(toolkit)
    return version.major if version else None
