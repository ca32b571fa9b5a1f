from gpudoctor.derive import FrameworkView
from gpudoctor.diagnose.advice.system import WITHOUT_COMPILE, distribution_command
from gpudoctor.diagnose.rule import Join, explains, rule
from gpudoctor.findings import DOWNLOAD, ROOT, Action, Evidence, Fix, Impact, Problem, Problems, Rung, Severity

_COMPILERS = ("CC", "gcc", "clang")
"""What triton/runtime/build.py tries; it does not try cc or c++."""
_INSTALL_GCC = {
    "debian": "sudo apt install gcc",
    "ubuntu": "sudo apt install gcc",
    "fedora": "sudo dnf install gcc",
    "rhel": "sudo dnf install gcc",
    "suse": "sudo zypper install gcc",
    "arch": "sudo pacman -S gcc",
}


@rule("GD541", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.PARTLY, predicts=False)
@explains(("smoke-crashed",), "A compiled training step fails without a C compiler.", Join.FRAMEWORK)
def c_compiler_missing(framework: FrameworkView) -> Problems:
    """No C compiler is installed, so torch.compile fails."""
    triton, found = framework.triton, framework.machine.compilers
    if any(compiler.name in _COMPILERS for compiler in found):
        return
    command = distribution_command(framework.machine.site, _INSTALL_GCC)
    yield Problem(
        message=f"torch.compile in {framework.label} needs a C compiler, but gcc and clang are not on PATH and CC is not set.",
        evidence=(
            Evidence("Triton", triton.version, triton.where),
            Evidence("gcc, clang", "not found", "PATH"),
            Evidence("compilers found", ", ".join(compiler.name for compiler in found) or "none", "PATH"),
        ),
        fixes=(
            Fix("Install gcc" if command else "Install gcc or clang.", command, (ROOT, DOWNLOAD), action=Action.INSTALL_PACKAGE),
            WITHOUT_COMPILE,
        ),
    )
