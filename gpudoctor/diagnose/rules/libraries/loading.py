"""GD4: libraries that a framework asks for and the loader would not find."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, MachineView, Stack
from gpudoctor.diagnose.advice.installing import from_conda, install_framework
from gpudoctor.diagnose.advice.needs import DOWNLOAD, ROOT
from gpudoctor.diagnose.advice.packages import install_package, reinstall_packages
from gpudoctor.diagnose.advice.releases import TORCH_INDEX
from gpudoctor.diagnose.advice.shell import shell_list
from gpudoctor.diagnose.library_facts import asked, folder, installed_wheels, named, same_name, unfound, uses
from gpudoctor.diagnose.package_facts import system_package
from gpudoctor.findings import Evidence, Fix, FixKind, Problem
from gpudoctor.snapshot import Distribution, Fact, FoundBy, Framework, LibraryUse, Missing, Python


def _nowhere(found: tuple[LibraryUse, ...], *, cudnn: bool) -> tuple[LibraryUse, ...]:
    return tuple(use for use in found if not same_name(use) and (use.component == "cudnn") is cudnn)


def _missing(lost: tuple[LibraryUse, ...], framework: Framework, machine: MachineView, python: Python | Missing) -> Problem:
    it = "is" if len({use.wanted for use in lost}) == 1 else "are"
    other = next((place.path for use in lost for place in use.elsewhere), "")
    beside = f"; {other} is of another release" if other else ""
    return Problem(
        message=f"{framework.label} needs {named(lost)}, which {it} nowhere on this machine{beside}.",
        only_for=framework.name,
        evidence=tuple(asked(lost)),
        fixes=bring(framework, machine, lost, python),
    )


def bring(framework: Framework, machine: MachineView, lost: tuple[LibraryUse, ...], python: Python | Missing) -> tuple[Fix, ...]:
    """The command that installs what is missing as packages; those that are installed by their metadata are installed again."""
    release = framework.release
    vendor = system_package(framework, machine)
    if vendor:
        return (Fix(f"Reinstall {vendor} with what it requires", f"sudo apt-get install --reinstall {vendor}", (ROOT, DOWNLOAD)),)
    gone = installed_wheels(lost, framework, machine)
    if gone:
        wheels = tuple({one.name: one for _, one in gone}.values())
        title = f"Reinstall {' and '.join(one.name for one in wheels)}, whose files are gone"
        first = Fix(title, reinstall_packages(python, *wheels), (DOWNLOAD,))
        rest = tuple(use for use in lost if use not in {use for use, _ in gone})
        return (first, *bring(framework, machine, rest, python)) if rest else (first,)
    extra = any(_with_extra(text) for row in machine.published(framework) for text in row.requires)
    if framework.name == "tensorflow" and extra and not from_conda(machine, "tensorflow"):
        install = install_package(python, f"tensorflow[and-cuda]=={release}")
        return (Fix("Install TensorFlow's CUDA libraries, in the releases that it was built with", install, (DOWNLOAD,)),)
    if framework.name == "tensorflow" and not from_conda(machine, "tensorflow"):
        which = ", ".join(dict.fromkeys(use.wanted for use in lost))
        toolkit = f"Install the CUDA toolkit and cuDNN that hold {which}; no package has them for this release."
        found = install_framework(machine, "tensorflow", kind=FixKind.INSTEAD)
        return (Fix(toolkit, needs=(DOWNLOAD,)), *found)
    if framework.name == "torch" and not from_conda(machine, "torch"):
        return (_torch_again(framework, machine, python),)
    return install_framework(machine, framework.name, prefer=release)


def _with_extra(requirement: str) -> bool:
    return requirement.endswith('extra=="and-cuda"')


def _torch_again(framework: Framework, machine: MachineView, python: Python | Missing) -> Fix:
    """The same build: its local version names its index."""
    version = framework.version.value if isinstance(framework.version, Fact) else ""
    tag = version.partition("+")[2]
    index = f"{TORCH_INDEX}/{tag}" if tag.startswith("cu") and tag[2:].isdigit() and not _is_default(version, machine) else ""
    pin = f"torch=={version if index else version.partition('+')[0]}" if version else "torch"
    return Fix("Reinstall PyTorch with what it requires", install_package(python, "--force-reinstall", pin, index=index), (DOWNLOAD,))


def _is_default(version: str, machine: MachineView) -> bool:
    """Whether the default index has just this build."""
    stack = machine.stack_or_missing
    release, _, tag = version.partition("+")
    row = stack.row(Distribution("torch", release, "")) if isinstance(stack, Stack) else None
    cuda = row.built_with_cuda if row is not None and row.accelerator == "cuda" else None
    return cuda is not None and tag == f"cu{cuda.major}{cuda.minor}"


def _beside_the_path(framework: Framework, machine: MachineView, hardware: Hardware, *, wheels: bool) -> Iterator[Problem]:
    found = [(use, same_name(use)) for use in unfound(uses(framework, machine, hardware))]
    nearest = [(use, next((place for place in there if place.found_by is FoundBy.WHEEL), there[0])) for use, there in found if there]
    beside = [(use, place) for use, place in nearest if (place.found_by is FoundBy.WHEEL) is wheels]
    if not beside:
        return
    folders = list(dict.fromkeys(folder(place.path) for _, place in beside))
    what = "NVIDIA's packages hold" if wheels else "this machine holds"
    them = "it" if len({use.wanted for use, _ in beside}) == 1 else "them"
    yield Problem(
        message=f"{framework.label} does not find {named(use for use, _ in beside)}: {what} {them} in {folders[0]}, where the loader does not look.",
        only_for=framework.name,
        evidence=(
            *(Evidence(use.wanted, place.path, f"on disk ({place.why})") for use, place in beside[:4]),
            *asked(use for use, _ in beside[:1]),
        ),
        fixes=(
            Fix(
                f"Tell the loader where to find {them}, for this environment only",
                f'export LD_LIBRARY_PATH={shell_list(folders)}"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"',
            ),
        ),
    )
