"""GD4 and GD8: another copy of a CUDA library that wins over the one that a framework was given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpudoctor.derive import Hardware, MachineView, Stack
from gpudoctor.derive.code import xray
from gpudoctor.derive.mapped import unexpected
from gpudoctor.diagnose.build_facts import called
from gpudoctor.diagnose.fixes import DOWNLOAD, install_package, interpreter, shell_list, shell_path
from gpudoctor.diagnose.library_facts import PATH, WHEEL, Copy, all_uses, by_path, copy, folder, same_name, told, uses, xrayed
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, LibraryFile, LibraryUse, Missing, Smoke, Variables
from gpudoctor.versions import Version

_OTHERS = {"system", "toolkit", "conda"}
"""Owners of a file that no package of the environment brought."""
_MOST = 4


@rule("GD407", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def ld_library_path_shadowing(
    framework: Framework, machine: MachineView, hardware: Hardware, variables: Variables | Missing
) -> Iterator[Problem]:
    """LD_LIBRARY_PATH puts another copy of a library before the one that the framework was given.

    ## Why it matters
    The loader reads LD_LIBRARY_PATH before the folders that a library names in its RUNPATH. A toolkit's folder in it, set for some other
    program or by an old instruction, replaces the libraries that the framework's packages brought, for every framework started there.
    Of another major release or an older one than the build wants, that ends in "undefined symbol", or in a cuDNN that is refused. Of a
    newer one it mostly works, untested by anybody; of the same one it is worth knowing.

    ## What to do
    Take the folder out of LD_LIBRARY_PATH where the framework runs. Frameworks that bring CUDA as packages need none of it.

    ## References
    - https://man7.org/linux/man-pages/man8/ld.so.8.html
    - https://pytorch.org/get-started/locally/
    """
    found = all_uses(framework, machine, hardware)
    shadowing = tuple(_shadowing(uses(framework, machine, hardware), framework, machine))
    if not shadowing:
        return
    worst = min(shadowing, key=_rank)
    folders = list(dict.fromkeys(folder(one.path) for one in shadowing))
    more = f", and {len(shadowing) - 1} more so" if len(shadowing) > 1 else ""
    kinds = {one.use.component: one for one in sorted(shadowing, key=_rank, reverse=True)}
    yield Problem(
        message=f"{PATH} makes {called(framework)} load {worst.use.wanted} from {folder(worst.path)}, not from {folder(worst.instead)}{more}: "
        f"{_how(worst)}.",
        severity=_severity(worst),
        only_for=framework.name,
        evidence=tuple(evidence for one in sorted(kinds.values(), key=_rank)[:_MOST] for evidence in told(one)),
        fixes=_take_out(folders, found, shadowing, variables),
    )


def _shadowing(found: Iterable[LibraryUse], framework: Framework, machine: MachineView) -> Iterator[Copy]:
    for use in found:
        instead = _would_be(use) if by_path(use) else ""
        one = copy(use, instead, framework, machine) if instead else None
        if one is not None:
            yield one


def _would_be(use: LibraryUse) -> str:
    """The copy that the folders named by the framework's own files, or its packages, would give; empty where there is none."""
    named = (place.path for place in use.shadows if place.why.startswith("DT_R"))
    return next(named, "") or next((place.path for place in same_name(use) if place.why == WHEEL), "")


def _rank(one: Copy) -> int:
    """The worst first."""
    return 0 if one.fatal else ("major", "older", "other", "", "same").index(one.unlike) + 1


def _severity(one: Copy) -> Severity | None:
    if one.fatal:
        return None
    return Severity.NOTE if one.unlike == "same" else Severity.WARNING


def _how(one: Copy) -> str:
    wanted = f"the build wants {one.wanted}" if one.wanted else "which release the build wants is not known"
    if not isinstance(one.version, Version):
        return f"its release cannot be told, {wanted}"
    return {
        "major": f"it is {one.version}, another major release; {wanted}",
        "older": f"it is {one.version}, and {wanted} or later",
        "other": f"it is {one.version}, {wanted}",
        "same": f"it is {one.version}, the same release",
    }.get(one.unlike, f"it is {one.version}, {wanted}")


def _take_out(
    folders: list[str], found: tuple[LibraryUse, ...], shadowing: tuple[Copy, ...], variables: Variables | Missing
) -> tuple[Fix, ...]:
    """The line that sets the variable to what may stay; where something is found only by that folder, the line that puts another before it."""
    value = "" if isinstance(variables, Missing) else variables.values.get(PATH, "")
    entries = [entry for entry in value.split(":") if entry]
    out = [entry for entry in entries if any(f"{path}/".startswith(f"{entry.rstrip('/')}/") for path in folders)]
    if not out:
        return (Fix(f"Take {' and '.join(folders)} out of {PATH}, where it is set."),)
    if any(_only_there(use, folders) for use in found):
        first = shell_list(dict.fromkeys(folder(one.instead) for one in shadowing))
        title = f"Put the framework's own folders first; {' and '.join(out)} must stay for other libraries"
        return (Fix(title, f'export {PATH}={first}:"${PATH}"'),)
    left = [entry for entry in entries if entry not in out]
    line = f"export {PATH}={shell_list(left)}" if left else f"unset {PATH}"
    return (Fix(f"Take {' and '.join(out)} out of {PATH}, here and where it is set", line),)


def _only_there(use: LibraryUse, folders: list[str]) -> bool:
    """Whether a library would be found no more without these folders."""
    return isinstance(use.file, LibraryFile) and by_path(use) and folder(use.file.path) in folders and not (use.shadows or _would_be(use))


@rule("GD408", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def cudnn_shadowed_by_system(framework: Framework, machine: MachineView, hardware: Hardware) -> Iterator[Problem]:
    """The cuDNN of the system, of a toolkit or of conda wins over the environment's own package.

    ## Why it matters
    The package nvidia-cudnn-... was installed because the framework was built with that release. A build that does not look into the
    packages' folders, or a process whose LD_LIBRARY_PATH names another, takes the cuDNN that an administrator or conda installed. An
    older one is refused ("Loaded runtime CuDNN library ... but source was compiled with ..."), whatever `pip list` says.

    ## What to do
    Put the package's folder before the other on the loader's path, or remove the other copy if nothing else needs it.

    ## References
    - https://man7.org/linux/man-pages/man8/ld.so.8.html
    - https://docs.nvidia.com/deeplearning/cudnn/installation/latest/
    """
    found = [use for use in uses(framework, machine, hardware) if use.component == "cudnn"]
    use = next((use for use in found if isinstance(use.file, LibraryFile) and use.file.owner in _OTHERS and _package(use)), None)
    one = copy(use, _package(use), framework, machine) if use is not None else None
    if one is None or not isinstance(one.use.file, LibraryFile):
        return
    first = f'export {PATH}={shell_path(folder(one.instead))}"${{{PATH}:+:${PATH}}}"'
    yield Problem(
        message=f"{called(framework)} would load cuDNN from {one.path} ({one.use.file.owner}), not from the environment's package: {_how(one)}.",
        severity=_severity(one),
        only_for=framework.name,
        evidence=tuple(told(one)),
        fixes=(
            Fix("Put the package's folder first, for this environment only", first),
            Fix(f"Remove {one.path}, if nothing else needs it.", kind=FixKind.INSTEAD),
        ),
    )


def _package(use: LibraryUse) -> str:
    """The copy that one of NVIDIA's packages brought; empty where there is none."""
    named = (place.path for place in use.shadows if "/site-packages/nvidia/" in place.path or "/dist-packages/nvidia/" in place.path)
    return next(named, "") or next((place.path for place in same_name(use) if place.why == WHEEL), "")


@rule("GD805", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def nccl_version_conflict(framework: Framework, machine: MachineView, hardware: Hardware) -> Iterator[Problem]:
    """Of two releases of NCCL the framework would load the one that it was not built with.

    ## Why it matters
    NCCL's file is called libnccl.so.2 in every release, so that nothing but the order of folders decides which one a process gets.
    PyTorch links it: an older one lacks functions, and `import torch` ends with "undefined symbol: nccl...". TensorFlow and JAX open
    it when they train on several GPUs. A newer one mostly works; all processes of one job must have the same.

    ## What to do
    Keep one NCCL on the loader's path of this environment, in the release that the framework requires.

    ## References
    - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    - https://github.com/pytorch/pytorch/issues/119932
    """
    found = [use for use in uses(framework, machine, hardware) if use.component == "nccl"]
    if not found:
        not_applicable(f"{framework.name} does not ask for NCCL")
    use = found[0]
    another = next((place.path for place in (*use.shadows, *use.elsewhere)), "")
    one = copy(use, another, framework, machine)
    if one is None:
        return
    two = isinstance(use.file, LibraryFile) and isinstance(use.file.owner, str) and " or " in use.file.owner
    version = need(one.version)
    if not (another or two) or one.wanted is None or _same(one.wanted, version):
        return
    yield Problem(
        message=f"{called(framework)} wants NCCL {one.wanted} and would load {version} from {folder(one.path)}.",
        severity=_harm(one, framework, hardware),
        only_for=framework.name,
        evidence=(
            Evidence("NCCL that would be loaded", f"{one.path} ({version})", use.why),
            Evidence("NCCL that the build wants", str(one.wanted), one.wanted_where),
            *((Evidence("another copy", another, "on disk"),) if another else ()),
        ),
        fixes=(_one_nccl(one, another, framework, machine, both=two),),
    )


def _same(wanted: Version, version: Version) -> bool:
    said = min(wanted.text.count("."), version.text.count("."), 2) + 1
    return wanted[:said] == version[:said]


def _harm(one: Copy, framework: Framework, hardware: Hardware) -> Severity | None:
    """What another NCCL does: linked and older it ends the import; else it is used, and may fail, between several GPUs."""
    if one.wanted is not None and isinstance(one.version, Version) and one.wanted[:3] > one.version[:3]:
        if framework.name == "torch":
            return None
        return Severity.WARNING if len(hardware) > 1 else Severity.NOTE
    return Severity.NOTE


def _one_nccl(one: Copy, another: str, framework: Framework, machine: MachineView, *, both: bool) -> Fix:
    if both:
        return _reinstalled(framework, machine)
    if by_path(one.use):
        variables = machine.observed.variables
        value = "" if isinstance(variables, Missing) else variables.values.get(PATH, "")
        left = [entry for entry in value.split(":") if entry and not f"{folder(one.path)}/".startswith(f"{entry.rstrip('/')}/")]
        line = f"export {PATH}={shell_list(left)}" if left else f"unset {PATH}"
        return Fix(f"Take {folder(one.path)} out of {PATH}, here and where it is set", line)
    return Fix("Put the folder of the other copy first", f'export {PATH}={shell_path(folder(another))}"${{{PATH}:+:${PATH}}}"')


def _reinstalled(framework: Framework, machine: MachineView) -> Fix:
    """Two packages share a folder: the one that the framework requires, installed again over the other."""
    stack = machine.stack_or_missing
    there = stack.distributions if isinstance(stack, Stack) else {}
    demands = stack.demands if isinstance(stack, Stack) else ()
    wanted = [
        one.requirement for one in demands if one.by.name == framework.distribution and one.requirement.name.startswith("nvidia-nccl")
    ]
    names = {one.name for one in wanted}
    gone = tuple(name for name in there if name.startswith("nvidia-nccl") and name not in names)
    if not wanted or not gone:
        return Fix("Remove the package of NCCL that the framework does not require, then reinstall the other: they share a folder.")
    pins = dict.fromkeys(f"{one.name}{one.specifier}" for one in wanted)
    command = install_package(machine.observed.python, "--force-reinstall", "--no-deps", *pins, replace=gone)
    return Fix(f"Remove {' and '.join(gone)}, and reinstall the package that {called(framework)} requires", command, (DOWNLOAD,))


@rule("GD418", severity=Severity.NOTE, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK, predicts=False)
def unexpected_library_loaded(framework: Framework, smoke: Smoke, machine: MachineView) -> Iterator[Problem]:
    """The framework loaded another file of a library than the X-ray expected.

    ## Why it matters
    The X-ray follows the dynamic loader's rules; the smoke training says which files its process really mapped. Where they differ, something
    loads libraries besides: a sitecustomize.py, an audit library, code of the environment that opens one by its path. What the other rules
    say of that library is then about a file that is not used.

    ## What to do
    Look for what loads it; with LD_DEBUG=libs the loader tells each step.

    ## References
    - https://man7.org/linux/man-pages/man8/ld.so.8.html
    """
    seen = xray(framework, xrayed(machine))
    if seen is None:
        not_applicable(f"there is no X-ray of {framework.name}")
    found = tuple(unexpected(seen, need(smoke.mapped)))
    if found:
        yield Problem(
            message=f"{called(framework)} loaded {found[0].mapped}, where {found[0].simulated or 'no file at all'} was expected.",
            evidence=tuple(
                row
                for one in found
                for row in (
                    Evidence(one.use.wanted, one.mapped, "/proc/self/maps of the smoke training"),
                    Evidence(f"{one.use.wanted}, expected", one.simulated or "none", one.use.why or "the X-ray"),
                )
            ),
            fixes=(
                Fix(
                    "See which step loads it",
                    f"LD_DEBUG=libs {interpreter(machine.observed.python)} -c 'import {framework.name}' 2>&1 | grep {found[0].use.wanted}",
                    kind=FixKind.CHECK,
                ),
            ),
        )


RULES = (ld_library_path_shadowing, cudnn_shadowed_by_system, nccl_version_conflict, unexpected_library_loaded)
