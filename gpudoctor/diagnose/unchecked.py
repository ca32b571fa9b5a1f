"""What matters for the answer and could not be checked: with anything listed here the verdict is never ready.

In an assumed environment every stated package is checked by a rule or listed here. In an installed one this covers the frameworks with
their builds, and the known add-ons that compute on the GPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpudoctor.derive import EffectiveCode, FrameworkView, MachineView, Stack, wheel_platform
from gpudoctor.derive.add_on_wheels import extended_framework
from gpudoctor.derive.demands import Demand
from gpudoctor.derive.gpu_code import UNSUPPORTED_FITS, Fit
from gpudoctor.derive.packages import chosen_frameworks
from gpudoctor.derive.plugins import compares_plugins, mismatched_plugins
from gpudoctor.derive.specifiers import is_of_extra, parse_requirement, parse_requirements, satisfies
from gpudoctor.derive.wheel_tags import installed_glibc, newest_glibc, wheel_tags
from gpudoctor.diagnose.advice.releases import other_builds_clause
from gpudoctor.diagnose.system_libraries import unstated_libraries
from gpudoctor.diagnose.unexamined_libraries import unexamined_libraries
from gpudoctor.diagnose.unlisted_requirements import unlisted_requirements
from gpudoctor.findings import ENVIRONMENT, Subject, SubjectKind, Unchecked
from gpudoctor.frameworks import ADDONS, CATALOGUE, spec_of, stack_of
from gpudoctor.matrix import MatchKind
from gpudoctor.matrix.tables import DRIVERS, TABLE_OF
from gpudoctor.snapshot import NOT_ASKED, SUPPOSED, Cause, Distribution, Fact, Framework, Libraries, Missing, Platform, is_unasked
from gpudoctor.snapshot.distributions import is_typo_of

_UNEXAMINED_PACKAGES = (
    "onnxruntime-gpu",
    "onnxruntime-training",
    "mxnet-cu",
    "pycuda",
    "rmm-cu",
    "cudf-cu",
    "cuml-cu",
    "cugraph-cu",
)
"""How the names of packages begin that compute on the GPU by themselves and that no rule examines."""
_OPENCL_KIND = "opencl"
_UNKNOWN_BUILDS = {
    "sdist": "the package index has only its source, which is compiled or fetches its binaries during installation",
    "repository": "the package index lacks it and has another package of this name; it is compiled from its repository",
    _OPENCL_KIND: "it uses GPUs through OpenCL, which no rule checks",
}
"""By the accelerator in the tables: why nothing can be said about a build."""
_UNKNOWN_PACKAGE = "no table lists this package"


def unchecked_things(machine: MachineView) -> tuple[Unchecked, ...]:
    """Return everything that no rule and no table could check, each once, the most important first."""
    supposed = machine.observed.origin == SUPPOSED
    packages = _unchecked_packages(machine) if supposed else _unchecked_add_ons(machine)
    every = (
        *_unread_interpreter(machine),
        *_unknown_frameworks(machine),
        *_gpus_of_unlisted_driver(machine),
        *unexamined_libraries(machine),
        *_untrainable_frameworks(machine),
        *packages,
        *_unmatched_plugins(machine),
    )
    found = {one.what: one for one in every}
    return tuple(found.values())


def _untrainable_frameworks(machine: MachineView) -> Iterator[Unchecked]:
    """The frameworks that gpudoctor was asked to train with and cannot."""
    smokes = () if isinstance(machine.observed.smoke, Missing) else machine.observed.smoke
    for smoke in smokes:
        if smoke.unsupported:
            yield Unchecked(
                Subject(SubjectKind.FRAMEWORK, smoke.framework), f"training with {smoke.framework}", smoke.unsupported.rstrip(".")
            )


def _unread_interpreter(machine: MachineView) -> Iterator[Unchecked]:
    """The environment, if the examined interpreter could not be read."""
    unknown = next((missing for missing in (machine.observed.python, machine.observed.frameworks) if isinstance(missing, Missing)), None)
    if unknown is not None and not is_unasked(unknown):
        yield Unchecked(ENVIRONMENT, "the Python environment", unknown.reason)


def _unknown_frameworks(machine: MachineView) -> Iterator[Unchecked]:
    for view in machine.frameworks:
        framework = view.observed
        version = framework.version.value if isinstance(framework.version, Fact) else ""
        unknown = (
            _unknown_release(machine, framework, version)
            or _unknown_build(view)
            or _unknown_gpu_code(machine, view)
            or _unstated_requirement(machine, view)
        )
        reason = "" if view.trains_on_gpu else unknown
        if reason:
            what = f"{framework.distribution or framework.name} {version}".strip()
            yield Unchecked(Subject(SubjectKind.FRAMEWORK, framework.name), what, reason, package=framework.distribution or framework.name)


def _gpus_of_unlisted_driver(machine: MachineView) -> Iterator[Unchecked]:
    """The assumed GPUs that a driver in no listed branch may have dropped: it runs older CUDA programs, and supports fewer old GPUs."""
    driver = machine.driver_or_missing
    if machine.observed.origin != SUPPOSED or isinstance(driver, Missing):
        return
    newest = machine.matrix.rows(DRIVERS)[-1].branch
    for gpu in machine.gpus:
        capability = gpu.supposed_capability
        if capability is not None and machine.matrix.deciding_branch(driver.version, capability) is None:
            where = (
                f"newer than the tables, which end with branch {newest}"
                if driver.version.major > newest
                else "of a branch that no table lists"
            )
            reason = f"driver {driver.version} is {where}; whether it supports compute capability {capability} is unknown"
            yield Unchecked(gpu.subject, gpu.label, reason)


def _unknown_release(machine: MachineView, framework: Framework, version: str) -> str:
    """Return why an assumed framework's release is unknown; empty if it is known, even for another platform."""
    if machine.observed.origin != SUPPOSED:
        return ""
    here = machine.matrix.resolve(
        framework.distribution, version, wheel_platform.platform_name(machine.observed.host, machine.observed.python)
    )
    platforms = {row.platform for row in machine.matrix.releases(framework.distribution)}
    elsewhere = any(machine.matrix.resolve(framework.distribution, version, platform).how is not MatchKind.NONE for platform in platforms)
    return "" if here.how is not MatchKind.NONE or elsewhere else here.why


def _unknown_build(view: FrameworkView) -> str:
    """Return why nothing can be said about the published build of a framework; empty if something can."""
    return next((_UNKNOWN_BUILDS[row.accelerator] for row in view.published if row.accelerator in _UNKNOWN_BUILDS), "")


def _unknown_gpu_code(machine: MachineView, view: FrameworkView) -> str:
    """Return what is unknown of a build: its CUDA, its GPU code, or whether that runs on a GPU here; empty if nothing is."""
    framework = view.observed
    if not machine.hardware or framework.rocm_build is True or view.is_using_directml:
        return ""
    if any(row.accelerator != "cuda" for row in view.published) and framework.cuda_build is not True:
        return ""
    cuda, code, meetings = view.cuda_or_missing, view.code_or_missing, view.gpu_fits_or_missing
    if isinstance(cuda, Missing):
        return "" if cuda.cause is Cause.ABSENT else cuda.reason
    fits = () if isinstance(meetings, Missing) else tuple(meeting for meeting in meetings if meeting.capability is not None)
    if fits and all(meeting.fit in UNSUPPORTED_FITS for meeting in fits):
        return ""
    if not isinstance(code, EffectiveCode) or code.sass is None:
        return f"it is unknown which GPUs this build has kernels for{other_builds_clause(machine, view.observed)}"
    unsure = next((meeting for meeting in fits if meeting.fit is Fit.UNKNOWN), None)
    page = f"; for Jetson, see {view.spec.jetson_page}" if machine.site.platform == Platform.JETSON else ""
    return f"it is unknown whether this build has kernels for compute capability {unsure.capability}{page}" if unsure else ""


def _unstated_requirement(machine: MachineView, view: FrameworkView) -> str:
    """Return what was not stated of an assumed machine and decides whether a build works there; empty if nothing is."""
    if machine.observed.origin != SUPPOSED:
        return ""
    return _unknown_c_library(view) or (unstated_libraries(view) if machine.hardware else _unknown_without_gpu(view))


def _unknown_c_library(view: FrameworkView) -> str:
    """Return that the C library which a build needs is unknown; empty if the system's is as new as any release of the package needs."""
    stack, python = view.environment.stack_or_missing, view.environment.observed.python
    libc = NOT_ASKED if isinstance(python, Missing) else python.libc
    if isinstance(stack, Missing) or isinstance(libc, Missing):
        return ""
    own = installed_glibc(libc)
    for part in view.compiled_parts:
        newest = newest_glibc(stack.matrix.all_tags(part.name, stack.platform))
        if not wheel_tags(part) and newest is not None and (own is None or own < newest):
            return f"it is unknown which C library the wheel of {part.label} needs; this system has {libc}"
    return ""


def _unknown_without_gpu(view: FrameworkView) -> str:
    """Return why an add-on of a framework is not known to work without a GPU; empty for other packages."""
    add_on = any(row.accelerator == "cuda" and extended_framework(row) for row in view.published)
    return "it is built for CUDA, and whether it works without a GPU is unknown" if add_on else ""


def _unchecked_packages(machine: MachineView) -> Iterator[Unchecked]:
    stack = machine.stack_or_missing
    if isinstance(stack, Missing) or isinstance(machine.observed.packages, Missing):
        return
    for unread in machine.observed.packages.unread:
        yield Unchecked(ENVIRONMENT, unread.what, unread.why)
    for name in machine.observed.packages.without_release:
        reason = _unknown_without_release(name, stack)
        if reason:
            yield Unchecked(ENVIRONMENT, name, reason, package=name)
    frameworks = {framework.distribution for framework in machine.observed_frameworks}
    cudnns = frozenset(getattr(framework.component_or_missing("cudnn"), "wheel", "") for framework in machine.frameworks)
    for package in sorted(stack.distributions.values(), key=lambda package: package.name not in ADDONS):
        known = spec_of(stack_of(package.name) or "").gpu_extra  # whether a release has this one is known
        for extra in (name for name in package.unknown_extras if name != known):
            yield Unchecked(
                ENVIRONMENT, f"{package.name}[{extra}]", f"no table lists an extra {extra} of {package.label}", package=package.name
            )
        reason = "" if package.name in frameworks else _unknown_package(package, stack, cudnns)
        if reason:
            yield Unchecked(ENVIRONMENT, package.label, reason, package=package.name)
    yield from _unlisted_demands(stack)
    yield from unlisted_requirements(stack)


def _unknown_package(package: Distribution, stack: Stack, cudnns: frozenset[str]) -> str:
    """Return why no rule checks an assumed package that is no framework; empty if one does, as for the frameworks' cuDNN."""
    rows = stack.matrix.releases(package.name)
    row = stack.row(package) or next(iter(stack.elsewhere(package).values()), None)
    if rows and row is None:
        return "no table lists this release"
    if row is not None and row.accelerator in _UNKNOWN_BUILDS:
        unused = row.accelerator == _OPENCL_KIND and not stack.stated(package)  # it computes on the CPU unless it is told to use a GPU
        return "" if unused else _UNKNOWN_BUILDS[row.accelerator]
    spans = stack.matrix.pythons(package.name) if stack.stated(package) else {}
    if spans and stack.python and stack.python not in spans:
        return f"no table lists which of its releases have wheels for Python {stack.python}"
    if not stack.stated(package) or package.name in stack.without_gpu_code:
        return ""
    refused = _possible_refusal(package, stack) or _missing_binding(package, stack)
    overwrites = any(package in group for group in stack.overwriting_packages)
    if (
        refused
        or package.name in cudnns
        or overwrites
        or _is_compared(package, stack)
        or chosen_frameworks(package, stack.distributions, stack.matrix)
    ):
        return refused
    return "no rule compares it with the other packages" if rows else _unlisted_reason(package.name)


def _possible_refusal(package: Distribution, stack: Stack) -> str:
    """Return which package may exclude this version, on Python versions that were not ruled out; empty if none does."""
    for row in stack.rows:
        for wanted in parse_requirements(row.requires):
            if (
                wanted.name == package.name
                and stack.is_applicable(wanted) is None
                and satisfies(package.version, wanted.specifier) is False
            ):
                return (
                    f"{row.distribution} {row.release} requires {wanted.name}{wanted.specifier} on some Python versions; state the version"
                )
    return ""


def _missing_binding(package: Distribution, stack: Stack) -> str:
    """Return the part of a package for a framework beside it that only an extra installs and that is missing; empty if none is.

    Without transformer-engine-torch, transformer_engine.pytorch cannot be imported: common/__init__.py finds no library.
    """
    row = stack.row(package)
    named = [wanted.name for wanted in parse_requirements(row.requires if row is not None else ())]
    parts = ((name, ADDONS[name][0]) for name in named if name in ADDONS and name.startswith(f"{package.name}-"))
    missing = next(((name, beside) for name, beside in parts if beside in stack.distributions and name not in stack.distributions), None)
    return f"its part for {missing[1]}, {missing[0]}, is not among the packages; an extra installs it" if missing else ""


def _is_compared(package: Distribution, stack: Stack) -> bool:
    """Whether a package is checked against another's requirement, or against the NumPy that another was compiled for."""
    return (
        any(_is_comparable(demand, stack) for demand in stack.demands if package.name in {demand.by.name, demand.requirement.name})
        or (package.name == "numpy" and any(row.numpy_abi for row in stack.rows))
        or any(_is_allowed(text, package) for row in stack.rows for text in row.requires)
    )


def _is_allowed(text: str, package: Distribution) -> bool:
    """Whether a requirement allows a package; its marker may be unknown, as without a stated Python."""
    wanted = parse_requirement(text)
    return (
        wanted is not None
        and wanted.name == package.name
        and not is_of_extra(wanted.marker)
        and satisfies(package.version, wanted.specifier) is True
    )


def _unknown_without_release(name: str, stack: Stack) -> str:
    """Return why nothing can be said of a package whose release is unknown; empty if any that may be installed will do."""
    if name == "numpy":
        old = stack.built_for_numpy_1
        known = not old or stack.excludes(name, ">=2") or stack.excludes(name, "<2")
        return "" if known else f"{old[0][0].label} is compiled for NumPy 1, and this may install NumPy 2; state numpy<2"
    required = any(demand.requirement.name == name and demand.requirement.specifier for demand in stack.demands)
    return "" if required or name in stack.without_gpu_code else _unlisted_reason(name)


def _is_comparable(demand: Demand, stack: Stack) -> bool:
    """Whether a requirement can be checked against an installed package."""
    found = stack.distributions.get(demand.requirement.name)
    return found is not None and satisfies(found.version, demand.requirement.specifier) is not None


def _unlisted_demands(stack: Stack) -> Iterator[Unchecked]:
    """Requirements for releases that the tables do not list, of packages that they do."""
    for demand in stack.demands:
        name, rows = demand.requirement.name, stack.matrix.releases(demand.requirement.name)
        met = any(satisfies(str(row.release), demand.requirement.specifier) for row in rows)
        if rows and not met and name not in stack.distributions:
            reason = f"{demand.by.label} requires it, and no table lists such a release"
            yield Unchecked(ENVIRONMENT, demand.requirement.text, reason, package=name)


def _unlisted_reason(name: str) -> str:
    meant = _similar_name(name, TABLE_OF)
    return f"{_UNKNOWN_PACKAGE} (did you mean {meant}?)" if meant else _UNKNOWN_PACKAGE


def _similar_name(name: str, known: Iterable[str]) -> str:
    """Return the known name that this one may be a typo of, also without its suffix; empty if there is none."""
    return next((one for one in known if is_typo_of(name, one) or is_typo_of(name.partition("-")[0], one)), "")


def _unmatched_plugins(machine: MachineView) -> Iterator[Unchecked]:
    """CUDA plugins whose version differs from a library that loads them unchecked."""
    stack = machine.stack_or_missing
    if isinstance(stack, Missing) or not machine.hardware:
        return
    for spec in CATALOGUE:
        if spec.plugin is None or machine.trains(spec.name) or compares_plugins(stack, spec.plugin):
            continue
        for plugin in mismatched_plugins(stack, spec.plugin):
            library = stack.distributions[spec.plugin.library]
            if not stack.stated(plugin) and not stack.stated(library):
                continue  # the framework's own extra combines them: jax[cuda12] 0.4.35 pins jaxlib 0.4.34 and takes the plugin 0.4.35
            yield Unchecked(
                Subject(SubjectKind.FRAMEWORK, spec.name),
                plugin.label,
                f"{library.label} loads it without comparing versions",
                package=plugin.name,
            )


def _unchecked_add_ons(machine: MachineView) -> Iterator[Unchecked]:
    packages = machine.observed.packages
    if not machine.hardware or isinstance(packages, Missing):
        return
    for package in packages.distributions:
        if package.name.startswith(_UNEXAMINED_PACKAGES):
            yield Unchecked(ENVIRONMENT, package.label, "no rule examines this package")
        elif package.name in ADDONS and (reason := _unread_reason(package, machine)):
            yield Unchecked(ENVIRONMENT, package.label, reason)


def _unread_reason(package: Distribution, machine: MachineView) -> str:
    """Return why an add-on's compiled files were not checked; empty if they were, or its framework is not installed."""
    if stack_of(package.name) and not any(framework.name == stack_of(package.name) for framework in machine.observed_frameworks):
        return ""
    libraries = machine.observed.libraries
    if not isinstance(libraries, Libraries):
        return "" if libraries.cause is Cause.NOT_STATED else libraries.reason
    mine = [extension for extension in libraries.extensions if extension.distribution == package.name]
    codes = (extension.code for extension in mine)  # one without GPU code may still call CUDA libraries: torchaudio's decoder
    unread = next((code for code in codes if isinstance(code, Missing) and code.cause is not Cause.ABSENT), None)
    return unread.reason if unread is not None else ""
