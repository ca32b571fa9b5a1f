from gpudoctor import versions
from gpudoctor.derive import Driver, EnvironmentView, not_applicable
from gpudoctor.diagnose.advice.system import unset_variable
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Evidence, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import first_few
from gpudoctor.matrix import Matrix
from gpudoctor.matrix.citations import citation
from gpudoctor.snapshot import Packages, Python

VARIABLE = "CONDA_OVERRIDE_CUDA"


@rule("GD642", severity=Severity.WARNING, breaks=Rung.FRAMEWORK, impact=Impact.AT_RISK, predicts=False)
def conda_cuda_override_wrong(environment: EnvironmentView) -> Problems:
    """CONDA_OVERRIDE_CUDA does not match the driver."""
    machine, observed = environment.machine, environment.observed
    value = environment.variables.values.get(VARIABLE)
    driver = machine.driver
    if value is None or not machine.hardware:
        not_applicable(f"{VARIABLE} is not set" if machine.hardware else "there is no NVIDIA GPU")
    wrong, evidence = _mismatch(value, driver, machine.matrix)
    if not wrong:
        return
    in_conda = isinstance(observed.python, Python) and observed.python.kind == "conda"
    packages = observed.packages
    installed = packages.conda if isinstance(packages, Packages) and isinstance(packages.conda, tuple) else ()
    yield Problem(
        message=f"{VARIABLE}={value}: {wrong}.",
        severity=None if in_conda else Severity.NOTE,
        evidence=(
            Evidence(VARIABLE, value or "(empty)", "environment"),
            evidence,
            *(Evidence("installed by conda", name, "conda-meta") for name in first_few(installed)),
        ),
        fixes=(unset_variable(VARIABLE, environment.machine),),
    )


def _mismatch(value: str, driver: Driver, matrix: Matrix) -> tuple[str, Evidence]:
    """Return what is wrong with the value, and the evidence; empty if it matches."""
    evidence = Evidence("driver", f"{driver.version}, supports CUDA {driver.cuda_served}", driver.where)
    if not value.strip():
        return "it is empty, so conda installs CPU builds", evidence
    cuda = versions.parse_version(value)
    if cuda is None:
        return f"{value!r} is not a CUDA version", evidence
    floor = matrix.driver_floor(cuda)
    minimum = floor.least if floor else None
    if floor is None or minimum is None or driver.version >= minimum:
        return "", evidence
    minimum_driver = Evidence(f"minimum driver for CUDA {cuda}", str(minimum), citation(floor.source))
    return f"conda installs builds for CUDA {cuda}, which need driver {minimum} or newer; {driver.version} is loaded", minimum_driver
