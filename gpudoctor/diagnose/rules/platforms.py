"""GD5 and GD6: what is published, with CUDA or at all, for this operating system, architecture and Python."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.derive import EffectiveCuda, Hardware, MachineView, Stack
from gpudoctor.derive import platform as platforms
from gpudoctor.derive.cuda import WITHOUT_CUDA
from gpudoctor.derive.packages import called, known, stack_of
from gpudoctor.diagnose.fixes import DOWNLOAD, REBOOT, ROOT, install_package
from gpudoctor.diagnose.installing import in_new_environment, install, install_framework
from gpudoctor.diagnose.package_facts import by_directml
from gpudoctor.diagnose.releases import newest, pick
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.matrix.resolve import final_release
from gpudoctor.snapshot import Cause, Distribution, Fact, Framework, Host, Missing, Platform, Python

_LAST_ON_WINDOWS = versions.Version(2, 10, text="2.10")
"""TensorFlow's last minor release with CUDA on native Windows, by its installation page."""
_WSL = {
    "tensorflow": "https://www.tensorflow.org/install/pip#windows-wsl2",
    "jax": "https://docs.jax.dev/en/latest/installation.html",
}
_STUB = "stub"


def _asked(framework: Framework, stack: Stack | Missing) -> Distribution | None:
    """The framework's own distribution."""
    return stack.distributions.get(framework.distribution) if isinstance(stack, Stack) else None


@rule("GD502", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK)
def windows_native_no_gpu(
    framework: Framework, host: Host, hardware: Hardware, stack: Stack | Missing, machine: MachineView
) -> Iterator[Problem]:
    """The framework has no CUDA on native Windows.

    ## Why it matters
    TensorFlow 2.10 was the last release that uses an NVIDIA GPU on native Windows, and JAX never did: later and other builds for Windows
    compute on the CPU, whatever driver and CUDA are installed.

    ## What to do
    Use WSL 2, where the builds for Linux see the GPU through the Windows driver. Where it must be native Windows: TensorFlow 2.10 with
    CUDA 11.2, its DirectML plug-in, or PyTorch.

    ## References
    - https://www.tensorflow.org/install/pip#windows-native
    - https://docs.jax.dev/en/latest/installation.html
    - https://learn.microsoft.com/windows/ai/directml/gpu-tensorflow-plugin
    """
    if need(host.platform) != Platform.WINDOWS:
        not_applicable("not native Windows")
    if framework.name not in _WSL or not hardware:
        not_applicable(f"{framework.name} has CUDA builds for Windows" if hardware else "there is no NVIDIA GPU that it could use")
    release = final_release(need(framework.version).value.partition("+")[0])
    if framework.name == "tensorflow" and (release is None or release[:2] <= _LAST_ON_WINDOWS[:2]):
        return
    if by_directml(framework, machine):
        not_applicable("it reaches the GPU by DirectML")
    if isinstance(framework.built_with_cuda, Fact):
        return
    name = f"{framework.distribution} {need(framework.version).value}"
    why = "2.10 was the last release with CUDA there" if framework.name == "tensorflow" else "JAX publishes its CUDA plugin for Linux only"
    own = _asked(framework, stack)
    row = stack.row(own) if isinstance(stack, Stack) and own else None
    yield Problem(
        message=f"{name} does not use an NVIDIA GPU on native Windows: {why}.",
        only_for=framework.name,
        evidence=(
            Evidence("operating system", "native Windows", "the host"),
            *((Evidence("its wheel for Windows", "without CUDA", known(row)),) if row and row.accelerator == "cpu" else ()),
        ),
        fixes=(
            Fix(f"Use WSL 2 and install the build for Linux there: {_WSL[framework.name]}", "wsl --install", (ROOT, DOWNLOAD, REBOOT)),
            *(_native_tensorflow(machine) if framework.name == "tensorflow" else ()),
        ),
    )


def _native_tensorflow(machine: MachineView) -> tuple[Fix, ...]:
    """TensorFlow with DirectML, where this Python has wheels of it."""
    release = newest(machine, "tensorflow-cpu", accepts="<2.11")
    if not release or not newest(machine, "tensorflow-directml-plugin"):
        return ()
    command = install_package(machine.observed.python, f"tensorflow-cpu=={release}", "tensorflow-directml-plugin")
    return (Fix("Use DirectML, which needs no CUDA, with TensorFlow 2.10", command, (DOWNLOAD,), kind=FixKind.INSTEAD),)


@rule("GD503", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK)
def no_cuda_wheel_for_platform(
    framework: Framework, effective: EffectiveCuda | Missing, hardware: Hardware, stack: Stack, machine: MachineView
) -> Iterator[Problem]:
    """The package index has a CUDA build of this release for other platforms only.

    ## Why it matters
    The same command gives a build with CUDA on one platform and one without on another: the index holds one file for each platform, and
    for this one it is the build for the CPU.

    ## What to do
    PyTorch publishes CUDA builds for Windows and for Linux on ARM on an index of its own; its page names it. TensorFlow for Linux on ARM
    comes with CUDA in NVIDIA's containers. For macOS no framework has CUDA.

    ## References
    - https://pytorch.org/get-started/locally/
    - https://docs.nvidia.com/deeplearning/frameworks/tensorflow-release-notes/
    """
    if not hardware:
        not_applicable("there is no NVIDIA GPU that a CUDA build could use")
    own = _asked(framework, stack)
    row = stack.row(own) if own is not None and stack.platform else None
    if own is None or row is None:
        not_applicable("the matrix does not know this release on this platform")
    lacks = isinstance(effective, Missing) and effective.cause is Cause.ABSENT
    if not lacks or row.accelerator not in WITHOUT_CUDA or "+" in own.version:
        return
    others = {name: other for name, other in stack.elsewhere(own).items() if other.accelerator == "cuda"}
    if not others:
        return
    here = platforms.called(stack.platform)
    yield Problem(
        message=f"The package index has {called(own)} for {here} without CUDA; with CUDA it has it for {', '.join(map(platforms.called, others))}.",
        only_for=framework.name,
        evidence=(
            Evidence(f"wheel for {here}", "without CUDA", known(row)),
            *(Evidence(f"wheel for {platforms.called(name)}", "with CUDA", known(other)) for name, other in others.items()),
        ),
        fixes=_cuda_elsewhere(framework, own, stack, machine),
    )


def _cuda_elsewhere(framework: Framework, own: Distribution, stack: Stack, machine: MachineView) -> tuple[Fix, ...]:
    if stack.platform.startswith("macos"):
        return (Fix("Train on a machine with Linux or Windows: macOS has no CUDA."),)
    if framework.name == "torch":
        return install_framework(machine, "torch", prefer=own.version)
    containers = "https://docs.nvidia.com/deeplearning/frameworks/tensorflow-release-notes/"
    return (Fix(f"Use NVIDIA's container with CUDA for this platform: {containers}", needs=(DOWNLOAD,)),)


@rule("GD504", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.ENVIRONMENT)
def python_version_unsupported(stack: Stack, python: Python, machine: MachineView) -> Iterator[Problem]:
    """No wheel of this release is published for this Python.

    ## Why it matters
    Compiled packages are published for each minor version of Python by itself. Without a file for this one the installer says that no
    version satisfies the requirement, or takes an older release in silence.

    ## What to do
    Make an environment with a Python that has a wheel, or choose a release that has one for this Python.

    ## References
    - https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
    """
    if not stack.supposed:
        not_applicable("it is installed")
    need(python.version)
    lacking = [(one, row) for one in stack.distributions.values() if (row := stack.row(one)) and row.pythons and row.accelerator != _STUB]
    lacking = [(one, row) for one, row in lacking if stack.python not in row.pythons]
    stated = [(one, row) for one, row in lacking if stack.stated(one)] or lacking[:1]
    for one, row in stated:
        here = platforms.called(row.platform) if row.platform != platforms.ANY else "any platform"
        yield Problem(
            message=f"{called(one)} has wheels for Python {_span(row.pythons)} on {here}, and none for {stack.python}.",
            evidence=(
                Evidence("Python", need(python.version), python.why),
                Evidence(f"Pythons that have a wheel of {called(one)}", " ".join(row.pythons), known(row)),
            ),
            fixes=(_other_python(one, row, stack.python, machine), *(_other_release(one, machine) if stack.stated(one) else ())),
        )


def _order(python: str) -> tuple[int, ...]:
    found = versions.parse(python)
    return found[:2] if found else ()


def _span(pythons: tuple[str, ...]) -> str:
    plain = sorted((python for python in pythons if not python.endswith("t")), key=_order) or list(pythons)
    return plain[0] if len(plain) == 1 else f"{plain[0]} to {plain[-1]}"


def _other_python(one: Distribution, row: FrameworkRelease, here: str, machine: MachineView) -> Fix:
    """The nearest Python that has a wheel, in an environment of its own with the release in it."""
    plain = sorted((python for python in row.pythons if not python.endswith("t")), key=_order)
    below = [python for python in plain if _order(python) < _order(here)]
    nearest = below[-1] if below else plain[0] if plain else row.pythons[0]
    extras = f"[{','.join(one.extras)}]" if one.extras else ""
    command = in_new_environment(machine, nearest, f"{one.name}{extras}=={one.version}")
    return Fix(f"Make an environment with Python {nearest}, and install it there", command, (DOWNLOAD,))


def _other_release(one: Distribution, machine: MachineView) -> tuple[Fix, ...]:
    """The newest release that has a wheel for this Python and works here."""
    family = stack_of(one.name)
    if family == one.name:
        found = pick(machine, one.name)
        return (install(machine, one.name, found, kind=FixKind.INSTEAD),) if found is not None else ()
    return tuple(msgspec.structs.replace(fix, kind=FixKind.INSTEAD) for fix in _newest_here(one, machine))


@rule("GD608", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.ENVIRONMENT)
def package_not_installable(stack: Stack, machine: MachineView) -> Iterator[Problem]:
    """The release cannot be installed: it is not there, or only a stub, or not for this platform.

    ## Why it matters
    The installer ends with "no matching distribution found", or runs the stub's setup script, which refuses and names another package.
    tensorflow-gpu is such a stub since 2.12: tensorflow itself is the package with CUDA.

    ## What to do
    Ask for a release that is published for this platform, or for the package that took the place of the stub.

    ## References
    - https://www.tensorflow.org/install/pip
    """
    if not stack.supposed:
        not_applicable("it is installed")
    for one in stack.distributions.values():
        row = stack.row(one)
        if row is not None and row.accelerator == _STUB:
            yield _stub(one, row, machine)
        elif row is None and stack.matrix.releases(one.name):
            yield from _unpublished(one, stack, machine)


def _stub(one: Distribution, row: FrameworkRelease, machine: MachineView) -> Problem:
    instead = one.name.removesuffix("-gpu").removesuffix("-cpu")
    return Problem(
        message=f"{called(one)} is only a stub that refuses to be installed.",
        evidence=(Evidence(called(one), row.note or "a stub", known(row)),),
        fixes=install_framework(machine, instead, prefer=one.version) if instead != one.name else (),
    )


def _unpublished(one: Distribution, stack: Stack, machine: MachineView) -> Iterator[Problem]:
    """A release that is not there, or not for this platform. Newer than the newest row, older than the oldest: unknown, no fault.

    Of the builds of a release ("+cu118") no list is complete, so a build that is not listed is no fault either.
    """
    rows = stack.matrix.releases(one.name)
    public, _, local = one.version.partition("+")
    release = final_release(public)
    if local or release is None or not rows[0].release <= release <= rows[-1].release:
        return
    others = stack.elsewhere(one) if stack.platform else {}
    if others:
        here = platforms.called(stack.platform)
        message = f"{called(one)} has no wheel for {here}; it has for {', '.join(map(platforms.called, others))}."
        evidence = tuple(Evidence(f"wheel for {platforms.called(name)}", "published", known(row)) for name, row in others.items())
    else:
        near = list(dict.fromkeys(str(row.release) for row in rows if row.release[:2] == release[:2]))
        if not near or any(row.release == release for row in rows):
            return  # a table may leave out what lies between equals
        message = (
            f"There is no release {public} of {one.name}; of {release.short} there {'is' if len(near) == 1 else 'are'} {' '.join(near)}."
        )
        evidence = (Evidence(f"releases of {one.name}", " ".join(near), known(rows[-1])),)
    yield Problem(message=message, evidence=evidence, fixes=_newest_here(one, machine))


def _newest_here(one: Distribution, machine: MachineView, accepts: str = "") -> tuple[Fix, ...]:
    """The newest release for this platform and Python."""
    if stack_of(one.name) == one.name and pick(machine, one.name, accepts=accepts) is not None:
        return install_framework(machine, one.name, accepts=accepts)
    release = newest(machine, one.name, accepts=accepts)
    if not release:
        return (Fix(f"Leave {one.name} out: no release of it is published for this platform and Python."),)
    title = "Install the newest release that is published for this platform"
    return (Fix(title, install_package(machine.observed.python, f"{one.name}=={release}"), (DOWNLOAD,)),)


RULES = (windows_native_no_gpu, no_cuda_wheel_for_platform, python_version_unsupported, package_not_installable)
