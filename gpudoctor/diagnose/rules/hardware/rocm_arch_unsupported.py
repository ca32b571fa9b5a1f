import re

import msgspec

from gpudoctor.derive import CouldNotTell, FrameworkView, not_applicable, require_known
from gpudoctor.diagnose.advice.system import set_variable, unset_variable
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import DOWNLOAD, Domain, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import joined_words
from gpudoctor.snapshot import Cause, Missing

OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
"""Makes ROCm treat every GPU as this target, MAJOR.MINOR.STEPPING in decimal; with _N only that of node N (libhsakmt/src/topology.c)."""
_RDNA_TARGET = re.compile(r"gfx(1\d)([0-9a-f])([0-9a-f])")
"""Targets of RDNA. Those with one major and minor version have the same instructions (LLVM, AMDGPUUsage: generic processors)."""


@rule("GD115", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, domain=Domain.ENVIRONMENT, predicts=False)
@explains(TRAINING_FAILS, "The first kernel launch fails on a GPU without kernels in the build.", Join.FRAMEWORK)
def rocm_arch_unsupported(framework: FrameworkView) -> Problems:
    """ROCm build has no kernels for this AMD GPU."""
    if isinstance(framework.observed.cuda_build, Missing):
        require_known(framework.observed.rocm_build, Rung.FRAMEWORK)
    if framework.observed.rocm_build is not True:
        not_applicable("not a ROCm build")
    there = {gpu.target for gpu in framework.machine.amd}
    built = {target.partition(":")[0] for target in framework.architectures}
    override = framework.machine.variable(OVERRIDE)
    here = {_target_of_override(override)} if override and there else there
    if here & built or not here:
        return
    _end_if_partly_overridden(framework)
    targets, supported = joined_words(sorted(here)), ", ".join(sorted(built))
    location = framework.observed.location
    yield Problem(
        message=f"{framework.label} has no kernels for {targets} (it has {supported}){_override_clause(override)}.",
        evidence=(
            Evidence("GPU target", joined_words(sorted(there)), "/sys/class/kfd"),
            *((Evidence(OVERRIDE, override, "environment"),) if override else ()),
            Evidence("targets in the build", supported, location if isinstance(location, str) else ""),
        ),
        fixes=(unset_variable(OVERRIDE, framework.machine),)
        if override and there & built
        else (_install_rocm_build(framework, there), *_override_target(there, built)),
    )


def _target_of_override(version: str) -> str:
    """Return the target that an override names; the rule ends as "not checked" if it is none."""
    form = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", version)
    if form is None:
        raise CouldNotTell(Missing(Cause.FAILED, f"{OVERRIDE}={version} is not MAJOR.MINOR.STEPPING"), Rung.FRAMEWORK)
    major, minor, stepping = map(int, form.groups())
    return f"gfx{major}{minor:x}{stepping:x}"


def _end_if_partly_overridden(framework: FrameworkView) -> None:
    """End the rule as "not checked" where only some GPUs are treated as others, which not every ROCm release does."""
    name = next((name for name in framework.environment.set_variables if name.startswith(f"{OVERRIDE}_")), "")
    if name:
        raise CouldNotTell(Missing(Cause.FAILED, f"{name} is set, which not every ROCm release reads"), Rung.FRAMEWORK)


def _override_clause(override: str) -> str:
    return f"; {OVERRIDE}={override} makes ROCm treat the GPU as that" if override else ""


def _install_rocm_build(framework: FrameworkView, there: set[str]) -> Fix:
    return Fix(f"Install a ROCm build of {framework.spec.title or framework.name} with kernels for {min(there)}.", needs=(DOWNLOAD,))


def _override_target(there: set[str], built: set[str]) -> tuple[Fix, ...]:
    """Return the fix that makes ROCm treat the GPUs as the first target of their family; () if the build has none below theirs."""
    families = {target[:-1] for target in there}
    forms = sorted((form for form in map(_RDNA_TARGET.fullmatch, built) if form and {form[0][:-1]} == families), key=lambda form: form[0])
    if not forms or forms[0][0] > min(there):
        return ()
    major, minor, stepping = forms[0].groups()
    fix = set_variable(
        OVERRIDE,
        f"{major}.{int(minor, 16)}.{int(stepping, 16)}",
        f"Make ROCm treat the GPU as {forms[0][0]}; AMD does not support this, so check the results",
    )
    return (msgspec.structs.replace(fix, kind=FixKind.INSTEAD),)
