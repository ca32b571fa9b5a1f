import shlex

import msgspec

from gpudoctor.derive import FrameworkView
from gpudoctor.derive.same_package import distributions_sharing_package
from gpudoctor.diagnose.advice.installing import install_pick
from gpudoctor.diagnose.advice.packages import install_fix, remove_command
from gpudoctor.diagnose.advice.releases import pick_release
from gpudoctor.diagnose.advice.requirements import distribution_evidence
from gpudoctor.diagnose.advice.system import rename_file
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.expressions import expression
from gpudoctor.findings import Action, Confidence, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import joined_words
from gpudoctor.frameworks import framework_of
from gpudoctor.snapshot import SUPPOSED, TEXT, Distribution, Missing, Packages

_USER_FOLDER = expression(r"/\.local/lib/python|\\AppData\\Roaming\\Python\\")
"""The folders of `pip install --user`."""


@rule("GD610", severity=Severity.WARNING, breaks=Rung.FRAMEWORK, impact=Impact.AT_RISK)
@explains(TRAINING_FAILS, "Files of two releases are mixed, or the wrong one is imported.", Join.FRAMEWORK)
@explains(("cpu-only-build",), "Python imports another copy than the one that was installed for CUDA.", Join.FRAMEWORK)
@explains(
    ("package-requirement-conflict", "nvidia-wheel-version-conflict", "torch-torchvision-mismatch", "torch-torchaudio-mismatch"),
    "The other packages match only one of the copies.",
)
def two_copies_of_framework(framework: FrameworkView) -> Problems:
    """Framework is installed twice or shadowed by a file."""
    packages = framework.environment.packages
    if isinstance(framework.observed.shadow, str):
        yield _shadow_problem(framework, framework.observed.shadow)
    leftovers = [leftover for leftover in packages.leftovers if framework_of(leftover.name) == framework.name]
    if leftovers:
        yield _leftover_problem(framework, leftovers)
    copies = [*_installed_copies(framework, packages.distributions), *_planned_copies(framework, packages)]
    if len(copies) < 2:
        yield from _copies_beside_conda(framework, packages.conda)
        return
    apart = len({copy.where for copy in copies}) > 1 and framework.machine.observed.origin not in {TEXT, SUPPOSED}
    location = framework.observed.location
    same = f"they own the same files{_origin_clause(copies, packages)}"
    which = f"Python imports the copy in {location}" if apart and isinstance(location, str) else same
    places = ", ".join(_copy_text(copy) for copy in copies)
    imported = framework.machine.observed.origin == TEXT and len({copy.name for copy in copies}) == 1
    which = f"Python imports {copies[0].version}, and pip lists {copies[1].version}" if imported else which
    yield Problem(
        message=f"{framework.name} is installed {'twice' if len(copies) == 2 else f'{len(copies)} times'}: {places}; {which}.",
        severity=Severity.NOTE if _can_be_harmless(framework, copies) else None,
        confidence=Confidence.CERTAIN if apart else Confidence.LIKELY,
        evidence=tuple(distribution_evidence(copy) for copy in copies if copy.version),
        fixes=_remove_first(framework, copies) if apart else _plan_one_copy(framework, copies) or _reinstall_one(framework, copies),
    )


def _origin_clause(copies: list[Distribution], packages: Packages) -> str:
    """Return whose files those of several copies in one folder are, as a clause; empty if unknown."""
    pins = {f"{copy.name}=={copy.version}" for copy in copies}
    group = next((group for group in packages.overwritten if pins.issuperset(group.owners)), None)
    whose = [pin for pin, count in zip(group.owners, group.owned_now, strict=True) if count] if group is not None else []
    if len(whose) > 1:
        return ", and these are mixed"
    return f", and those of {whose[0].replace('==', ' ')} are there" if whose else ""


def _copies_beside_conda(framework: FrameworkView, conda: tuple[str, ...] | Missing) -> Problems:
    """Yield the finding for a copy among the user's packages, which Python imports instead of conda's."""
    location, names = framework.observed.location, {framework.name, *framework.spec.conda_names}
    if isinstance(conda, Missing) or not isinstance(location, str) or not _USER_FOLDER.search(location):
        return
    stem = next((stem for stem in conda if stem.rsplit("-", 2)[0] in names), "")
    if stem:
        yield Problem(
            message=f"Python imports {framework.label} from {location} instead of conda's {stem.rpartition('-')[0].replace('-', ' ')}.",
            severity=Severity.ERROR,
            evidence=(Evidence("imported", location, f"{framework.name}.__file__"), Evidence("conda", stem, "conda list")),
            fixes=(
                Fix("Ignore packages installed with pip install --user", "export PYTHONNOUSERSITE=1"),
                Fix(
                    "Remove the copy that Python imports",
                    remove_command(framework.environment.observed.python, framework.name),
                    kind=FixKind.INSTEAD,
                    action=Action.REINSTALL_PACKAGE,
                ),
            ),
        )


def _installed_copies(framework: FrameworkView, distributions: tuple[Distribution, ...]) -> list[Distribution]:
    copies = [distribution for distribution in distributions if framework_of(distribution.name) == framework.name]
    if any(copy.name in framework.spec.tabled for copy in copies):
        copies = [copy for copy in copies if copy.name not in framework.spec.stand_ins]
    return list({(copy.name, copy.version, copy.where): copy for copy in copies}.values())


def _can_be_harmless(framework: FrameworkView, copies: list[Distribution]) -> bool:
    """Return whether a text lists two packages of one release and does not say that this release sees no GPU: many environments train like that."""
    several = len({copy.name for copy in copies}) > 1 and len({copy.version for copy in copies}) == 1
    return several and framework.machine.observed.origin == TEXT and framework.observed.sees_gpu is not False


def _planned_copies(framework: FrameworkView, packages: Packages) -> list[Distribution]:
    """Return the planned distributions that install the framework's import package, onnxruntime beside onnxruntime-gpu; if there is a second."""
    group = distributions_sharing_package(framework.observed.distribution)
    found = [distribution for distribution in packages.distributions if distribution.name in group]
    listed = {distribution.name for distribution in found}
    found += [
        Distribution(name, "", "stated", requirement=name) for name in packages.without_release if name in group and name not in listed
    ]
    return found if len(found) > 1 and framework.machine.observed.origin == SUPPOSED else []


def _copy_text(copy: Distribution) -> str:
    """Return a copy with its folder, or with the line of the text that names it."""
    if not copy.version:
        return f"{copy.name} ({copy.where})"
    return f"{copy.label} in {copy.where}" if copy.where.startswith("/") else f"{copy.label} ({copy.where})"


def _shadow_problem(framework: FrameworkView, shadow: str) -> Problem:
    return Problem(
        message=f"{shadow} shadows the package {framework.name}: it is found first on sys.path.",
        title="A file shadows the framework",
        severity=Severity.ERROR,
        evidence=(Evidence(f"first {framework.name} on sys.path", shadow, "the folders on sys.path"),),
        fixes=(rename_file(shadow),),
    )


def _leftover_problem(framework: FrameworkView, leftovers: list[Distribution]) -> Problem:
    """Return the finding for metadata of a release whose files are gone, which misleads pip."""
    release = framework.release or "another release"
    versions = " and ".join(leftover.version for leftover in leftovers)
    folders = shlex.join(f"{leftover.where}/{leftover.name.replace('-', '_')}-{leftover.version}.dist-info" for leftover in leftovers)
    return Problem(
        message=f"{framework.name} {release} is installed, but metadata of {versions} was left behind.",
        title="Metadata of another framework version was left behind",
        severity=Severity.NOTE,
        evidence=tuple(map(distribution_evidence, leftovers)),
        fixes=(Fix("Remove the leftover metadata", f"rm -r {folders}", action=Action.REINSTALL_PACKAGE),),
    )


def _remove_first(framework: FrameworkView, copies: list[Distribution]) -> tuple[Fix, ...]:
    command = remove_command(framework.environment.observed.python, copies[0].name)
    return (
        Fix("Remove the copy that Python imports", command, action=Action.REINSTALL_PACKAGE),
        Fix("Ignore packages installed with pip install --user", "export PYTHONNOUSERSITE=1", kind=FixKind.INSTEAD),
    )


def _plan_one_copy(framework: FrameworkView, copies: list[Distribution]) -> tuple[Fix, ...]:
    """Return the fix that plans one copy alone: the one that another package requires, or the one with CUDA; () for installed copies."""
    stack = framework.machine.stack_or_missing
    if isinstance(stack, Missing) or not stack.supposed:
        return ()
    built = {copy.name: row.accelerator for copy in copies if (row := stack.row(copy)) is not None}
    kept = min(copies, key=lambda copy: (bool(copy.requirement), built.get(copy.name) != "cuda", copy.name != framework.name))
    gone = tuple(copy.name for copy in copies if copy is not kept and copy.requirement)
    return (Fix(f"Leave out {joined_words(gone)}.", action=Action.REINSTALL_PACKAGE, removes=gone),) if gone else ()


def _reinstall_one(framework: FrameworkView, copies: list[Distribution]) -> tuple[Fix, ...]:
    machine, python, last = framework.machine, framework.environment.observed.python, copies[-1]
    names = tuple(dict.fromkeys(copy.name for copy in copies))
    title = f"Remove {' and '.join(names)}, and reinstall one of them"
    found = pick_release(machine, framework.name, near=last.version.partition("+")[0]) if machine.hardware else None
    if found is not None:
        reinstall = install_pick(machine, framework.name, found)
        command = f"{remove_command(python, *names)} && {reinstall.command}"
        return (msgspec.structs.replace(reinstall, title=title, command=command),)
    return (install_fix(title, python, f"{last.name}=={last.version}", replace=names),)
