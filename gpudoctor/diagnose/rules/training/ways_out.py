"""What to do about a stage of a smoke training that failed: it follows from the error."""

import re
import sys
from collections.abc import Callable

import msgspec

from gpudoctor.derive import CouldNotTell, FrameworkView, NotApplicable
from gpudoctor.derive.libraries import LIBRARY_PATH, is_lost
from gpudoctor.diagnose.advice.installing import install_another_release
from gpudoctor.diagnose.advice.packages import quoted_interpreter
from gpudoctor.diagnose.advice.same_release import install_dependencies, reinstall_framework
from gpudoctor.diagnose.advice.system import read_log
from gpudoctor.diagnose.rules.libraries.install_missing import install_missing_libraries
from gpudoctor.diagnose.rules.training.framework_output import OutputSummary
from gpudoctor.expressions import expression
from gpudoctor.findings import DOWNLOAD, ROOT, Action, Domain, Fix, FixKind
from gpudoctor.frameworks import stack_of
from gpudoctor.snapshot import LibraryUse, Missing, Stage, StageKind, StageState

_LOADER_VARIABLES = (LIBRARY_PATH, "LD_PRELOAD")
"""The variables by which the loader takes other libraries than the framework's own."""
_BUNDLED_LIBRARY = expression(r"-[0-9a-f]{8}$")
"""How auditwheel names the libraries that it copies into a wheel: libgomp-a34b3233.so.1."""
_CUDA_LIBRARY = expression(r"lib(?:cu(?!da$)|nccl|nv(?!idia-))\w+$")
"""The libraries of CUDA, but the driver's."""
_REMOVED_MODULES = frozenset({"distutils", "imp"})
"""Modules that Python 3.12 no longer has, so no build of it does: https://docs.python.org/3/whatsnew/3.12.html#removed"""


class StageRemedy(msgspec.Struct, frozen=True):
    """What to do about an error, and where the fault lies."""

    fixes: tuple[Fix, ...]
    checks: tuple[Fix, ...] = ()
    """What to read before anything else."""
    domain: Domain | None = None
    """None: where the rule says."""
    of_release: bool = True
    """Whether another release may help."""


def stage_remedy(framework: FrameworkView, stage: Stage, output: OutputSummary) -> StageRemedy:
    """Return what to do about a stage that failed: what its log proves, else what its error asks for, last another release."""
    error = stage.error if isinstance(stage.error, str) else ""
    pointer = output.pointer
    told = tuple(msgspec.structs.replace(fix, action=None) for fix in pointer.fixes) if pointer else ()
    if pointer is not None and pointer.sure and told:
        domain = pointer.rules[0].lies_in if pointer.rules else None
        changes = any(fix.kind is FixKind.FIX for fix in told)
        return _with_other_release(framework, StageRemedy(told, domain=domain, of_release=changes and domain in {None, Domain.ENVIRONMENT}))
    asked = _remedy_by_error(framework, stage, error)
    if (asked is None or asked.of_release) and _is_without_cuda(framework):
        return StageRemedy((install_another_release(framework.machine, framework.name),))
    if asked is None and told:
        asked = StageRemedy(told)
    if asked is None and stage.state is StageState.HUNG:
        return _remedy_for_hang(framework, stage)
    return _with_other_release(framework, asked or _remedy_by_stage(framework, stage, error))


def _is_without_cuda(framework: FrameworkView) -> bool:
    """Return whether the installed build would not train on the GPU either if its stages passed."""
    return bool(framework.machine.hardware) and framework.observed.cuda_build is False and not framework.machine.policy.allow_cpu


def _remedy_for_hang(framework: FrameworkView, stage: Stage) -> StageRemedy:
    """Return what to do about a hang without a known cause; on a GPU it is often the driver's or the GPU's fault."""
    log = (read_log(),) if stage.device.startswith("GPU") else ()
    return StageRemedy((install_another_release(framework.machine, framework.name),), log)


def _with_other_release(framework: FrameworkView, way: StageRemedy) -> StageRemedy:
    other = install_another_release(framework.machine, framework.name, kind=FixKind.ELSE)
    if not way.of_release or other.command in {fix.command for fix in way.fixes if fix.command}:
        return way
    return msgspec.structs.replace(way, fixes=(*way.fixes, other))


def _remedy_by_error(framework: FrameworkView, stage: Stage, error: str) -> StageRemedy | None:
    """Return what an error says by itself; None if it does not."""
    found = ((way, match) for pattern, way in _REMEDIES_BY_ERROR if (match := pattern.search(error)))
    return next((answer for way, match in found if (answer := way(framework, stage, match)) is not None), None)


def _remedy_by_stage(framework: FrameworkView, stage: Stage, error: str) -> StageRemedy:
    """Return what to do about an error that says only where it struck."""
    if _CRASH_SIGNAL.search(error):
        return _remedy_for_crash(framework, stage)
    if stage.kind == StageKind.IMPORT:  # usually a package does not match what the release requires
        return StageRemedy((install_dependencies(framework), reinstall_framework(framework, kind=FixKind.ELSE)))
    return StageRemedy((reinstall_framework(framework),))


def _remedy_for_module(framework: FrameworkView, _: Stage, found: re.Match[str]) -> StageRemedy | None:
    """Return what installs a module: pip adds what an installed release requires; Python's own modules come with Python alone."""
    name = found["module"].partition(".")[0]
    if stack_of(name.replace("_", "-")) == framework.name:
        return StageRemedy((reinstall_framework(framework),))
    if name in _REMOVED_MODULES:
        return None
    if name in sys.stdlib_module_names:
        title = f"Create the environment with a Python that has its module {name}: this Python was built without it."
        return StageRemedy((Fix(title, needs=(DOWNLOAD,), action=Action.INSTALL_PACKAGE),), of_release=False)
    return StageRemedy((install_dependencies(framework), reinstall_framework(framework, kind=FixKind.ELSE)))


def _remedy_for_library(framework: FrameworkView, _: Stage, found: re.Match[str]) -> StageRemedy | None:
    """Return what installs a library: the wheel that it comes in or, if none has it, the system's package."""
    stem, name = found["stem"], found["library"]
    if _is_bundled_library(framework, stem):
        return StageRemedy((reinstall_framework(framework), *_unset_loader_variables(framework)))
    if stem.startswith(("libcuda.", "libnvidia-")):
        return None
    if _CUDA_LIBRARY.match(stem):
        return StageRemedy((*install_missing_libraries(framework, _lost_libraries(framework, stem)), *_unset_loader_variables(framework)))
    title = f"Install the system package that contains {name}; `apt-file search {name}` or `dnf provides '*/{name}'` names it."
    return StageRemedy((Fix(title, needs=(ROOT, DOWNLOAD), action=Action.INSTALL_PACKAGE),))


def _is_bundled_library(framework: FrameworkView, stem: str) -> bool:
    """Return whether the framework's own wheel holds a library."""
    return stem.startswith((*framework.spec.own_libraries, f"lib{framework.name}")) or bool(_BUNDLED_LIBRARY.search(stem))


def _lost_libraries(framework: FrameworkView, stem: str) -> tuple[LibraryUse, ...]:
    """Return the requests of the X-ray for a library that no searched place has."""
    try:
        uses = framework.xray.uses
    except (CouldNotTell, NotApplicable):
        return ()
    wanted = () if isinstance(uses, Missing) else uses
    return tuple(use for use in wanted if is_lost(use) and use.wanted.partition(".so")[0] == stem)


def _remedy_for_mismatch(framework: FrameworkView, _: Stage, __: re.Match[str]) -> StageRemedy:
    """Return what gives the framework its own libraries: without the folders that hide them, or from new copies."""
    apart = _unset_loader_variables(framework, FixKind.FIX)
    return StageRemedy((*apart, reinstall_framework(framework, kind=FixKind.ELSE if apart else FixKind.FIX)))


def _unset_loader_variables(framework: FrameworkView, kind: FixKind = FixKind.ELSE) -> tuple[Fix, ...]:
    """Return the fix that unsets the variables by which the loader finds other libraries first; empty where none is set."""
    names = [name for name in _LOADER_VARIABLES if framework.machine.variable(name)]
    title = f"Start Python without {' and '.join(names)}, whose libraries are loaded before the framework's own"
    return (Fix(title, f"unset {' '.join(names)}", kind=kind),) if names else ()


def _remedy_for_kill(framework: FrameworkView, _: Stage, found: re.Match[str]) -> StageRemedy:
    """Return how to find the sender of a signal that only another program or the kernel sends."""
    site = framework.machine.site
    journal = "sudo journalctl --boot --no-pager | grep -iE 'oom|kill' | tail"
    where = " on the host" if site.container else ""
    check = Fix(f"Read who killed it{where}: the kernel, systemd-oomd, earlyoom or a scheduler", journal, kind=FixKind.CHECK)
    groups = Fix("Read how often a memory limit of this cgroup was hit", "cat /sys/fs/cgroup/memory.events", kind=FixKind.CHECK)
    title = f"If the log names the sender of {found['signal']}, raise its limit or exempt this program, then start again."
    checks = (check, groups) if site.container else (check,)
    return StageRemedy((Fix(title, action=Action.RESTART_JOB),), checks, Domain.JOB, of_release=False)


def _remedy_for_limit(_: FrameworkView, __: Stage, found: re.Match[str]) -> StageRemedy:
    option, what = _LIMIT_OPTIONS[found["signal"]]
    return StageRemedy((Fix(f"Raise the limit of {what}", f"ulimit {option} unlimited"),), domain=Domain.JOB, of_release=False)


_LIMIT_OPTIONS = {"SIGXCPU": ("-t", "CPU time"), "SIGXFSZ": ("-f", "file size")}
"""The signals of resource limits, with bash's option: https://man7.org/linux/man-pages/man2/getrlimit.2.html"""


def _remedy_for_crash(framework: FrameworkView, stage: Stage) -> StageRemedy:
    """Return how to see where compiled code crashed, and what replaces damaged or mixed files."""
    command = f"{quoted_interpreter(framework.machine.observed.python)} -X faulthandler -c 'import {framework.name}'"
    checks = (
        *((Fix("Read where it crashes", command, kind=FixKind.CHECK),) if stage.kind == StageKind.IMPORT else ()),
        *((read_log(),) if stage.device.startswith("GPU") else ()),
    )
    return StageRemedy((reinstall_framework(framework), *_unset_loader_variables(framework)), checks)


RemediesByError = tuple[tuple[re.Pattern[str], Callable[[FrameworkView, Stage, re.Match[str]], StageRemedy | None]], ...]
_REMEDIES_BY_ERROR: RemediesByError = (
    (expression(r"No module named '?(?P<module>[A-Za-z_][\w.]{0,80})"), _remedy_for_module),
    # glibc's dl-load; torch/__init__.py, which shows the pattern that it searched for
    (
        expression(
            r"(?P<library>(?P<stem>lib[\w+-]{1,60})\.so[\w.*\[\]-]{0,20}?)(?:: cannot open shared object file| not found in the system path)"
        ),
        _remedy_for_library,
    ),
    # glibc's dl-lookup, dl-version and dl-load
    (
        expression(r"undefined symbol|version [`'][^'\n]{1,80}' not found|invalid ELF header|wrong ELF class|file too short"),
        _remedy_for_mismatch,
    ),
    (expression(r"\bwas killed by (?P<signal>SIGKILL|SIGTERM|SIGHUP|SIGINT)\b"), _remedy_for_kill),
    (expression(r"\bwas killed by (?P<signal>SIGXCPU|SIGXFSZ)\b"), _remedy_for_limit),
)
"""What an error says by itself: a pattern, and what to do."""
_CRASH_SIGNAL = expression(r"\bwas killed by SIG(?:SEGV|ABRT|BUS|FPE|ILL|TRAP)\b")
