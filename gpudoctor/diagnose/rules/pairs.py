"""GD5: the parts of one stack that must be of the same release, or built for the same CUDA."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Facts, Stack
from gpudoctor.derive.packages import Violation, called
from gpudoctor.diagnose.fixes import DOWNLOAD, install_package, remove_packages
from gpudoctor.diagnose.package_facts import (
    JAX_PARTS,
    JAXLIB,
    TORCHAUDIO,
    TORCHVISION,
    demanded,
    local,
    named_by,
    numbers,
    shown,
    there,
)
from gpudoctor.diagnose.rule import not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Distribution, Framework, Missing, Python, Toolkit


@rule("GD508", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK)
def jax_plugin_version_mismatch(framework: Framework, stack: Stack, python: Python | Missing) -> Iterator[Problem]:
    """The parts of JAX are of releases that do not go together.

    ## Why it matters
    JAX comes in parts: jax, jaxlib and, for CUDA, a plugin and its PJRT client. At import jax refuses a jaxlib that is newer than itself or
    older than it needs, and a plugin of another release than jaxlib is left unused: JAX then computes on the CPU, after one warning.

    ## What to do
    Install all of them in one command with the extra for your CUDA, so that the installer chooses parts of one release.

    ## References
    - https://docs.jax.dev/en/latest/installation.html
    - https://github.com/jax-ml/jax/blob/main/jaxlib/plugin_support.py
    """
    if framework.name != "jax":
        not_applicable("not JAX")
    refused = [one for one in stack.violations if named_by(one) == jax_plugin_version_mismatch.name]
    said = list(dict.fromkeys(f"{one.demand.text}, and {called(one.found)} {there(stack)}" for one in refused))
    unused = [] if refused else _unfit(stack)
    if not refused and not unused:
        return
    jax = stack.distributions.get("jax")
    plugin = next((one.name for one in stack.distributions.values() if one.name.startswith("jax-cuda")), "")
    extra = f"[cuda{plugin[8:10]}]" if plugin else ""
    pin = f"=={jax.version.partition('+')[0]}" if jax is not None else ""
    yield Problem(
        message=f"{'; '.join(said or unused)}.",
        confidence=Confidence.CERTAIN if said else Confidence.LIKELY,
        evidence=(
            *(shown(one) for one in stack.distributions.values() if one.name in JAX_PARTS or one.name.startswith("jax-cuda")),
            *demanded(refused),
        ),
        fixes=(
            Fix(
                "Install the parts of one release together",
                install_package(python, f"jax{extra}{pin}"),
                (DOWNLOAD,),
                "python -c 'import jax; print(jax.devices())'",
            ),
        ),
    )


def _unfit(stack: Stack) -> list[str]:
    """What JAX itself compares at import, where no metadata says it."""
    jax, jaxlib = stack.distributions.get("jax"), stack.distributions.get(JAXLIB)
    if jaxlib is None or not numbers(jaxlib.version):
        return []
    said = []
    if jax is not None and numbers(jax.version) < numbers(jaxlib.version):
        said.append(f"{called(jaxlib)} is newer than {called(jax)}, which refuses it")
    plugins = (one for one in stack.distributions.values() if one.name.startswith("jax-cuda") and one.name.endswith("-plugin"))
    said += (
        f"{called(one)} is of another release than {called(jaxlib)}, which leaves it unused"
        for one in plugins
        if numbers(one.version) != numbers(jaxlib.version)
    )
    return said


def _beside_torch(stack: Stack, name: str, refused: list[Violation], python: Python | Missing, why: str) -> Iterator[Problem]:
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
        fixes=(
            Fix(
                f"Let the installer choose the {name} that fits this torch",
                install_package(python, name, f"torch=={torch.version}"),
                (DOWNLOAD,),
                f"python -c 'import {name}; print({name}.__version__)'",
            ),
        ),
    )


def _other_build(torch: Distribution, library: Distribution) -> str:
    return f"torch {torch.version} and {called(library)} are builds for different CUDA releases"


@rule("GD509", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def torch_torchvision_mismatch(framework: Framework, stack: Stack, python: Python | Missing) -> Iterator[Problem]:
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
    yield from _beside_torch(stack, TORCHVISION, refused, python, "its operators do not load.")


@rule("GD510", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def torch_torchaudio_mismatch(framework: Framework, stack: Stack, python: Python | Missing) -> Iterator[Problem]:
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
    yield from _beside_torch(stack, TORCHAUDIO, refused, python, "its extension does not load.")


@rule("GD516", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.ENVIRONMENT)
def cupy_wheel_cuda_mismatch(stack: Stack, facts: Facts, python: Python | Missing) -> Iterator[Problem]:
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
            fixes=(Fix("Remove all of them, then install the one for your CUDA", remove_packages(python, *(one.name for one in wheels))),),
        )
        return
    wheel = wheels[0]
    wanted = wheel.name.removeprefix("cupy-cuda")[:2]
    found = dict(_cuda_majors(stack, facts))
    if not wanted.isdigit() or not found or wanted in found:
        return
    yield Problem(
        message=f"{called(wheel)} is for CUDA {wanted}, and the CUDA here is {' and '.join(found)}.",
        severity=Severity.ERROR if stack.supposed else None,
        confidence=Confidence.LIKELY,
        evidence=(shown(wheel), *(Evidence(f"CUDA {major}", where, where) for major, where in found.items())),
        fixes=(
            Fix(
                "Install the wheel for the CUDA that is there",
                install_package(python, f"cupy-cuda{max(found)}x", replace=wheel.name),
                (DOWNLOAD,),
                "python -c 'import cupy; cupy.show_config()'",
            ),
        ),
    )


def _cuda_majors(stack: Stack, facts: Facts) -> Iterator[tuple[str, str]]:
    """The major releases of CUDA whose runtime is there, and where."""
    toolkits: tuple[Toolkit, ...] = () if isinstance(facts.snapshot.toolkits, Missing) else facts.snapshot.toolkits
    for toolkit in toolkits:
        if not isinstance(toolkit.toolkit_cuda, Missing):
            yield toolkit.toolkit_cuda.value.partition(".")[0], f"toolkit {toolkit.path or toolkit.toolkit_cuda.where}"
    for one in stack.distributions.values():
        if one.name.startswith("nvidia-cuda-runtime"):
            yield one.version.partition(".")[0], f"{called(one)} in {one.where}"


RULES = (jax_plugin_version_mismatch, torch_torchvision_mismatch, torch_torchaudio_mismatch, cupy_wheel_cuda_mismatch)
