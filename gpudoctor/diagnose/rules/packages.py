"""GD5 and GD6: what the installed packages require of one another and do not get."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpudoctor.derive import MachineView, Stack
from gpudoctor.derive.packages import Contradiction, Violation, called, known, major, stack_of
from gpudoctor.derive.specifiers import contradict, satisfies
from gpudoctor.diagnose.fixes import DOWNLOAD, install_package
from gpudoctor.diagnose.installing import install, install_framework, release_of
from gpudoctor.diagnose.package_facts import demanded, named_by, refused_cudnn, shown, there, without_cuda
from gpudoctor.diagnose.releases import pick
from gpudoctor.diagnose.rule import not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Distribution, Framework, Missing, Python

_SHARED = ("nvidia-cudnn", "nvidia-nccl", "nvidia-nvshmem")
"""Wheels that put files of the same names into the same folder, whichever CUDA they are for (by the wheels' own lists of files)."""
_NVIDIA = ("nvidia-", "cuda-")


def _of(stack: Stack, name: str, framework: Framework) -> list[Violation]:
    """The unmet requirements that a rule names for a framework."""
    return [one for one in stack.violations if named_by(one) == name and stack_of(one.demand.by.name) == framework.name]


def _unmet(violations: Iterable[Violation], stack: Stack) -> str:
    """What is not met, as a sentence."""
    return "; ".join(dict.fromkeys(f"{one.demand.text}, and {called(one.found)} {there(stack)}" for one in violations)) + "."


def _accepted(violations: list[Violation]) -> str:
    """A requirement that meets all that are not met."""
    clauses = dict.fromkeys(clause for one in violations for clause in one.demand.requirement.specifier.split(","))
    return f"{violations[0].found.name}{','.join(clauses)}"


@rule("GD605", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK, on_cpu_too=True)
def numpy2_abi_mismatch(framework: Framework, stack: Stack, machine: MachineView, python: Python | Missing) -> Iterator[Problem]:
    """The framework is compiled for NumPy 1 and NumPy 2 is there.

    ## Why it matters
    NumPy 2 changed its binary interface: modules that were compiled against NumPy 1 do not run with it. TensorFlow stops at import;
    PyTorch warns at import and fails where a tensor meets an array ("Numpy is not available").

    ## What to do
    Install NumPy 1, or a release of the framework that was compiled against NumPy 2, which runs with both.

    ## References
    - https://numpy.org/doc/stable/dev/depending_on_numpy.html#numpy-2-0-specific-advice
    """
    numpy = stack.distributions.get("numpy")
    if numpy is None:
        not_applicable("no NumPy is listed")
    if (major(numpy.version) or 0) < 2:
        return
    bound = _of(stack, numpy2_abi_mismatch.name, framework)
    compiled = [(one, row) for one, row in stack.built_for_numpy_1 if stack_of(one.name) == framework.name]
    if not bound and not compiled:
        return
    who = called(compiled[0][0] if compiled else bound[0].demand.by)
    yield Problem(
        message=f"{who} is compiled for NumPy 1, and NumPy {numpy.version} {there(stack)}.",
        confidence=Confidence.CERTAIN if compiled or stack.supposed else Confidence.LIKELY,
        evidence=(
            shown(numpy),
            *(Evidence(f"NumPy that {called(one)} is compiled for", "1", known(row)) for one, row in compiled),
            *demanded(bound),
        ),
        fixes=(
            Fix("Install NumPy 1", install_package(python, "numpy<2"), (DOWNLOAD,)),
            *_for_numpy_2(framework, machine),
        ),
    )


def _for_numpy_2(framework: Framework, machine: MachineView) -> tuple[Fix, ...]:
    """A release that works here and is compiled for NumPy 2, in place of NumPy 1."""
    found = pick(machine, framework.name)
    row = next((one for one in machine.matrix.releases(framework.distribution) if found and str(one.release) == found.release), None)
    if found is None or row is None or row.numpy_abi != 2 or found.release == release_of(framework):
        return ()
    return (install(machine, framework.name, found, title=f"Install {found.name}, which is compiled for NumPy 2", kind=FixKind.INSTEAD),)


@rule("GD606", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK, on_cpu_too=True)
def protobuf_mismatch(framework: Framework, stack: Stack, matrix: Matrix, python: Python | Missing) -> Iterator[Problem]:
    """The installed protobuf is not one that the framework runs with.

    ## Why it matters
    Code that protobuf generated does not run with a protobuf older than the one that generated it, nor with one that is two major
    releases newer; code generated before 3.19 does not run with 4 and later ("Descriptors cannot be created directly"). The import of
    TensorFlow then fails. A protobuf that is only newer than the framework allows may work.

    ## What to do
    Install a protobuf within the framework's bounds. Where another package wants one outside them, the two need environments of their own.

    ## References
    - https://protobuf.dev/support/cross-version-runtime-guarantee/
    - https://protobuf.dev/news/2022-05-06/
    """
    if "protobuf" not in stack.distributions:
        not_applicable("no protobuf is listed")
    unmet = _of(stack, protobuf_mismatch.name, framework)
    if not unmet:
        yield from _bounded_later(framework, stack, matrix, python)
        return
    fails = stack.supposed or any(one.older or _generated_before_4(one) for one in unmet)
    yield Problem(
        message=_unmet(unmet, stack),
        severity=None if fails else Severity.WARNING,
        confidence=Confidence.CERTAIN if stack.supposed else Confidence.LIKELY,
        evidence=(shown(unmet[0].found), *demanded(unmet)),
        fixes=(Fix("Install a protobuf that fits", install_package(python, _accepted(unmet)), (DOWNLOAD,)),),
    )


def _bounded_later(framework: Framework, stack: Stack, matrix: Matrix, python: Python | Missing) -> Iterator[Problem]:
    """A release that set no upper bound, as protobuf 4 was not yet there, and that the bound of a later one speaks for."""
    found = stack.distributions["protobuf"]
    for one in stack.distributions.values():
        row = stack.row(one) if stack_of(one.name) == framework.name else None
        if row is None or any("<" in text for text in row.requires if text.startswith("protobuf")):
            continue
        later = (other for other in matrix.releases(row.distribution, row.platform) if other.release > row.release)
        bounded = next(((other, text) for other in later for text in other.requires if text.startswith("protobuf") and "<" in text), None)
        if bounded and satisfies(found.version, bounded[1].removeprefix("protobuf")) is False and (major(found.version) or 0) >= _NEW_CODE:
            yield Problem(
                message=f"{called(one)} set no upper bound for protobuf; {bounded[0].release} set {bounded[1]}, and {called(found)} {there(stack)}.",
                confidence=Confidence.LIKELY,
                evidence=(shown(found), Evidence(f"{row.distribution} {bounded[0].release} requires", bounded[1], known(bounded[0]))),
                fixes=(Fix("Install a protobuf that later releases allow", install_package(python, bounded[1]), (DOWNLOAD,)),),
            )


_NEW_CODE = 4
"""The protobuf that refuses code generated before 3.19 (protobuf.dev/news/2022-05-06)."""


def _generated_before_4(one: Violation) -> bool:
    return (major(one.found.version) or 0) >= _NEW_CODE and contradict((one.demand.requirement.specifier, f">={_NEW_CODE}"))


@rule("GD607", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK, on_cpu_too=True)
def keras3_mismatch(framework: Framework, stack: Stack, python: Python | Missing) -> Iterator[Problem]:
    """TensorFlow and Keras are from different sides of Keras 3.

    ## Why it matters
    TensorFlow up to 2.15 works with the Keras 2 of its own release; from 2.16 on tf.keras is Keras 3. With the other one `tf.keras`
    cannot be used: its import fails.

    ## What to do
    Install the Keras that this TensorFlow requires. Code that needs Keras 2 with TensorFlow 2.16 or later installs tf-keras and sets
    TF_USE_LEGACY_KERAS=1.

    ## References
    - https://keras.io/getting_started/#tensorflow--keras-2-backwards-compatibility
    """
    if "keras" not in stack.distributions:
        not_applicable("no Keras is listed")
    unmet = _of(stack, keras3_mismatch.name, framework)
    if not unmet:
        return
    spared = not stack.supposed and unmet[0].older and "tf-keras" in stack.distributions
    yield Problem(
        message=_unmet(unmet, stack),
        severity=Severity.WARNING if spared else None,
        evidence=(shown(unmet[0].found), *demanded(unmet)),
        fixes=(Fix("Install the Keras that this TensorFlow requires", install_package(python, _accepted(unmet)), (DOWNLOAD,)),),
    )


@rule("GD511", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.ENVIRONMENT)
def nvidia_wheel_version_conflict(stack: Stack, machine: MachineView, python: Python | Missing) -> Iterator[Problem]:
    """NVIDIA's library packages are not the ones that the frameworks require.

    ## Why it matters
    Frameworks bring CUDA as packages (nvidia-cublas-cu12, ...) and state which releases they were built and tested with. Two frameworks
    in one environment share these packages, so one may run with what the other pinned: it mostly works, and fails in odd places where it
    does not. Of cuDNN, NCCL and NVSHMEM the packages for different CUDA releases even hold the same files.

    ## What to do
    Give each framework an environment of its own, or choose releases that agree. cuDNN's version has rules of its own.

    ## References
    - https://pip.pypa.io/en/stable/cli/pip_check/
    """
    if not any(name.startswith(_NVIDIA) for name in stack.distributions) and not stack.contradictions:
        not_applicable("no NVIDIA package is listed")
    named = (
        one for one in stack.violations if named_by(one) == nvidia_wheel_version_conflict.name or (stack.supposed and refused_cudnn(one))
    )
    unmet = [one for one in named if not without_cuda(machine, one.demand.by)]
    for by in dict.fromkeys(one.demand.by for one in unmet):
        mine = [one for one in unmet if one.demand.by == by]
        more = f" (and {len(mine) - 1} more of its requirements are not met)" if len(mine) > 1 else ""
        yield Problem(
            message=_unmet(mine[:1], stack).removesuffix(".") + f"{more}.",
            severity=Severity.ERROR if stack.supposed else None,
            evidence=tuple(row for one in mine for row in (shown(one.found), *demanded([one]))),
            fixes=(
                Fix(f"Install what {called(by)} requires", install_package(python, *map(_wanted, mine)), (DOWNLOAD,)),
                _APART,
            ),
        )
    yield from (_contradicted(one) for one in stack.contradictions if one.name.startswith(_NVIDIA))
    yield from _overwritten(stack, python)


def _wanted(one: Violation) -> str:
    return f"{one.found.name}{one.demand.requirement.specifier}"


def _overwritten(stack: Stack, python: Python | Missing) -> Iterator[Problem]:
    """Wheels of one library for two CUDA releases."""
    groups = ([one for name, one in stack.distributions.items() if name.rpartition("-cu")[0] == library] for library in _SHARED)
    twins = [group for group in groups if len(group) > 1]
    if twins:
        every = [one for group in twins for one in group]
        named = "; ".join(" and ".join(map(called, group)) for group in twins)
        yield Problem(
            message=f"{named} {there(stack, many=True)} and hold the same files: the one installed last is what loads.",
            title="NVIDIA's packages for two CUDA releases overwrite each other's files",
            evidence=tuple(map(shown, every)),
            fixes=(_keep_one(every, stack, python), _APART),
        )


_APART = Fix("Give each framework an environment of its own.", needs=(DOWNLOAD,), kind=FixKind.INSTEAD)


def _keep_one(twins: list[Distribution], stack: Stack, python: Python | Missing) -> Fix:
    """Those that a framework requires, installed over the rest, which go; all of them where nothing says who requires which."""
    required = {demand.requirement.name for demand in stack.demands}
    keep = [one for one in twins if one.name in required]
    libraries = {one.name.rpartition("-cu")[0] for one in keep}
    go = [one for one in twins if one not in keep and one.name.rpartition("-cu")[0] in libraries]
    if not keep or len(keep) > len(libraries):
        newest = {one.name.rpartition("-cu")[0]: one for one in sorted(twins, key=lambda one: one.name)}
        keep = list(newest.values())
        go = [one for one in twins if one not in keep]
    again = install_package(
        python, "--force-reinstall", "--no-deps", *(f"{one.name}=={one.version}" for one in keep), replace=tuple(one.name for one in go)
    )
    return Fix(f"Remove {' and '.join(map(called, go))}, and reinstall {' and '.join(map(called, keep))}", again, (DOWNLOAD,))


def _contradicted(one: Contradiction) -> Problem:
    """Requirements that no release meets, of which an installer makes nothing."""
    likewise = f" Likewise {', '.join(one.likewise)}." if one.likewise else ""
    return Problem(
        message=f"No release of {one.name} meets all of these: {'; '.join(demand.text for demand in one.demands)}.{likewise}",
        title="Requirements that no release can meet together",
        severity=Severity.ERROR,
        evidence=tuple(Evidence(f"{called(demand.by)} requires", demand.requirement.text, demand.where) for demand in one.demands),
        fixes=(Fix("Choose releases that agree, or give each framework an environment of its own."),),
    )


@rule("GD609", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.ENVIRONMENT)
def package_requirement_conflict(stack: Stack, machine: MachineView) -> Iterator[Problem]:
    """A package is outside the bounds that another one states for it.

    ## Why it matters
    An installer keeps these bounds only for what it installs in one go: a later command may move a package out of them, and says so in a
    line that is easily missed. Whether it fails depends on the packages; for what is still to be installed the installer refuses.

    ## What to do
    Install all of them in one command, so that the installer finds releases that agree, or give them environments of their own.

    ## References
    - https://pip.pypa.io/en/stable/topics/dependency-resolution/
    """
    unmet = [one for one in stack.violations if named_by(one) == package_requirement_conflict.name]
    for found in dict.fromkeys(one.found for one in unmet):
        mine = [one for one in unmet if one.found == found]
        yield Problem(
            message=_unmet(mine, stack),
            severity=Severity.ERROR if stack.supposed else None,
            evidence=(shown(found), *demanded(mine)),
            fixes=_agreeing(found, mine, machine),
        )
    yield from (_contradicted(one) for one in stack.contradictions if not one.name.startswith(_NVIDIA))


def _agreeing(found: Distribution, unmet: list[Violation], machine: MachineView) -> tuple[Fix, ...]:
    wanted = _accepted(unmet)
    specifier = wanted.removeprefix(found.name)
    if stack_of(found.name) == found.name and pick(machine, found.name, accepts=specifier) is not None:
        return install_framework(machine, found.name, accepts=specifier)
    return (Fix(f"Install a {found.name} within the bounds", install_package(machine.observed.python, wanted), (DOWNLOAD,)),)


RULES = (numpy2_abi_mismatch, protobuf_mismatch, keras3_mismatch, nvidia_wheel_version_conflict, package_requirement_conflict)
