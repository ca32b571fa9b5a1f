"""GD805: nccl-version-conflict."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, MachineView, Stack
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.advice.shell import shell_list, shell_path
from gpudoctor.diagnose.library_facts import PATH, Copy, by_path, copy, folder, uses
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, LibraryFile, Missing
from gpudoctor.versions import Version


@rule(
    "GD805",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(
        Explains(
            (
                "all-reduce-failed",
                *TRAINING_FAILS,
            ),
            "",
            Join.FRAMEWORK,
        ),
    ),
)
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
    two = isinstance(use.file, LibraryFile) and len(use.file.owners) > 1
    version = need(one.version)
    if not (another or two) or one.wanted is None or _same(one.wanted, version):
        return
    yield Problem(
        message=f"{framework.label} wants NCCL {one.wanted} and would load {version} from {folder(one.path)}.",
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
    return Fix(f"Remove {' and '.join(gone)}, and reinstall the package that {framework.label} requires", command, (DOWNLOAD,))
