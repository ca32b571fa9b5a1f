"""GD4: libraries that a framework asks for and the loader would not find."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Facts, Hardware
from gpudoctor.diagnose.build_facts import called
from gpudoctor.diagnose.fixes import DOWNLOAD, again, install_package
from gpudoctor.diagnose.library_facts import WHEEL, asked, folder, installed_wheels, named, same_name, unfound, uses
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Fact, Framework, LibraryUse, Missing, Python

VERIFY = "gpudoctor xray"


@rule("GD401", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK)
def cuda_library_missing(framework: Framework, facts: Facts, hardware: Hardware, python: Python | Missing) -> Iterator[Problem]:
    """A CUDA library that the framework needs is nowhere on this machine.

    ## Why it matters
    TensorFlow opens CUDA's libraries by name when it starts; where one is missing it says so in its log ("Could not find cuda drivers",
    "Cannot dlopen some GPU libraries") and goes on without the GPU. PyTorch and JAX stop with an ImportError. The package `tensorflow`
    alone brings none of them.

    ## What to do
    Install the libraries as packages into the environment, in the releases that the framework was built with.

    ## References
    - https://www.tensorflow.org/install/pip
    - https://docs.jax.dev/en/latest/installation.html
    """
    lost = _nowhere(unfound(uses(framework, facts, hardware)), cudnn=False)
    if lost:
        yield _missing(lost, framework, facts, python)


@rule("GD402", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK)
def cudnn_missing(framework: Framework, facts: Facts, hardware: Hardware, python: Python | Missing) -> Iterator[Problem]:
    """The cuDNN that the framework needs is nowhere on this machine.

    ## Why it matters
    CuDNN is not part of a CUDA toolkit: it is a download of its own. Without it TensorFlow registers no GPU, and PyTorch and JAX do not
    start.

    ## What to do
    Install it as a package into the environment, in the release that the framework was built with.

    ## References
    - https://docs.nvidia.com/deeplearning/cudnn/installation/latest/
    """
    lost = _nowhere(unfound(uses(framework, facts, hardware)), cudnn=True)
    if lost:
        yield _missing(lost, framework, facts, python)


def _nowhere(found: tuple[LibraryUse, ...], *, cudnn: bool) -> tuple[LibraryUse, ...]:
    return tuple(use for use in found if not same_name(use) and (use.component == "cudnn") is cudnn)


def _missing(lost: tuple[LibraryUse, ...], framework: Framework, facts: Facts, python: Python | Missing) -> Problem:
    it = "is" if len({use.wanted for use in lost}) == 1 else "are"
    other = next((place.path for use in lost for place in use.elsewhere), "")
    beside = f"; {other} is of another release" if other else ""
    return Problem(
        message=f"{called(framework)} needs {named(lost)}, which {it} nowhere on this machine{beside}.",
        only_for=framework.name,
        evidence=tuple(asked(lost)),
        fixes=bring(framework, facts, lost, python),
    )


def bring(framework: Framework, facts: Facts, lost: tuple[LibraryUse, ...], python: Python | Missing) -> tuple[Fix, ...]:
    """The command that installs what is missing as packages; those that are installed by their metadata are installed again."""
    gone = installed_wheels(lost, framework, facts)
    if gone:
        wheels = tuple({one.name: one for _, one in gone}.values())
        title = f"Reinstall {' and '.join(one.name for one in wheels)}, whose files are gone"
        first = Fix(title, again(python, *wheels), (DOWNLOAD,), VERIFY)
        rest = tuple(use for use in lost if use not in {use for use, _ in gone})
        return (first, *bring(framework, facts, rest, python)) if rest else (first,)
    version = f"=={framework.version.value.partition('+')[0]}" if isinstance(framework.version, Fact) else ""
    if framework.name == "tensorflow" and any(_with_extra(text) for row in facts.published(framework) for text in row.requires):
        install = install_package(python, f"tensorflow[and-cuda]{version}")
        return (Fix("Let TensorFlow bring them, in the releases that it was built with", install, (DOWNLOAD,), VERIFY),)
    if framework.name == "tensorflow":
        which = ", ".join(dict.fromkeys(use.wanted for use in lost))
        return (Fix(f"Install the CUDA toolkit and cuDNN that bring {which}; no package brings them for this release.", needs=(DOWNLOAD,)),)
    if framework.name == "torch":
        reinstall = install_package(python, "--force-reinstall", f"torch{version}")
        return (Fix("Install PyTorch again, with what it requires", reinstall, (DOWNLOAD,), VERIFY),)
    cuda = facts.effective_cuda(framework)
    major = "12" if isinstance(cuda, Missing) else str(cuda.version.major)
    return (Fix("Let JAX bring them", install_package(python, f"jax[cuda{major}]{version}"), (DOWNLOAD,), VERIFY),)


def _with_extra(requirement: str) -> bool:
    return requirement.endswith('extra=="and-cuda"')


@rule("GD403", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK)
def cuda_libs_not_on_loader_path(framework: Framework, facts: Facts, hardware: Hardware) -> Iterator[Problem]:
    """CUDA's libraries are on disk, and the loader does not look where they are.

    ## Why it matters
    The dynamic loader looks in the folders that a library itself names, in LD_LIBRARY_PATH, in its cache and in its own default
    folders. A toolkit in /usr/local, or a conda environment that is not active, is in none of them until somebody says so.

    ## What to do
    Add the folder to LD_LIBRARY_PATH for this environment only, or let the framework bring the libraries as packages.

    ## References
    - https://man7.org/linux/man-pages/man8/ld.so.8.html
    - https://docs.nvidia.com/cuda/cuda-installation-guide-linux/#post-installation-actions
    """
    yield from _beside_the_path(framework, facts, hardware, wheels=False)


@rule("GD404", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK)
def pip_nvidia_libs_not_on_path(framework: Framework, facts: Facts, hardware: Hardware) -> Iterator[Problem]:
    """NVIDIA's packages hold the libraries, and the framework does not look there.

    ## Why it matters
    The wheels nvidia-... put their libraries into folders of site-packages that the loader does not know. A framework finds them only
    where its own files name those folders relative to themselves: builds before its support for them do not, nor does one that lies in
    another site-packages than they.

    ## What to do
    Install framework and libraries into the same environment; for a build that does not look there, add the folders to LD_LIBRARY_PATH.

    ## References
    - https://www.tensorflow.org/install/pip
    - https://man7.org/linux/man-pages/man8/ld.so.8.html
    """
    yield from _beside_the_path(framework, facts, hardware, wheels=True)


def _beside_the_path(framework: Framework, facts: Facts, hardware: Hardware, *, wheels: bool) -> Iterator[Problem]:
    found = [(use, same_name(use)) for use in unfound(uses(framework, facts, hardware))]
    nearest = [(use, next((place for place in there if place.why == WHEEL), there[0])) for use, there in found if there]
    beside = [(use, place) for use, place in nearest if (place.why == WHEEL) is wheels]
    if not beside:
        return
    folders = list(dict.fromkeys(folder(place.path) for _, place in beside))
    what = "NVIDIA's packages hold" if wheels else "this machine holds"
    them = "it" if len({use.wanted for use, _ in beside}) == 1 else "them"
    yield Problem(
        message=f"{called(framework)} does not find {named(use for use, _ in beside)}: {what} {them} in {folders[0]}, where the loader does not look.",
        only_for=framework.name,
        evidence=(
            *(Evidence(use.wanted, place.path, f"on disk ({place.why})") for use, place in beside[:4]),
            *asked(use for use, _ in beside[:1]),
        ),
        fixes=(
            Fix(
                f"Tell the loader where to find {them}, for this environment only",
                f'export LD_LIBRARY_PATH={":".join(folders)}"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"',
                verify=VERIFY,
            ),
        ),
    )


RULES = (cuda_library_missing, cudnn_missing, cuda_libs_not_on_loader_path, pip_nvidia_libs_not_on_path)
