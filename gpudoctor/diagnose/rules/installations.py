"""GD5 and GD6: one environment mixed of several, or taken for another."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive.packages import called, stack_of
from gpudoctor.diagnose.fixes import DOWNLOAD, install_package, remove_packages, shell_path
from gpudoctor.diagnose.installing import install, install_framework
from gpudoctor.diagnose.package_facts import shown
from gpudoctor.diagnose.releases import pick
from gpudoctor.diagnose.requirements import Answer, judged
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Level, Policy, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Distribution, Fact, Framework, Missing, Packages, Python, ScriptFolder, Snapshot
from gpudoctor.snapshot.distributions import family

_CONDA_CALLS = {"pytorch": "torch", "tensorflow-base": "tensorflow", "libtensorflow": "tensorflow"}
"""How conda calls packages that have another name on the index."""
_OF_ONE_BUILD = ({"torch", "torchvision", "torchaudio"}, {"jax", "jaxlib"})
_WHOLE = ("tensorflow", "tensorflow-cpu", "tensorflow-gpu")
_COMPANIONS = frozenset(("tensorflow-intel", "tensorflow-macos", "tensorflow-cpu-aws", "tensorflow-aarch64", "tensorflow-base"))
"""What those of _WHOLE require on some platform, and holds the package in their place."""


@rule("GD512", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.ENVIRONMENT)
def mixed_conda_pip(packages: Packages, python: Python, machine: MachineView) -> Iterator[Problem]:
    """Conda and pip both installed parts of one framework.

    ## Why it matters
    Conda and pip do not see each other's work. Where both installed the same package, the files of one lie over those of the other and
    conda believes its own are there; where one installed torch and the other torchvision, the two were built with other compilers and
    other CUDA libraries. Either fails at import, or later in odd places.

    ## What to do
    Make a new environment and install the framework and all of its parts with one of them: conda for the interpreter, then pip for
    everything else, is the order that works.

    ## References
    - https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-environments.html#using-pip-in-an-environment
    """
    if python.kind != "conda":
        not_applicable("not a conda environment")
    condas = {_CONDA_CALLS.get(stem.rsplit("-", 2)[0], stem.rsplit("-", 2)[0]): stem for stem in need(packages.conda)}
    others = {one.name: one for one in packages.distributions if isinstance(one.installer, str) and one.installer not in {"conda", ""}}
    twice = [one for name, one in others.items() if name in condas and (stack_of(name) or name == "numpy")]
    split = [] if twice else _split(others, condas)
    if not twice and not split:
        return
    both = "both installed" if twice else "each installed a part of one stack:"
    names = ", ".join(called(one) for one in twice or split)
    yield Problem(
        message=f"conda and {_installers(twice or split)} {both} {names}.",
        confidence=Confidence.LIKELY,
        evidence=tuple(
            row
            for one in twice or split
            for row in (
                Evidence(called(one), f"installed by {one.installer}", one.where),
                *((Evidence(condas[one.name], "installed by conda", "conda-meta"),) if one.name in condas else ()),
            )
        ),
        fixes=(_by_pip_alone(twice or split, condas, python), _fresh(twice or split, machine)),
    )


def _by_pip_alone(found: list[Distribution], condas: dict[str, str], python: Python) -> Fix:
    """Pip's own copies installed again, whole, after conda's are gone."""
    stems = dict.fromkeys(condas[one.name].rsplit("-", 2)[0] for one in found if one.name in condas)
    pins = [f"{one.name}=={one.version.partition('+')[0]}" for one in found]
    prefix = f"--prefix {shell_path(python.prefix)} " if isinstance(python.prefix, str) else ""
    remove = f"conda remove --yes --force {prefix}{' '.join(stems)} && " if stems else ""
    again = install_package(python, "--force-reinstall", *pins)
    names = ", ".join(map(called, found))
    return Fix(
        f"Leave {names} to pip: remove conda's copy and reinstall pip's" if stems else f"Reinstall {names}", f"{remove}{again}", (DOWNLOAD,)
    )


def _fresh(found: list[Distribution], machine: MachineView) -> Fix:
    """A new environment in which pip installs everything."""
    framework = next((name for one in found if (name := stack_of(one.name))), "")
    picked = pick(machine, framework) if framework else None
    python = (
        machine.stack_or_missing.python if not isinstance(machine.stack_or_missing, Missing) and machine.stack_or_missing.python else "3.12"
    )
    wanted = shlex.join(picked.requirements) if picked is not None else " ".join(one.name for one in found)
    index = f" --index-url {picked.index}" if picked is not None and picked.index else ""
    command = f"conda create --yes --name training python={python} pip && conda run --name training python -m pip install {wanted}{index}"
    return Fix("Make a new environment, and install the framework there with pip only", command, (DOWNLOAD,), kind=FixKind.INSTEAD)


def _split(others: dict[str, Distribution], condas: dict[str, str]) -> list[Distribution]:
    """The parts that pip installed of a stack of which conda installed other parts."""
    return [others[name] for build in _OF_ONE_BUILD if build & condas.keys() for name in sorted(build & others.keys())]


def _installers(found: list[Distribution]) -> str:
    return " and ".join(dict.fromkeys(str(one.installer) for one in found))


@rule("GD604", severity=Severity.WARNING, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.ENVIRONMENT, predicts=False)
def wrong_python_environment(machine: MachineView, snapshot: Snapshot, policy: Policy, python: Python) -> Iterator[Problem]:
    """The framework is installed in another environment than the examined one.

    ## Why it matters
    Each interpreter has packages of its own. A framework that was installed with another `pip`, into another environment or for another
    user, does not exist for this one: "No module named ..." although it is installed.

    ## What to do
    Run and examine the environment that holds it, or install it with the interpreter that you run: `python -m pip` never goes to another.

    ## References
    - https://packaging.python.org/en/latest/guides/installing-using-pip-and-virtual-environments/
    """
    found = need(snapshot.frameworks)
    if found:
        return
    others: tuple[Distribution, ...] = need(python.elsewhere)
    if not others:
        return
    lacking = [one.requirement.subject for one in judged(machine, None) if one.answer is Answer.LACKING]
    required = any(family(one.name) in lacking for one in others)
    look_only = policy.level in {None, Level.LOOK, Level.TOUCH}
    first = others[0]
    environment = first.where.partition("/lib/")[0].removesuffix("/local")
    yield Problem(
        message=f"{python.executable} ({python.why}) holds no framework; {called(first)} is installed in {environment}.",
        severity=Severity.ERROR if required else Severity.NOTE if look_only else None,
        confidence=Confidence.LIKELY,
        evidence=(Evidence("frameworks in the examined environment", "none", "the folders on sys.path"), *map(shown, others)),
        fixes=(
            Fix(
                "Use that environment: put it first on PATH",
                f'export PATH={shell_path(environment)}/bin:"$PATH"',
                verify=f"gpudoctor check --python {shell_path(environment)}",
            ),
            *_into_this_one(first, machine),
        ),
    )


def _into_this_one(first: Distribution, machine: MachineView) -> tuple[Fix, ...]:
    """The same framework, in a release that works here."""
    framework = family(first.name)
    return install_framework(machine, framework, kind=FixKind.INSTEAD) if framework else ()


@rule("GD610", severity=Severity.WARNING, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK)
def two_copies_of_framework(framework: Framework, packages: Packages, machine: MachineView) -> Iterator[Problem]:
    """The framework is there twice, or a file of its name comes before it.

    ## Why it matters
    An import takes the first copy on sys.path: one in the user's own folder or on PYTHONPATH hides the one in the environment, and a file
    torch.py hides the package torch. Two distributions of one framework in one folder (tensorflow and tensorflow-cpu) hold the same files,
    and removing either damages the other.

    ## What to do
    Keep one. After removing one of two that shared a folder, install the other again. PYTHONNOUSERSITE=1 leaves the user's folder out.

    ## References
    - https://docs.python.org/3/library/sys_path_init.html
    """
    if isinstance(framework.shadow, str):
        yield Problem(
            message=f"{framework.shadow} comes before the package {framework.name} on sys.path: an import takes that file.",
            title="A file hides the framework",
            severity=Severity.ERROR,
            evidence=(Evidence(f"first {framework.name} on sys.path", framework.shadow, "the folders on sys.path"),),
            fixes=(_rename(framework.shadow),),
        )
    left = [one for one in packages.leftovers if family(one.name) == framework.name]
    if left:
        yield _leftover(framework, left)
    copies = [one for one in packages.distributions if family(one.name) == framework.name]
    if any(one.name in _WHOLE for one in copies):
        copies = [one for one in copies if one.name not in _COMPANIONS]
    copies = list({(one.name, one.version, one.where): one for one in copies}.values())
    if len(copies) < 2:
        return
    apart = len({one.where for one in copies}) > 1
    how = f"an import takes that in {framework.location}" if apart and isinstance(framework.location, str) else "they hold the same files"
    yield Problem(
        message=f"{framework.name} is installed {len(copies)} times: {', '.join(f'{called(one)} in {one.where}' for one in copies)}; {how}.",
        confidence=Confidence.CERTAIN if apart else Confidence.LIKELY,
        evidence=tuple(map(shown, copies)),
        fixes=_one_copy(framework, copies, machine, apart=apart),
    )


def _rename(shadow: str) -> Fix:
    """A file keeps its content under another name; what Python compiled of it is not taken then."""
    folder, _, name = shadow.rpartition("/")
    other = f"{folder}/my_{name}"
    return Fix(f"Rename {shadow}", f"mv {shell_path(shadow)} {shell_path(other)}")


def _leftover(framework: Framework, left: list[Distribution]) -> Problem:
    """Metadata of a release that is no longer there: pip is misled by it, an import is not."""
    release = framework.version.value if isinstance(framework.version, Fact) else "another release"
    folders = shlex.join(f"{one.where}/{one.name.replace('-', '_')}-{one.version}.dist-info" for one in left)
    return Problem(
        message=f"The files of {framework.name} are of {release}; metadata of {' and '.join(one.version for one in left)} was left beside them.",
        title="Metadata of a different version was left behind",
        severity=Severity.NOTE,
        evidence=tuple(map(shown, left)),
        fixes=(Fix("Remove the metadata that was left behind", f"rm -r {folders}"),),
    )


def _one_copy(framework: Framework, copies: list[Distribution], machine: MachineView, *, apart: bool) -> tuple[Fix, ...]:
    if apart:
        command = remove_packages(machine.observed.python, copies[0].name)
        return (
            Fix("Remove the first copy, which is the one that pip removes", command),
            Fix("Leave the user's own folder out", "export PYTHONNOUSERSITE=1", kind=FixKind.INSTEAD),
        )
    names = tuple(dict.fromkeys(one.name for one in copies))
    found = pick(machine, framework.name, prefer=copies[-1].version.partition("+")[0]) if machine.hardware else None
    title = f"Remove {' and '.join(names)}, and install one of them again"
    if found is not None:
        again = install(machine, framework.name, found)
        return (Fix(title, f"{remove_packages(machine.observed.python, *names)} && {again.command}", (DOWNLOAD,)),)
    one = f"{copies[-1].name}=={copies[-1].version}"
    return (Fix(title, install_package(machine.observed.python, one, replace=names), (DOWNLOAD,)),)


@rule("GD619", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.ENVIRONMENT, predicts=False)
def script_folder_hides_package(machine: MachineView, folder: ScriptFolder) -> Iterator[Problem]:
    """A file beside the training script hides an installed package.

    ## Why it matters
    Python puts the folder of a script first on sys.path. A file torch.py or a folder torch/ there is imported in place of PyTorch: "module
    'torch' has no attribute ...", or an import of half a package. gpudoctor trains from a folder of its own and does not see it, unless
    `--cwd` names the folder.

    ## What to do
    Rename the file, and remove its compiled form in __pycache__.

    ## References
    - https://docs.python.org/3/library/sys_path_init.html
    """
    if not machine.observed_frameworks:
        not_applicable("no framework is installed")
    if not folder.hides:
        return
    first = folder.hides[0]
    name = first.rpartition("/")[2].partition(".")[0]
    more = f", as {len(folder.hides) - 1} others are of theirs" if len(folder.hides) > 1 else ""
    yield Problem(
        message=f"{first} is imported in place of the installed package {name} by every script in {folder.path}{more}.",
        evidence=tuple(Evidence("beside the script", one, "--cwd") for one in folder.hides),
        fixes=tuple(_rename(one) for one in folder.hides),
    )


RULES = (mixed_conda_pip, wrong_python_environment, two_copies_of_framework, script_folder_hides_package)
