from collections.abc import Iterator

import msgspec

from gpudoctor.derive import EnvironmentView, not_applicable, wheel_platform
from gpudoctor.derive.cuda import STUB_ACCELERATOR
from gpudoctor.derive.packages import UNPUBLISHED, Stack, source_of
from gpudoctor.derive.specifiers import is_of_extra, only_version
from gpudoctor.derive.unpublished_releases import releases_around
from gpudoctor.diagnose.advice.installing import install_framework, install_nearest_release, install_pick
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.releases import pick_release
from gpudoctor.diagnose.advice.system import USE_WSL
from gpudoctor.diagnose.rule import explains, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import joined_words
from gpudoctor.frameworks import framework_of, spec_of, stack_of
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.matrix.citations import citation
from gpudoctor.matrix.row_matching import final_release
from gpudoctor.matrix.tables import FAULTS, TABLE_OF
from gpudoctor.snapshot import Distribution, Platform


@rule("GD608", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
@explains(("metal-plugin-missing",), "A plugin does not help a release without wheels for this Mac.")
def package_not_installable(environment: EnvironmentView) -> Problems:
    """Requested release cannot be installed."""
    stack = environment.stack
    if not stack.supposed:
        not_applicable("the packages are installed, not planned")
    told: set[str] = set()
    for package in stack.distributions.values():
        row, root = stack.row(package), _stated_root(package, stack)
        if row is not None and row.accelerator == STUB_ACCELERATOR:
            yield _stub_problem(package, row, environment)
        elif row is None and stack.matrix.releases(package.name) and (root is package or root.name not in told):
            problems = tuple(_unpublished_releases(package, root, environment))
            told |= {root.name for _ in problems}
            yield from problems
    yield from _unpublished_requirements(environment)


def _unpublished_requirements(environment: EnvironmentView) -> Problems:
    """Report requirements for exactly a release that the package index does not have."""
    matrix = environment.machine.matrix
    for demand in environment.stack.demands:
        wanted = demand.requirement
        for fault in matrix.rows(FAULTS, wanted.name):
            if fault.fault == UNPUBLISHED and fault in matrix.faults(wanted.name, only_version(wanted.specifier) or ""):
                package = demand.by
                other = "" if is_of_extra(wanted.marker) else f"!={package.version}"
                framework = framework_of(package.name) or ""
                yield Problem(
                    message=f"{demand.text}, which the package index does not have.",
                    evidence=(
                        Evidence("requirement", wanted.text, demand.where),
                        Evidence(wanted.name, fault.note, citation(fault.source, f"{wanted.name} {fault.first}")),
                    ),
                    fixes=(
                        *install_framework(environment.machine, framework, accepts=other, near=package.version),
                        *_install_with_extra(package, environment),
                    )
                    if framework
                    else install_nearest_release(environment.machine, package.name, accepts=other),
                )


def _install_with_extra(package: Distribution, environment: EnvironmentView) -> Iterator[Fix]:
    """Yield the fix that installs the nearest other release of a framework with the extra that was asked for, if one works here."""
    machine, framework = environment.machine, framework_of(package.name) or ""
    found = pick_release(
        machine, framework, accepts=f"!={package.version}", near=package.version, suits=lambda build: build.extra in package.extras
    )
    if found is not None:
        yield install_pick(machine, framework, found, kind=FixKind.INSTEAD)


def _stated_root(package: Distribution, stack: Stack) -> Distribution:
    """Return the stated package that requires this one, directly or not; itself if it is stated or nobody does."""
    distribution, seen = package, set[str]()
    while not stack.stated(distribution) and distribution.name not in seen:
        seen.add(distribution.name)
        distribution = next((demand.by for demand in stack.demands if demand.requirement.name == distribution.name), distribution)
    return distribution if stack.stated(distribution) else package


def _stub_problem(package: Distribution, row: FrameworkRelease, environment: EnvironmentView) -> Problem:
    return Problem(
        message=f"{package.label} is a stub whose installation always fails.",
        evidence=(Evidence(package.label, row.note or "a stub", source_of(row)),),
        fixes=_install_successor(package, environment),
    )


def _install_successor(package: Distribution, environment: EnvironmentView) -> tuple[Fix, ...]:
    """Return the fixes that install what a package that ended is called now; () if its name does not tell."""
    name = package.name.removesuffix("-gpu").removesuffix("-cpu")
    fixes = install_framework(environment.machine, name, near=package.version) if name != package.name else ()
    return tuple(msgspec.structs.replace(fix, removes=(package.name,)) if fix.installs else fix for fix in fixes)


def _unpublished_releases(package: Distribution, root: Distribution, environment: EnvironmentView) -> Problems:
    """Report a release that does not exist, or not for this platform.

    A release outside the range of the tables is unknown, not a fault; so is a build ("+cu118") that they do not list.
    """
    stack = environment.stack
    around = releases_around(package, stack.matrix)
    pinned = any(demand.requirement.name == package.name for demand in stack.demands)  # of those _unmet speaks
    faults = () if pinned else stack.matrix.faults(package.name, package.version)
    gone = next((fault for fault in faults if fault.fault == UNPUBLISHED), None)
    listed = "+" not in package.version and final_release(package.version) is not None
    elsewhere = stack.elsewhere(package) if stack.platform and listed and not around else {}
    if elsewhere:
        here = wheel_platform.platform_label(stack.platform)
        names = joined_words(map(wheel_platform.platform_label, elsewhere))
        required = "" if root is package else f" (required by {root.label})"
        message = f"{package.label}{required} has no wheel for {here}, only for {names}."
        evidence = tuple(
            Evidence(f"wheel for {wheel_platform.platform_label(name)}", "published", source_of(row)) for name, row in elsewhere.items()
        )
    elif gone is not None:
        message = f"{package.label} is not on the package index; {gone.note}."
        evidence = (Evidence(package.label, "not published", citation(gone.source, package.label)),)
    elif around:
        message = f"{package.name} {package.version.partition('+')[0]} does not exist; {_known_releases_text(package, around)}."
        evidence = (Evidence(f"releases of {package.name}", " ".join(str(row.release) for row in around), source_of(around[-1])),)
    else:
        return
    ended = bool(around) and around[-1].accelerator == STUB_ACCELERATOR
    fixes = (
        (ended and _install_successor(package, environment))
        or _leave_plugin_out(package, environment)
        or install_nearest_release(environment.machine, package.name)
    )
    if (
        environment.machine.site.platform == Platform.WINDOWS
        and wheel_platform.LINUX_X86_64 in elsewhere
        and not any(fix.installs for fix in fixes)
    ):
        fixes = (USE_WSL,)
    elif root is not package and elsewhere:
        fixes = _install_without_extras(package, root, environment) or (
            Fix(f"Use a platform with wheels of {package.name}, or remove {root.requirement} from the plan."),
        )
    yield Problem(message=message, evidence=evidence, fixes=fixes)


def _known_releases_text(package: Distribution, around: tuple[FrameworkRelease, ...]) -> str:
    """Return what the releases around one that does not exist prove."""
    releases = [str(row.release) for row in around]
    if around[-1].accelerator == STUB_ACCELERATOR:
        return f"{releases[-1]}, a stub, was the last release"
    if package.name in TABLE_OF:
        return f"{releases[0]} is followed by {releases[1]}"
    return f"the {around[0].release.short} releases are {', '.join(releases)}"


def _install_without_extras(package: Distribution, root: Distribution, environment: EnvironmentView) -> tuple[Fix, ...]:
    """Return the fix that installs a stated package without the extras that alone require another one; () if something else does."""
    demands = [demand for demand in environment.stack.demands if demand.requirement.name == package.name]
    if not demands or any(demand.by is not root or "extra" not in demand.requirement.marker for demand in demands):
        return ()
    plain = f"{root.name}=={root.version}"
    title = f"Install {root.label} without the extra {','.join(root.extras)}, whose packages have no wheel for this platform"
    return (install_fix(title, environment.observed.python, plain),)


def _leave_plugin_out(package: Distribution, environment: EnvironmentView) -> tuple[Fix, ...]:
    """Return the fix that leaves the release of a CUDA plugin to its framework, which requires one; () for another package."""
    framework = stack_of(package.name)
    plugin = spec_of(framework or "").plugin
    if (
        framework is None
        or plugin is None
        or not package.name.startswith(plugin.beginning)
        or framework not in environment.stack.distributions
    ):
        return ()
    return install_framework(environment.machine, framework, replace=(package.name,))
