"""A library that is published for one release of torch, beside another torch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import FrameworkView
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.package_facts import demanded, named_by, shown, there
from gpudoctor.diagnose.rule import not_applicable
from gpudoctor.diagnose.rules.builds.add_ons import published_with
from gpudoctor.findings import Fix, Problem, Severity
from gpudoctor.snapshot import Distribution


def beside_torch(framework: FrameworkView, name: str, consequence: str) -> Iterator[Problem]:
    """Whether a library refuses the installed torch, or was built for another CUDA than torch."""
    if framework.name != "torch":
        not_applicable("not torch")
    stack = framework.environment.stack
    torch, library = stack.distributions.get("torch"), stack.distributions.get(name)
    if torch is None or library is None:
        not_applicable(f"torch and {name} are not both installed")
    refused = [violation for violation in stack.violations if named_by(violation) == f"torch-{name}-mismatch"]
    builds = {_build(torch), _build(library)}
    if not refused and (len(builds) == 1 or "" in builds):
        return
    differ = f"torch {torch.version} and {library.label} are built for different CUDA versions"
    if refused:
        differ = f"{refused[0].demand.text}, but torch {torch.version} {there(stack)}"
    yield Problem(
        message=f"{differ}: {consequence}",
        severity=Severity.ERROR if stack.supposed else None,
        evidence=(shown(torch), shown(library), *demanded(refused)),
        fixes=_install_fitting(framework, torch, library),
    )


def _build(distribution: Distribution) -> str:
    """The CUDA that a local version names (cu121, cpu); empty where it names none."""
    tag = distribution.version.partition("+")[2]
    return tag if tag.startswith(("cu", "cpu")) else ""


def _install_fitting(framework: FrameworkView, torch: Distribution, library: Distribution) -> tuple[Fix, ...]:
    """Install the library's release for this torch from the index of its build; where none is known, both."""
    fitting = published_with(framework, library.name)
    if not fitting:
        return install_framework(framework.machine, "torch", title=f"Install matching releases of torch and {library.name}")
    release, tag = str(fitting[-1].release), _build(torch)
    pin = f"{library.name}=={release}{f'+{tag}' if tag else ''}"
    index = f"{framework.spec.wheel_index}/{tag}" if tag else ""
    # pip keeps what is installed if only the local version differs
    same = library.version.partition("+")[0] == release and not tag
    options = ("--force-reinstall", "--no-deps") if same else ()
    command = install_package(framework.machine.observed.python, *options, pin, index=index)
    return (Fix(f"Install the {library.name} that was published with torch {torch.version}", command, (DOWNLOAD,)),)
