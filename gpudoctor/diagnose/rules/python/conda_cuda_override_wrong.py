"""GD642: conda-cuda-override-wrong."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import Driver, Hardware
from gpudoctor.diagnose.advice.system import unset
from gpudoctor.diagnose.rule import not_applicable, rule
from gpudoctor.findings import Evidence, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import Matrix
from gpudoctor.matrix.cite import cited
from gpudoctor.snapshot import Missing, Packages, Python, Variables

VARIABLE = "CONDA_OVERRIDE_CUDA"


@rule("GD642", severity=Severity.WARNING, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.ENVIRONMENT, predicts=False)
def conda_cuda_override_wrong(
    variables: Variables, driver: Driver, hardware: Hardware, matrix: Matrix, packages: Packages | Missing, python: Python | Missing
) -> Iterator[Problem]:
    """CONDA_OVERRIDE_CUDA tells conda of another CUDA than the driver serves.

    ## Why it matters
    conda chooses builds by the package `__cuda`, the newest CUDA that the driver serves. CONDA_OVERRIDE_CUDA replaces it: too new, and the
    builds that conda installs do not run on this driver; empty, and conda installs builds for the CPU. It is meant for machines without a
    GPU, where an environment for another one is made.

    It is a warning in a conda environment, else a note.

    ## What to do
    Unset the variable where the environment is used, then let conda install the framework again.

    ## References
    - https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-virtual.html
    """
    value = variables.values.get(VARIABLE)
    if value is None or not hardware:
        not_applicable(f"{VARIABLE} is not set" if hardware else "there is no NVIDIA GPU")
    told = versions.parse(value)
    wrong, evidence = "", Evidence("driver", f"{driver.version}, serves CUDA {driver.cuda_served}", driver.where)
    if told is None:
        wrong = "it is empty, so that conda installs builds for the CPU" if not value.strip() else f"{value!r} is no CUDA release"
    else:
        floor = matrix.driver_floor(told)
        least = (floor.minor_version_floor or floor.exact) if floor else None
        if least is not None and driver.version < least:
            wrong = f"CUDA {told} needs driver {least} or newer, and {driver.version} is loaded"
            evidence = Evidence(f"oldest driver for CUDA {told}", str(least), cited(floor.source if floor else ()))
    if not wrong:
        return
    inside = isinstance(python, Python) and python.kind == "conda"
    installed = [] if isinstance(packages, Missing) or isinstance(packages.conda, Missing) else list(packages.conda)
    yield Problem(
        message=f"{VARIABLE}={value}: {wrong}.",
        severity=None if inside else Severity.NOTE,
        evidence=(
            Evidence(VARIABLE, value or "(empty)", "environment"),
            evidence,
            *(Evidence("installed by conda", name, "conda-meta") for name in installed[:3]),
        ),
        fixes=(unset(VARIABLE),),
    )
