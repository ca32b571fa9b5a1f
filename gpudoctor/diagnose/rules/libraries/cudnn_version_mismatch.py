from gpudoctor.derive import FrameworkView, require_known
from gpudoctor.derive.cuda_libraries import Origin, cudnn_difference
from gpudoctor.derive.specifiers import is_below
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.diagnose.rules.libraries.cudnn import cudnn_evidence, install_cudnn, loaded_cudnn, only_part_clause
from gpudoctor.findings import Problem, Problems, Rung, Severity


@rule("GD410", severity=Severity.ERROR, breaks=Rung.TRAINED)
@explains(TRAINING_FAILS, "The framework refuses a cuDNN that is older than the one it was built with.", Join.FRAMEWORK)
def cudnn_version_mismatch(framework: FrameworkView) -> Problems:
    """cuDNN is older than the framework needs."""
    found = framework.cudnn
    wanted, loaded = require_known(found.wanted), loaded_cudnn(framework)
    difference = cudnn_difference(wanted, loaded)
    older = difference == "older"
    if difference == "major" or not (older or _is_below_requirement(framework)):
        return
    patch = "" if older else "; only the patch version differs: the framework accepts it, installers do not"
    part = only_part_clause(framework)
    yield Problem(
        message=f"{framework.label} needs cuDNN {wanted} or newer but would load {loaded}{patch}{part}.",
        severity=None if not part and (older or framework.machine.supposed) else Severity.NOTE,
        only_for=framework.name,
        evidence=cudnn_evidence(framework),
        fixes=() if part else install_cudnn(framework, wanted),
    )


def _is_below_requirement(framework: FrameworkView) -> bool:
    """Return whether the wheel is older than a requirement allows, even if only by a patch version."""
    found = framework.cudnn
    return found.origin is Origin.WHEEL and any(is_below(str(found.loaded), demand.requirement.specifier) for demand in found.demands)
