"""Fixes for a framework that nobody asked for by name: an assumed package requires it, and another release of that package may work here."""

from __future__ import annotations

import re

import msgspec

from gpudoctor.derive import EffectiveCode, MachineView, Stack, wheel_platform
from gpudoctor.derive.cudnn_code import fit_of_release
from gpudoctor.derive.gpu_code import RUNTIME_COMPILED_PREFIXES, Fit, fit_of_code
from gpudoctor.derive.nearness import nearness_order
from gpudoctor.diagnose.advice.constraints import Constraints, constraints
from gpudoctor.diagnose.advice.environments import create_environment
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.releases import PickedRelease
from gpudoctor.findings import Action, Fix, FixKind
from gpudoctor.frameworks import stack_of
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.snapshot import Distribution, Platform
from gpudoctor.versions import parse_version

_CUDA_SUFFIX = re.compile(r"(?P<stem>.+-cu(?:da)?)\d\d(?P<minor>[\dx]?)")
"""A name that ends with a CUDA version: cupy-cuda12x, cudf-cu12, spconv-cu118."""
_CUDA_MAJORS = (13, 12, 11, 10)


def replace_requested_package(machine: MachineView, framework: str, kind: FixKind = FixKind.FIX) -> tuple[Fix, ...]:
    """Return the fix that installs the nearest release of what was asked for that works here; () if the framework itself was asked for."""
    asked = _requested_package(machine, framework)
    if asked is None:
        return ()
    here = constraints(machine)
    found = _nearest_working_release(asked, here) or _nearest_working_release(asked, msgspec.structs.replace(here, pythons=()))
    if found is None:
        return (_replace_with_other_cuda(asked, here, kind) or _change_machine(asked.name, here, kind),)
    label, pin = f"{asked.name} {found.release}", asked.pinned(str(found.release))
    if not here.is_installable(found):
        return (create_environment(machine, PickedRelease(label, (pin,), pythons=found.pythons), kind=kind),)
    title = f"Install {label}, the nearest release that is known to work here"
    return (install_fix(title, machine.observed.python, pin, kind=kind),)


def _replace_with_other_cuda(asked: Distribution, here: Constraints, kind: FixKind) -> Fix | None:
    """Return the fix that installs the same package for another CUDA, the newest that works here: cupy-cuda11x for cupy-cuda12x; None if none does."""
    for name in names_for_other_cuda(asked.name):
        other = msgspec.structs.replace(asked, name=name)
        found = _nearest_working_release(other, here)
        if found is not None:
            cuda = f"CUDA {found.built_with_cuda}" if found.built_with_cuda else "CUDA"
            title = f"Replace {asked.name} with {name} {found.release}, which is built for {cuda}"
            return install_fix(title, here.machine.observed.python, other.pinned(str(found.release)), replace=(asked.name,), kind=kind)
    return None


def names_for_other_cuda(name: str) -> tuple[str, ...]:
    """Return what a package may be called for other CUDA versions, the newest first; xgboost for xgboost-cpu. () for another name."""
    if name.endswith("-cpu"):
        return (name.removesuffix("-cpu"),)
    named = _CUDA_SUFFIX.fullmatch(name)
    if named is None:
        return ()
    minors = "9876543210" if named["minor"].isdigit() else (named["minor"],)
    others = (f"{named['stem']}{major}{minor}" for major in _CUDA_MAJORS for minor in minors)
    return tuple(other for other in others if other != name)


def _change_machine(name: str, here: Constraints, kind: FixKind) -> Fix:
    """Return what to change about the machine: its system, if no release is built for it, else its GPU."""
    if not here.machine.matrix.releases(name, here.platform):
        system = "WSL 2" if here.machine.site.platform == Platform.WINDOWS else "another platform"
        return Fix(f"Use {system}: no release of {name} has a wheel for {wheel_platform.platform_label(here.platform)}.", kind=kind)
    if not any(row.accelerator == "cuda" for row in here.machine.matrix.releases(name, here.platform)):
        return Fix(f"Use another package, or build {name} from source with CUDA: no wheel of it has CUDA.", kind=kind)
    title = f"Use another GPU: no release of {name} in the tables is known to work on this machine."
    return Fix(title, kind=kind, action=Action.REPLACE_HARDWARE)


def _nearest_working_release(asked: Distribution, here: Constraints) -> FrameworkRelease | None:
    """Return the release of a package that works here and is nearest to what was asked for; which ones work is found once for each machine."""
    known: dict[str, bool] = here.machine.matrix.derived.setdefault(("releases that work", asked.name, here.pythons, *here.hardware), {})
    for row in sorted(here.releases(asked.name), key=lambda row: nearness_order(str(row.release), asked.version)):
        release = str(row.release)
        if release not in known:
            known[release] = _is_release_working(row, here)
        if known[release]:
            return row
    return None


def _requested_package(machine: MachineView, framework: str) -> Distribution | None:
    """Return the assumed package that pins a framework, or is one itself without being in the catalogue; None if there is none."""
    stack = machine.stack_or_missing
    if not isinstance(stack, Stack) or not stack.supposed:
        return None
    named = {other.distribution for other in machine.observed_frameworks if other.name == framework}
    own = next((distribution for name, distribution in stack.distributions.items() if name in named), None)
    if own is None or (own.requirement and stack_of(own.name)):
        return None
    if own.requirement:
        return own
    demands = (demand for demand in stack.demands if demand.requirement.name == own.name and demand.by.requirement)
    return next((demand.by for demand in demands if demand.requirement.specifier.startswith("==")), None)


def _is_release_working(row: FrameworkRelease, here: Constraints) -> bool:
    """Return whether a release and the builds that it pins run with this driver and have kernels for every GPU."""
    version, matrix = parse_version(str(row.release)), here.machine.matrix
    need = matrix.gpu_need(row.distribution, version) if version else None
    if need is not None and any(gpu < need.oldest_capability for gpu in here.capabilities):
        return False
    with_code = [release for release in (row, *here.pinned(row)) if release.accelerator == "cuda"]
    return bool(with_code) and all(_is_build_running(release, here) for release in with_code)


def _is_build_running(row: FrameworkRelease, here: Constraints) -> bool:
    code = _code_compiled_at_runtime(row, here)
    fits = (fit_of_release(row, gpu, here.machine.matrix) if code is None else fit_of_code(code, gpu) for gpu in here.capabilities)
    return here.is_cuda_supported(row.built_with_cuda) and all(fit in {Fit.NATIVE, Fit.PTX} for fit in fits)


def _code_compiled_at_runtime(row: FrameworkRelease, here: Constraints) -> EffectiveCode | None:
    """Return the GPU code of a release that compiles it at run time: what the newest compiler of its CUDA produces."""
    compilers = here.machine.matrix.cudas(row.built_with_cuda) if row.built_with_cuda else ()
    made = [compiler.sass for compiler in compilers if compiler.sass]
    if row.sass is not None or not made or not row.distribution.startswith(RUNTIME_COMPILED_PREFIXES):
        return None
    return EffectiveCode(sass=made[-1], ptx=None, where="")
