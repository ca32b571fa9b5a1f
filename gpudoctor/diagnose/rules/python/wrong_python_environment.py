from gpudoctor.derive import EnvironmentView, FrameworkView, require_known
from gpudoctor.derive.wheel_tags import other_python_of_wheel
from gpudoctor.diagnose.advice.damaged_files import unset_python_path
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.requirements import distribution_evidence
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.advice.system import unset_variable
from gpudoctor.diagnose.required_conditions import Fulfilment, checked_conditions
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Impact, Level, Problem, Problems, Rung, Severity
from gpudoctor.frameworks import framework_of
from gpudoctor.snapshot import Distribution, Python

_NO_USER_SITE = "PYTHONNOUSERSITE"
"""Hides what `pip install --user` installed."""


@rule("GD604", severity=Severity.WARNING, breaks=Rung.FRAMEWORK, impact=Impact.PARTLY, predicts=False)
@explains(("framework-missing",), "The framework is in another environment.")
@explains((*TRAINING_FAILS, "cuda-library-missing", "cudnn-missing"), "The framework is compiled for another Python.", Join.FRAMEWORK)
def wrong_python_environment(environment: EnvironmentView) -> Problems:
    """Framework is installed in a different Python environment."""
    machine, python = environment.machine, environment.python
    if machine.known_frameworks:
        for framework in machine.frameworks:
            yield from _frameworks_for_other_python(framework, python)
        return
    others = require_known(python.elsewhere)
    if not others:
        return
    missing = [answer.requirement.subject for answer in checked_conditions(machine, None) if answer.answer is Fulfilment.LACKING]
    required = any(framework_of(other.name) in missing for other in others)
    look_only = machine.policy.level in {None, Level.LOOK, Level.TOUCH}
    first = others[0]
    name, use = framework_of(first.name), _make_visible(first, environment)
    yield Problem(
        message=f"{python.executable} ({python.why}) has no framework, but {first.label} is installed in {_environment_folder(first)}{_reason_clause(first, environment)}.",
        severity=Severity.ERROR if required else Severity.NOTE if look_only else None,
        confidence=Confidence.LIKELY,
        evidence=(Evidence("frameworks in this environment", "none", "the folders on sys.path"), *map(distribution_evidence, others)),
        fixes=(*use, *(install_framework(machine, name, kind=FixKind.INSTEAD if use else FixKind.FIX) if name else ())),
    )


def _frameworks_for_other_python(framework: FrameworkView, python: Python) -> Problems:
    """Yield the finding for a framework on sys.path whose compiled code another minor version of Python loads, as after `export PYTHONPATH`."""
    version = python.version if isinstance(python.version, str) else ""
    part = next((part for part in framework.compiled_parts if other_python_of_wheel(part, version)), None)
    if part is None:
        return
    yield Problem(
        message=f"{part.label} in {part.where} is compiled for Python {other_python_of_wheel(part, version)}, and {python.executable} is Python {version}.",
        title="Framework is compiled for another Python version",
        severity=Severity.ERROR,
        only_for=framework.name,
        subject=framework.subject,
        evidence=(
            Evidence(f"tags of {part.label}", " ".join(require_known(part.interpreters)), f"WHEEL in {part.where}"),
            Evidence("Python", version, python.executable),
        ),
        fixes=(*unset_python_path(part.where, framework.machine), *install_framework(framework.machine, framework.name)),
    )


def _environment_folder(other: Distribution) -> str:
    return other.where.partition("/lib/")[0].removesuffix("/local")


def _reason_clause(other: Distribution, environment: EnvironmentView) -> str:
    """Return why the interpreter of an environment does not find what is installed in that environment or for the user, as a clause."""
    python = environment.python
    if _is_user_install(other):
        if _is_for_other_python(other, python):
            return f" for Python {_python_version(other)}"
        hidden = _NO_USER_SITE in environment.set_variables
        return f", which {_NO_USER_SITE} hides" if hidden else ", which virtual environments do not search" if python.kind == "venv" else ""
    if not _is_in_environment(other, python):
        return ""
    return " for another Python version" if _is_for_other_python(other, python) else ", whose pyvenv.cfg is missing"


def _is_in_environment(other: Distribution, python: Python) -> bool:
    return python.executable.startswith(f"{_environment_folder(other)}/bin/")


def _is_for_other_python(other: Distribution, python: Python) -> bool:
    version = python.version if isinstance(python.version, str) else ""
    return f"/python{'.'.join(version.split('.')[:2])}/" not in other.where


def _is_user_install(other: Distribution) -> bool:
    """Return whether `pip install --user` installed it, into a folder without an interpreter."""
    return "/.local/lib/python" in other.where


def _python_version(other: Distribution) -> str:
    return other.where.partition("/lib/python")[2].partition("/")[0]


def _make_visible(other: Distribution, environment: EnvironmentView) -> tuple[Fix, ...]:
    """Return what lets the user's Python find it; () where only another installation does: code for another Python version is of no use."""
    home, python = shell_path(_environment_folder(other)), environment.python
    if _is_user_install(other):
        if _is_for_other_python(other, python) or _NO_USER_SITE not in environment.set_variables:
            return ()
        return (unset_variable(_NO_USER_SITE, environment.machine),)
    if not _is_in_environment(other, python):
        title = "Use that environment (put it first on PATH)"
        return (Fix(title, f'export PATH={home}/bin:"$PATH"', verify=f"gpudoctor check --python {home}"),)
    if _is_for_other_python(other, python):
        return ()
    return (Fix("Write its pyvenv.cfg again; its packages stay", f"python{_python_version(other)} -m venv {home}"),)
