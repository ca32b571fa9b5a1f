from gpudoctor.derive import FrameworkView
from gpudoctor.diagnose.advice.damaged_files import damage_text, replace_damaged
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import Evidence, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import first_few
from gpudoctor.snapshot import Damage


@rule("GD618", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
@explains(
    ("cuda-library-missing", "cudnn-missing", "cuda-libs-not-on-loader-path", "pip-nvidia-libs-not-on-path", "cuda-library-damaged"),
    "A damaged framework file does not tell the loader where the CUDA libraries are.",
    Join.FRAMEWORK,
)
@explains(TRAINING_FAILS, "The framework cannot be imported.", Join.FRAMEWORK)
def framework_files_damaged(framework: FrameworkView) -> Problems:
    """Files of the framework are missing or damaged."""
    broken = framework.broken_files
    if not broken:
        return
    more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
    yield Problem(
        message=f"{framework.label} cannot be imported: {damage_text(broken[0])}{more}.",
        title=""
        if any(_is_framework_file(damage, framework) for damage in broken)
        else "Files of a required package are missing or damaged",
        only_for=framework.name,
        evidence=tuple(
            Evidence(damage.path, damage.why, f"requested by {damage.asked_by}" if damage.asked_by else "on disk")
            for damage in first_few(broken)
        ),
        fixes=tuple(replace_damaged(list(broken), framework)),
    )


def _is_framework_file(damage: Damage, framework: FrameworkView) -> bool:
    """Return whether a file is the framework's own, not one of a package that it requires."""
    return damage.owner in {"", framework.observed.distribution}
