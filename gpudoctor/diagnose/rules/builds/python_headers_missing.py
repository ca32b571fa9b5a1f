from gpudoctor.derive import FrameworkView, MachineView, known_absence
from gpudoctor.diagnose.advice.message_fixes import usual_fixes
from gpudoctor.diagnose.advice.system import WITHOUT_COMPILE, distribution_command
from gpudoctor.diagnose.installer_facts import stated_python
from gpudoctor.diagnose.rule import Join, advises, explains, rule
from gpudoctor.findings import DOWNLOAD, ROOT, Action, Evidence, Fix, Impact, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Platform

_INSTALL_HEADERS = {
    "debian": "sudo apt install {python}-dev",
    "fedora": "sudo dnf install {python}-devel",
    "rhel": "sudo dnf install {python}-devel",
}


def _install_stated_headers(machine: MachineView) -> tuple[Fix, ...]:
    """Return the fix with the Python that a text states; what usually fixes this cause if it states none or is about Windows."""
    minor, command = stated_python(machine), distribution_command(machine.site, _INSTALL_HEADERS) or _INSTALL_HEADERS["debian"]
    if not minor or machine.site.platform == Platform.WINDOWS:
        return usual_fixes(machine, "python-headers-missing")
    beside = " (Debian, Ubuntu, WSL)" if command == _INSTALL_HEADERS["debian"] else ""
    return (Fix(f"Install the headers of Python {minor}{beside}", command.format(python=f"python{minor}"), (ROOT, DOWNLOAD)),)


@rule("GD542", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.PARTLY, predicts=False)
@advises(_install_stated_headers)
@explains(("smoke-crashed",), "A compiled training step fails without Python.h.", Join.FRAMEWORK)
def python_headers_missing(framework: FrameworkView) -> Problems:
    """Python.h is not installed, so torch.compile fails."""
    triton, python = framework.triton, framework.environment.python
    missing = known_absence(python.headers)
    if missing is None:
        return
    minor = ".".join(python.version.split(".")[:2]) if isinstance(python.version, str) else ""
    yield Problem(
        message=f"torch.compile in {framework.label} needs the headers of Python {minor}, but {missing.reason}.",
        evidence=(
            Evidence("Triton", triton.version, triton.where),
            Evidence("Python.h", "not found", missing.reason),
            Evidence("interpreter", python.executable, python.why),
        ),
        fixes=(_install_headers(framework, minor), WITHOUT_COMPILE),
    )


def _install_headers(framework: FrameworkView, minor: str) -> Fix:
    """Return the fix that installs the headers of a distribution's Python, or uses an interpreter that includes them."""
    template = distribution_command(framework.machine.site, _INSTALL_HEADERS)
    if template and minor and framework.environment.python.base_prefix == "/usr":
        install = template.format(python=f"python{minor}")
        return Fix(f"Install the headers of Python {minor}", install, (ROOT, DOWNLOAD), action=Action.INSTALL_PACKAGE)
    command = f"uv venv --python-preference only-managed --python {minor}"
    return Fix("Create an environment whose Python includes its headers", command, (DOWNLOAD,))
