from gpudoctor.derive import FrameworkView
from gpudoctor.diagnose.advice.damaged_files import damage_text, replace_damaged
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import Evidence, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import first_and_more, first_few


@rule("GD419", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
@explains(("cuda-library-missing", "cudnn-missing"), "The loader skips a damaged file and finds no other.", Join.FRAMEWORK)
@explains(TRAINING_FAILS, "The framework cannot load the library, so it fails or uses the CPU.", Join.FRAMEWORK)
def cuda_library_damaged(framework: FrameworkView) -> Problems:
    """A CUDA library file is damaged."""
    found = framework.damaged_libraries
    if not found:
        return
    yield Problem(
        message=f"{framework.label} cannot load {first_and_more([use.wanted for use, _ in found])}: {damage_text(found[0][1])}.",
        only_for=framework.name,
        evidence=tuple(
            Evidence(use.wanted, f"{damage.path}: {damage.why}", f"requested by {use.asked_by}") for use, damage in first_few(found)
        ),
        fixes=tuple(replace_damaged([damage for _, damage in found], framework)),
    )
