from collections.abc import Iterator

from gpudoctor.derive import Driver, EnvironmentView, MachineView, not_applicable
from gpudoctor.derive.toolkits import system_cudas, toolkit_version
from gpudoctor.diagnose.advice.message_fixes import usual_fixes
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.releases import newest_release
from gpudoctor.diagnose.advice.requirements import distribution_evidence, installed_or_requested
from gpudoctor.diagnose.rule import advises, explains, rule
from gpudoctor.findings import DOWNLOAD, Action, Confidence, Evidence, Fix, Impact, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Distribution, Fact
from gpudoctor.versions import Version

_WHEELS = "cupy cupy-cuda11x cupy-cuda12x cupy-cuda13x"
_CALLED_BY_MAJOR = ({11}, {12}, {13})
"""The major versions of CUDA whose wheels have one name: https://docs.cupy.dev/en/stable/install.html"""


def _for_stated_cuda(machine: MachineView) -> tuple[Fix, ...]:
    """Return the fix of a failed import that only a log names: the wheel for the one CUDA toolkit that the text states, if it does."""
    majors = {version.major for version, _ in system_cudas(machine.known_toolkits)}
    if majors not in _CALLED_BY_MAJOR:
        return usual_fixes(machine, "cupy-wheel-cuda-mismatch")
    (major,) = majors
    command = f"python -m pip uninstall --yes {_WHEELS} && python -m pip install cupy-cuda{major}x"
    return (Fix(f"Remove every CuPy wheel, then install the one for CUDA {major}", command, (DOWNLOAD,), action=Action.REINSTALL_PACKAGE),)


@rule("GD516", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.PARTLY)
@advises(_for_stated_cuda)
@explains(("cuda-version-mismatch",), "Both compare CuPy's wheel with the CUDA on this machine.")
def cupy_wheel_cuda_mismatch(environment: EnvironmentView) -> Problems:
    """CuPy wheel does not match the installed CUDA version."""
    stack = environment.stack
    wheels = [distribution for distribution in stack.distributions.values() if distribution.name.startswith("cupy")]
    if not wheels:
        not_applicable("no CuPy is listed")
    if len(wheels) > 1:
        yield Problem(
            message=f"{' and '.join(wheel.label for wheel in wheels)} {installed_or_requested(stack, many=True)} and overwrite each other's files.",
            evidence=tuple(map(distribution_evidence, wheels)),
            fixes=(_keep_one_wheel(environment, wheels),),
        )
        return
    wheel = wheels[0]
    wanted = wheel.name.removeprefix("cupy-cuda")[:-1]
    found = dict(_installed_cuda_majors(environment))
    if wanted.isdigit() and found and wanted not in found:
        yield Problem(
            message=f"{wheel.label} is for CUDA {wanted}, but this machine has CUDA {' and '.join(found)}.",
            confidence=Confidence.LIKELY,
            evidence=(distribution_evidence(wheel), *(Evidence(f"CUDA {major}", where, where) for major, where in found.items())),
            fixes=(_keep_one_wheel(environment, wheels),),
        )


def _keep_one_wheel(environment: EnvironmentView, wheels: list[Distribution]) -> Fix:
    """Return the fix that keeps one wheel: for the installed CUDA, else for the CUDA that the driver supports."""
    machine = environment.machine
    driver = machine.driver_or_missing
    served = driver.cuda_served if isinstance(driver, Driver) else None
    installed = max(dict(_installed_cuda_majors(environment)), key=int, default="")
    wanted = installed or (str(served.major) if isinstance(served, Version) else "12")
    name, old = f"cupy-cuda{wanted}x", tuple(wheel.name for wheel in wheels)
    release = newest_release(machine, name)
    if not release:
        title = f"Remove {' and '.join(old)}: no CuPy for CUDA {wanted} is published for this Python."
        return Fix(title, action=Action.REINSTALL_PACKAGE)
    title = f"Remove {' and '.join(old)}, and install {name}"
    return install_fix(title, machine.observed.python, f"{name}=={release}", replace=old)


def _installed_cuda_majors(environment: EnvironmentView) -> Iterator[tuple[str, str]]:
    """Return the CUDA major versions whose runtime is installed, and where."""
    for toolkit in environment.machine.known_toolkits:
        version, stated = toolkit_version(toolkit), toolkit.toolkit_cuda
        if version is not None and isinstance(stated, Fact):
            yield str(version.major), f"toolkit {toolkit.path or stated.where}"
    for distribution in environment.stack.distributions.values():
        if distribution.name.startswith("nvidia-cuda-runtime"):
            yield distribution.version.partition(".")[0], f"{distribution.label} in {distribution.where}"
