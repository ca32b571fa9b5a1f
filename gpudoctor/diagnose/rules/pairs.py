"""GD5: the parts of one stack that must be of the same release, or built for the same CUDA."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Driver, MachineView, Stack
from gpudoctor.derive.packages import Violation, called
from gpudoctor.derive.platform import LINUX
from gpudoctor.diagnose.fixes import DOWNLOAD, install_package
from gpudoctor.diagnose.installing import install_framework, release_of
from gpudoctor.diagnose.package_facts import (
    JAX_PARTS,
    JAXLIB,
    TORCHAUDIO,
    TORCHVISION,
    compares_plugins,
    demanded,
    local,
    named_by,
    numbers,
    other_plugins,
    shown,
    there,
)
from gpudoctor.diagnose.releases import TORCH_INDEX, newest
from gpudoctor.diagnose.rule import not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Distribution, Framework, Missing, Toolkit
from gpudoctor.versions import Version


@rule("GD508", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK)
def jax_plugin_version_mismatch(framework: Framework, stack: Stack, machine: MachineView) -> Iterator[Problem]:
    """The parts of JAX are of releases that do not go together.

    ## Why it matters
    JAX comes in parts: jax, jaxlib and, for CUDA, a plugin and its PJRT client. At import jax refuses a jaxlib that is newer than itself or
    older than it needs, and since 0.5.3 jaxlib ignores a plugin whose version differs: JAX then computes on the CPU, after one warning.

    ## What to do
    Install all of them in one command with the extra for your CUDA, so that the installer chooses parts of one release.

    ## References
    - https://docs.jax.dev/en/latest/installation.html
    - https://github.com/jax-ml/jax/blob/main/jaxlib/plugin_support.py
    """
    if framework.name != "jax":
        not_applicable("not JAX")
    refused = [one for one in stack.violations if named_by(one) == jax_plugin_version_mismatch.name and _minded(one, stack)]
    said = list(dict.fromkeys(f"{one.demand.text}, and {called(one.found)} {there(stack)}" for one in refused))
    unused = [] if refused else _unfit(stack)
    if not refused and not unused:
        return
    yield Problem(
        message=f"{'; '.join(said or unused)}.",
        confidence=Confidence.CERTAIN if said else Confidence.LIKELY,
        evidence=(
            *(shown(one) for one in stack.distributions.values() if one.name in JAX_PARTS or one.name.startswith("jax-cuda")),
            *demanded(refused),
        ),
        fixes=_one_release(framework, stack, machine),
    )


def _one_release(framework: Framework, stack: Stack, machine: MachineView) -> tuple[Fix, ...]:
    """All parts of one release: with CUDA where a plugin is there or asked for, else jax and jaxlib."""
    title = "Install the parts of one release together"
    if any(one.name.startswith("jax-cuda") for one in stack.distributions.values()):
        return install_framework(machine, "jax", prefer=release_of(framework), title=title)
    release = newest(machine, "jax", accepts=f"=={release_of(framework)}") or newest(machine, "jax")
    wanted = f"jax=={release}" if release else "jax"
    return (Fix(title, install_package(machine.observed.python, "--upgrade", wanted, "jaxlib"), (DOWNLOAD,)),)


def _minded(one: Violation, stack: Stack) -> bool:
    """Whether an installer, or JAX itself, minds a requirement that is not met: an installed plugin only a jaxlib that compares it."""
    jaxlib = stack.distributions.get(JAXLIB)
    return stack.supposed or jaxlib is None or not one.found.name.startswith("jax-cuda") or compares_plugins(jaxlib)


def _unfit(stack: Stack) -> list[str]:
    """What JAX itself compares at import, where no metadata says it."""
    jax, jaxlib = stack.distributions.get("jax"), stack.distributions.get(JAXLIB)
    if jaxlib is None or not numbers(jaxlib.version):
        return []
    said = []
    if jax is not None and numbers(jax.version) < numbers(jaxlib.version):
        said.append(f"{called(jaxlib)} is newer than {called(jax)}, which refuses it")
    others = other_plugins(stack) if compares_plugins(jaxlib) else ()
    return said + [f"{called(one)} does not match {called(jaxlib)}, which ignores it" for one in others]


def _beside_torch(stack: Stack, name: str, refused: list[Violation], machine: MachineView, why: str) -> Iterator[Problem]:
    """What is wrong between torch and a library that is built for one release of it."""
    torch, library = stack.distributions.get("torch"), stack.distributions.get(name)
    if torch is None or library is None:
        not_applicable(f"torch and {name} are not both there")
    builds = {local(one.version) for one in (torch, library)}
    if not refused and (len(builds) == 1 or "" in builds):
        return
    differ = f"{refused[0].demand.text}, and torch {torch.version} {there(stack)}" if refused else _other_build(torch, library)
    yield Problem(
        message=f"{differ}: {why}",
        severity=Severity.ERROR if stack.supposed else None,
        evidence=(shown(torch), shown(library), *demanded(refused)),
        fixes=_fitting(torch, library, machine),
    )


def _fitting(torch: Distribution, library: Distribution, machine: MachineView) -> tuple[Fix, ...]:
    """The release of the library that was published with this torch, from the index of its build; where none is known, both anew."""
    release, _, tag = torch.version.partition("+")
    stack = machine.stack_or_missing
    rows = () if isinstance(stack, Missing) else machine.matrix.releases(library.name, stack.platform or LINUX)
    short = "" if isinstance(stack, Missing) else stack.python
    fitting = [row for row in rows if f"torch=={release}" in row.requires and (not short or not row.pythons or short in row.pythons)]
    if not fitting:
        return install_framework(machine, "torch", title=f"Install torch and {library.name} of releases that fit")
    local_version = f"+{tag}" if tag.startswith(("cu", "cpu")) else ""
    index = f"{TORCH_INDEX}/{tag}" if local_version else ""
    pin = f"{library.name}=={fitting[-1].release}{local_version}"
    # of the same public version pip leaves what is there, whatever CUDA it is built for
    again = (
        ("--force-reinstall", "--no-deps") if library.version.partition("+")[0] == str(fitting[-1].release) and not local_version else ()
    )
    command = install_package(machine.observed.python, *again, pin, index=index)
    return (Fix(f"Install the {library.name} that was published with torch {torch.version}", command, (DOWNLOAD,)),)


def _other_build(torch: Distribution, library: Distribution) -> str:
    return f"torch {torch.version} and {called(library)} are builds for different CUDA releases"


@rule("GD509", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def torch_torchvision_mismatch(framework: Framework, stack: Stack, machine: MachineView) -> Iterator[Problem]:
    """The torchvision that is there was built for another torch.

    ## Why it matters
    Torchvision's compiled operators link to one release of torch. With another its import fails, or says that the operator
    torchvision::nms does not exist; a build for another CUDA is refused at import. Programs that only use torch are not touched.

    ## What to do
    Install the torchvision that was published with this torch, from the same index.

    ## References
    - https://github.com/pytorch/vision#installation
    - https://github.com/pytorch/vision/blob/main/torchvision/extension.py
    """
    if framework.name != "torch":
        not_applicable("not torch")
    refused = [one for one in stack.violations if named_by(one) == torch_torchvision_mismatch.name]
    yield from _beside_torch(stack, TORCHVISION, refused, machine, "its operators do not load.")


@rule("GD510", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def torch_torchaudio_mismatch(framework: Framework, stack: Stack, machine: MachineView) -> Iterator[Problem]:
    """The torchaudio that is there was built for another torch.

    ## Why it matters
    Torchaudio's extension links to one release of torch: with another it does not load, with undefined symbols as the reason, and a
    build for another CUDA is refused at import. Programs that only use torch are not touched.

    ## What to do
    Install the torchaudio that was published with this torch, from the same index.

    ## References
    - https://docs.pytorch.org/audio/stable/installation.html
    """
    if framework.name != "torch":
        not_applicable("not torch")
    refused = [one for one in stack.violations if named_by(one) == torch_torchaudio_mismatch.name]
    yield from _beside_torch(stack, TORCHAUDIO, refused, machine, "its extension does not load.")


@rule("GD516", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.ENVIRONMENT)
def cupy_wheel_cuda_mismatch(stack: Stack, machine: MachineView) -> Iterator[Problem]:
    """CuPy's wheel is for another CUDA than the one here, or there are several.

    ## Why it matters
    CuPy is published once for each major release of CUDA (cupy-cuda11x, cupy-cuda12x) and loads that release's libraries when a program
    first computes. The wheels all install the package cupy: two of them overwrite each other's files.

    ## What to do
    Keep one CuPy wheel, the one for the CUDA that is installed here.

    ## References
    - https://docs.cupy.dev/en/stable/install.html
    """
    wheels = [one for one in stack.distributions.values() if one.name.startswith("cupy")]
    if not wheels:
        not_applicable("no CuPy is listed")
    if len(wheels) > 1:
        yield Problem(
            message=f"{' and '.join(map(called, wheels))} {there(stack, many=True)}: both hold the package cupy.",
            evidence=tuple(map(shown, wheels)),
            fixes=_one_cupy(wheels, machine),
        )
        return
    wheel = wheels[0]
    wanted = wheel.name.removeprefix("cupy-cuda")[:2]
    found = dict(_cuda_majors(stack, machine))
    if not wanted.isdigit() or not found or wanted in found:
        return
    yield Problem(
        message=f"{called(wheel)} is for CUDA {wanted}, and the CUDA here is {' and '.join(found)}.",
        severity=Severity.ERROR if stack.supposed else None,
        confidence=Confidence.LIKELY,
        evidence=(shown(wheel), *(Evidence(f"CUDA {major}", where, where) for major, where in found.items())),
        fixes=_one_cupy(wheels, machine, max(found)),
    )


def _one_cupy(wheels: list[Distribution], machine: MachineView, major: str = "") -> tuple[Fix, ...]:
    """One wheel in place of those that are there: for the CUDA that is here, or else for the one that the driver serves."""
    driver = machine.driver_or_missing
    served = driver.cuda_served if isinstance(driver, Driver) else None
    stack = machine.stack_or_missing
    here = dict(_cuda_majors(stack, machine)) if isinstance(stack, Stack) else {}
    wanted = major or max(here, default="") or (str(served.major) if isinstance(served, Version) else "12")
    name = f"cupy-cuda{wanted}x"
    release = newest(machine, name)
    if not release:
        return (Fix(f"Remove {' and '.join(one.name for one in wheels)}: no CuPy for CUDA {wanted} and this Python is known."),)
    command = install_package(machine.observed.python, f"{name}=={release}", replace=tuple(one.name for one in wheels))
    return (Fix(f"Keep one CuPy wheel, the one for CUDA {wanted}", command, (DOWNLOAD,)),)


def _cuda_majors(stack: Stack, machine: MachineView) -> Iterator[tuple[str, str]]:
    """The major releases of CUDA whose runtime is there, and where."""
    toolkits: tuple[Toolkit, ...] = () if isinstance(machine.observed.toolkits, Missing) else machine.observed.toolkits
    for toolkit in toolkits:
        if not isinstance(toolkit.toolkit_cuda, Missing):
            yield toolkit.toolkit_cuda.value.partition(".")[0], f"toolkit {toolkit.path or toolkit.toolkit_cuda.where}"
    for one in stack.distributions.values():
        if one.name.startswith("nvidia-cuda-runtime"):
            yield one.version.partition(".")[0], f"{called(one)} in {one.where}"


RULES = (jax_plugin_version_mismatch, torch_torchvision_mismatch, torch_torchaudio_mismatch, cupy_wheel_cuda_mismatch)
