"""GD5, GD6 and GD7: the framework's build, whether there is one, and the settings that hide a GPU from it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from gpudoctor.derive import EffectiveCuda, Hardware, MachineView, Site, Visibility
from gpudoctor.derive.visibility import VARIABLE
from gpudoctor.diagnose.fixes import unset
from gpudoctor.diagnose.installing import install, install_framework, release_of
from gpudoctor.diagnose.package_facts import by_directml, directml, from_system
from gpudoctor.diagnose.releases import pick
from gpudoctor.diagnose.requirements import Answer, judged
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Level, Policy, Problem, Rung, Severity, SubjectKind
from gpudoctor.requirements import FRAMEWORKS
from gpudoctor.snapshot import Cause, Fact, Framework, Missing, Python, Snapshot


@rule("GD501", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK)
def cpu_only_build(framework: Framework, effective: EffectiveCuda | Missing, hardware: Hardware, machine: MachineView) -> Iterator[Problem]:
    """The framework's build has no CUDA.

    ## Why it matters
    Frameworks are published with and without CUDA, under the same or nearly the same name. A build without it never uses a GPU,
    whatever driver and libraries are installed, and most say nothing. For JAX the CUDA half is a plugin of its own.

    It is an error where no other framework of the environment could use the GPU, else a warning.

    ## What to do
    Replace it by a build with CUDA. Nothing below the framework has to change.

    ## References
    - https://www.tensorflow.org/install/pip
    - https://pytorch.org/get-started/locally/
    - https://docs.jax.dev/en/latest/installation.html
    """
    if not hardware:
        not_applicable("there is no NVIDIA GPU that a CUDA build could use")
    if by_directml(framework, machine):
        not_applicable("it reaches the GPU by DirectML")
    if not isinstance(effective, Missing):
        return
    if effective.cause is not Cause.ABSENT:
        need(effective)
    asker = machine.asked_for_by(framework)
    if asker is not None:
        not_applicable(f"{asker.name} {asker.version} requires {framework.name}, and nobody asked for it")
    version = framework.version.value if isinstance(framework.version, Fact) else ""
    rocm = " (it is a ROCm build, for AMD GPUs)" if framework.rocm_build is True else ""
    yield Problem(
        message=_cpu_only(framework, machine, version, rocm),
        only_for=framework.name,
        evidence=(Evidence("build", effective.reason, _where(framework)),),
        fixes=_with_cuda(framework, machine),
    )


def _cpu_only(framework: Framework, machine: MachineView, version: str, rocm: str) -> str:
    package = directml(framework, machine)
    if package:
        return f"{package} uses DirectX, which exists on Windows and in WSL only: on Linux it does not use the NVIDIA GPU, nor CUDA."
    vendor = from_system(framework, machine)
    whose = f" ({vendor})" if vendor else ""
    return f"{framework.distribution or framework.name} {version}{whose} is built without CUDA{rocm}, so it cannot use the NVIDIA GPU."


def _where(framework: Framework) -> str:
    return framework.location if isinstance(framework.location, str) else framework.distribution


def _with_cuda(framework: Framework, machine: MachineView) -> tuple[Fix, ...]:
    """How to get a build with CUDA, of the same release where that works here."""
    replace = framework.distribution if framework.name == "tensorflow" and framework.distribution != "tensorflow" else ""
    return install_framework(machine, framework.name, prefer=release_of(framework), replace=replace)


_ELSEWHERE = Fix("Examine the environment that you train with", "gpudoctor check --python PATH", kind=FixKind.CHECK)


@rule("GD601", severity=Severity.WARNING, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.ENVIRONMENT, predicts=False)
def framework_missing(machine: MachineView, snapshot: Snapshot, policy: Policy, python: Python | Missing) -> Iterator[Problem]:
    """No framework, or not the required one, is installed in the examined environment.

    ## Why it matters
    Training was to be proven, and there is nothing to train with: the check could only look at the driver. Most often another
    environment was meant. A framework that was asked for with `--require` or `--framework` and is not there is an error.

    ## What to do
    Name the environment with `--python`, or activate it, or install a framework into this one.

    ## References
    - https://www.tensorflow.org/install/pip
    """
    if snapshot.origin == "supposed":
        not_applicable("nothing was asked for but what was named")
    found = need(snapshot.frameworks)
    place = f"{python.executable} ({python.why})" if isinstance(python, Python) else "the examined environment"
    names = [one.name for one in found]
    lacking = {name: (name, "named with --framework") for name in policy.frameworks if name not in names}
    required = [one.requirement for one in judged(machine, None) if one.answer is Answer.LACKING and one.requirement.subject in FRAMEWORKS]
    lacking |= {one.subject: (one.text, "required") for one in required}
    for name, (text, wanted) in lacking.items():
        yield Problem(
            message=f"{text} is {wanted}, and {name if name != text else 'it'} is not installed in {place}.",
            title=f"{text} is {wanted} and not installed",
            severity=Severity.ERROR,
            evidence=(Evidence("frameworks found", ", ".join(names) or "none", "the folders on sys.path"),),
            fixes=(_ELSEWHERE, *install_framework(machine, name, accepts=text.removeprefix(name) if text.startswith(name) else "")),
        )
    if found or lacking:
        return
    look_only = policy.level in {None, Level.LOOK, Level.TOUCH}
    yield Problem(
        message=f"Neither TensorFlow, PyTorch nor JAX is installed in {place}.",
        severity=Severity.NOTE if look_only else None,
        evidence=(Evidence("frameworks found", "none", "the folders on sys.path"),),
        fixes=(_ELSEWHERE, *_any_framework(machine)),
    )


def _any_framework(machine: MachineView) -> tuple[Fix, ...]:
    """The first framework of which a release works here, and the others in its place."""
    found = [(name, one) for name in FRAMEWORKS if (one := pick(machine, name)) is not None]
    return tuple(
        install(machine, name, one, kind=FixKind.INSTEAD if number else FixKind.FIX) for number, (name, one) in enumerate(found)
    ) or install_framework(machine, next(iter(FRAMEWORKS)))


@rule("GD701", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1", about=SubjectKind.ENVIRONMENT, predicts=False)
def cuda_visible_devices_masked(visibility: Visibility, site: Site) -> Iterator[Problem]:
    """CUDA_VISIBLE_DEVICES hides GPUs from every CUDA program.

    ## Why it matters
    CUDA shows a program only the devices that this variable names, and stops at the first entry that names none. Set to nothing or
    to -1 it hides all. A list that names fewer devices than there are is normal, and how schedulers allot them.

    ## What to do
    Unset it, or correct the list; `nvidia-smi -L` shows what there is. In a scheduler's job do not unset it: ask for a GPU.

    ## References
    - https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables
    """
    if not visibility.there:
        not_applicable("CUDA shows no GPU without the variable either")
    value = f"{VARIABLE}={visibility.value!r}" if visibility.value else f"{VARIABLE} is set and empty"
    if visibility.shown and visibility.shown >= len(visibility.entries):
        return
    if visibility.shown:
        first = visibility.entries[visibility.shown]
        message = f"{value} names {len(visibility.entries)} devices, CUDA shows {visibility.shown}: {first!r} names none and ends the list."
    else:
        message = f"{value}, and so CUDA shows none of {visibility.there} {'GPU' if visibility.there == 1 else 'GPUs'}."
    yield Problem(
        message=message,
        severity=Severity.WARNING if visibility.shown else None,
        evidence=(
            Evidence(VARIABLE, visibility.value or "empty", "environment"),
            Evidence("devices that CUDA shows", f"{visibility.shown}, without the variable {visibility.there}", "cuInit, cuDeviceGetCount"),
        ),
        fixes=(_unmask(site, visibility),),
    )


def _unmask(site: Site, visibility: Visibility) -> Fix:
    if site.scheduler:
        return Fix(f"Ask {site.scheduler} for a GPU (in Slurm --gres=gpu:1); it sets this variable, so do not unset it.")
    if visibility.shown:
        right = ",".join(visibility.entries[: visibility.shown])
        title = f"Keep the entries that name a GPU, here and in the profile or service file that sets {VARIABLE}"
        return Fix(title, f"export {VARIABLE}={shlex.quote(right)}")
    return unset(VARIABLE, "the profile or service file that sets it")


RULES = (cpu_only_build, framework_missing, cuda_visible_devices_masked)
