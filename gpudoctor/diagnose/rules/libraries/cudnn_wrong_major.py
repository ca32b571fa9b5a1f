from gpudoctor.derive import FrameworkView, not_applicable, require_known
from gpudoctor.derive.cuda_libraries import Origin, cudnn_difference
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.diagnose.rules.libraries.cudnn import cudnn_evidence, install_cudnn, loaded_cudnn, only_part_clause
from gpudoctor.findings import Problem, Problems, Rung, Severity


@rule("GD409", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
@explains(("cudnn-missing",), "The build looks for its own major version by file name.", Join.FRAMEWORK)
@explains(("cudnn-drops-gpu",), "The cuDNN without the kernels is not the version that the build needs.", Join.FRAMEWORK)
@explains(TRAINING_FAILS, "TensorFlow registers no GPU with the wrong cuDNN; PyTorch and JAX stop with an error.", Join.FRAMEWORK)
def cudnn_wrong_major(framework: FrameworkView) -> Problems:
    """cuDNN has the wrong major version."""
    found = framework.cudnn
    if framework.observed.sees_gpu is True and found.origin is Origin.SYSTEM:
        not_applicable("it sees the GPU, so it loads another cuDNN than the one that the text states")
    wanted, loaded = require_known(found.wanted), loaded_cudnn(framework)
    if cudnn_difference(wanted, loaded) == "major":
        part = only_part_clause(framework)
        yield Problem(
            message=f"{framework.label} is built with cuDNN {wanted} and cannot use cuDNN {loaded} (a different major version){part}.",
            severity=Severity.NOTE if part else None,
            only_for=framework.name,
            evidence=cudnn_evidence(framework),
            fixes=() if part else install_cudnn(framework, wanted),
        )
