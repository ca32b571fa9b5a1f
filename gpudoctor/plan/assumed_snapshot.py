"""A snapshot of an assumed machine: what was stated and what an installer would add; the rest is missing as not stated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from gpudoctor.derive import wheel_platform
from gpudoctor.derive.add_on_wheels import cuda_of_loaded_library, extended_framework
from gpudoctor.derive.packages import chosen_frameworks, minor_version
from gpudoctor.derive.specifiers import Requirement, parse_requirement, parse_requirements
from gpudoctor.findings.wording import count_with_noun
from gpudoctor.frameworks import CATALOGUE, framework_of, spec_of
from gpudoctor.matrix import FrameworkRelease, Matrix
from gpudoctor.matrix.tables import TABLE_OF
from gpudoctor.plan.agreeing import Agreeing
from gpudoctor.plan.assumed_machine import NOT_STATED, AssumedMachine, assumed_machine
from gpudoctor.plan.misspellings import refuse_misspelt
from gpudoctor.plan.model import Combination, FileStatements, StatedBuild
from gpudoctor.plan.stated_requirements import joined_requirement, stated_requirements
from gpudoctor.plan.withdrawn import withdrawn
from gpudoctor.snapshot import Distribution, Fact, Framework, Missing, Python, Snapshot
from gpudoctor.snapshot import Packages as Section

_MAX_NAMES = 6
"""Packages without GPU code that the report names."""
_UNLISTED_BUILD = "conda"
"""The local version of a build that no table lists."""
_NCCL_PREFIX = "nvidia-nccl-"
"""NCCL's packages: a program on one GPU starts none of its kernels."""


def snapshot_of_combination(combination: Combination, matrix: Matrix, created: str) -> Snapshot:
    """The snapshot of what `combination` states. Raises UsageError for options that cannot be understood or contradict one another."""
    return snapshot_of_machine(assumed_machine(combination, matrix), combination, matrix, created)


def snapshot_of_machine(found: AssumedMachine, combination: Combination, matrix: Matrix, created: str) -> Snapshot:
    """The snapshot of a machine on which an installer is asked for what `combination` requires. Raises UsageError as `snapshot_of_combination` does."""
    environment = _marker_variables(found)
    limits = stated_requirements(combination.constraints, environment, combination.places)[0] if combination.constraints else {}
    requirements, left_out = _applicable_requirements(combination, environment, limits)
    builds, allowed = _applicable_builds(combination, left_out), combination.pythons
    packages = Agreeing(
        matrix,
        found.platform,
        minor_version(found.python) or None,
        environment,
        FileStatements(builds, limits, allowed.versions if allowed is not None else ()),
        libc=found.libc,
        alone=combination.alone,
    )
    distributions = packages.take(requirements)
    named = (*requirements, *(unread.what for unread in combination.unread))
    without = tuple(name for name in named if _is_without_gpu_code(name, combination, matrix))
    snapshot = Snapshot(
        created=created,
        origin="supposed",
        host=found.host,
        python=_python_with_libc(found),
        nvml=found.nvml,
        kernel_driver=found.kernel_driver,
        toolkits=found.toolkits,
        system_cudnn=found.system_cudnn,
        packages=Section(
            distributions=distributions,
            without_release=tuple(packages.without_release),
            bounds=tuple(packages.bounds()),
            unread=(*found.unread, *(unread for unread in combination.unread if unread.what not in without)),
            without_gpu_code=without,
            pythons=allowed,
        ),
        frameworks=tuple(
            _stated_framework(
                distribution, _cuda_of_add_on(distribution, distributions, found.platform, matrix), builds.get(distribution.name)
            )
            for distribution in distributions
            if _is_framework(distribution, packages, matrix)
        ),
        supposed=(*found.supposed, *combination.supposed),
        remarks=(
            *_excluded_notes(left_out, requirements, combination),
            *(f"{name}: no version was stated and no table lists one" for name in packages.without_release if name not in without),
            *_missing_settings(distributions, matrix),
            *withdrawn(((distribution.name, distribution.version) for distribution in distributions), matrix),
            *_uncompared_notes(
                tuple(name for name in without if name != "numpy" and not matrix.releases(name) and not packages.is_required(name))
            ),
            *combination.not_followed,
        ),
    )
    silent = (name for name in Snapshot.__struct_fields__ if isinstance(getattr(snapshot, name), Missing))
    return msgspec.structs.replace(snapshot, **dict.fromkeys(silent, NOT_STATED))


def _marker_variables(found: AssumedMachine) -> dict[str, str]:
    """The marker variables of the machine's interpreter and system."""
    version = "" if isinstance(found.python, Missing) else found.python.version
    return marker_environment(version if isinstance(version, str) else "", found.platform)


def _applicable_requirements(
    combination: Combination, environment: dict[str, str], limits: Mapping[str, Requirement]
) -> tuple[dict[str, Requirement], tuple[str, ...]]:
    """The requirements that apply, by name and within the constraints, and those that a marker excludes. Raises UsageError for a misspelt one."""
    requirements, left_out = stated_requirements(combination.requirements, environment, combination.places)
    requirements |= {
        name: joined_requirement(wanted, limits[name], combination.places) for name, wanted in requirements.items() if name in limits
    }
    refuse_misspelt(wanted for wanted in requirements.values() if wanted.text not in combination.places)
    return requirements, left_out


def _python_with_libc(found: AssumedMachine) -> Python | Missing:
    """The interpreter on the machine's C library."""
    if not found.libc:
        return found.python
    unstated = Python(executable="python3", why="not stated", version=NOT_STATED, implementation="cpython", bits=64, machine=NOT_STATED)
    return msgspec.structs.replace(found.python if isinstance(found.python, Python) else unstated, libc=found.libc)


def marker_environment(python: str, word: str) -> dict[str, str]:
    """The marker variables of PEP 508 for an interpreter, if one is stated, and a system."""
    implementation = {"implementation_name": "cpython", "platform_python_implementation": "CPython"}
    return {**wheel_platform.platform_markers(word), **implementation, **(wheel_platform.python_markers(python) if python else {})}


def _is_framework(distribution: Distribution, packages: Agreeing, matrix: Matrix) -> bool:
    """Whether this package itself uses the GPU, and is not just wanted by another framework, as TensorFlow 2.12 wants jax."""
    by_the_way = distribution.name.startswith(_NCCL_PREFIX) or framework_of(packages.first_requirer(distribution.name))
    if not distribution.requirement and by_the_way:
        return False
    return bool(framework_of(distribution.name)) or any(
        row.accelerator in {"cuda", "cpu"} for row in _add_on_rows(distribution.name, matrix)
    )


def _add_on_rows(name: str, matrix: Matrix) -> tuple[FrameworkRelease, ...]:
    """The rows of CuPy, ONNX Runtime and others outside the frameworks' own stacks."""
    return () if name in TABLE_OF else matrix.releases(name)


def _cuda_of_add_on(distribution: Distribution, others: Iterable[Distribution], platform: str, matrix: Matrix) -> Fact | Missing:
    """The CUDA of the library that an add-on with several would load beside the framework for which it computes."""
    row = matrix.resolve(distribution.name, distribution.version, platform).row
    if row is None or not row.builds or framework_of(distribution.name):
        return NOT_STATED
    beside = (matrix.resolve(other.name, other.version, platform).row for other in others if other.name == extended_framework(row))
    built = next((found.built_with_cuda for found in beside if found is not None), None)
    loaded = cuda_of_loaded_library(row, built, matrix) if built is not None else None
    return Fact(str(loaded), f"its library for CUDA {loaded}") if loaded is not None else NOT_STATED


def _applicable_builds(combination: Combination, left_out: tuple[str, ...]) -> dict[str, StatedBuild]:
    """The builds by package: those that the files name for all, then those of requirements that apply here."""
    own = {text: one for text, one in combination.builds.items() if text in combination.places}
    found = {name: one for name, one in combination.builds.items() if name not in own}
    for text, build in own.items():
        if text not in left_out and (wanted := parse_requirement(text)) is not None:
            found[wanted.name] = build
    return found


def _excluded_notes(texts: Iterable[str], requirements: Mapping[str, Requirement], combination: Combination) -> Iterator[str]:
    """What markers exclude: each requirement of the command line, and the packages of files that no other line installs."""
    yield from (f"{text} is excluded here by its marker" for text in texts if text not in combination.places)
    names = dict.fromkeys(wanted.name for wanted in parse_requirements(text for text in texts if text in combination.places))
    if absent := tuple(name for name in names if name not in requirements):
        yield f"excluded here by {'its marker' if len(absent) == 1 else 'their markers'}: {_first_names(absent)}"


def _missing_settings(distributions: Iterable[Distribution], matrix: Matrix) -> Iterator[str]:
    """What to set for a stated package whose default framework is not there: Keras 3 with JAX."""
    names = [distribution.name for distribution in distributions]
    for distribution in distributions:
        settings = (
            [spec.chosen_by[distribution.name] for spec in chosen_frameworks(distribution, names, matrix)]
            if distribution.requirement
            else []
        )
        default = next((spec.title for spec in CATALOGUE if spec.chosen_by.get(distribution.name) == ""), "")
        if settings and all(settings):
            yield f"{distribution.label} uses {default} unless {' or '.join(settings)} is set"


def _uncompared_notes(names: tuple[str, ...]) -> Iterator[str]:
    """What nothing was compared with: packages without GPU code that no other package requires."""
    if names:
        yield f"{count_with_noun(len(names), 'package')} without GPU code not compared: {_first_names(names)}"


def _is_without_gpu_code(name: str, combination: Combination, matrix: Matrix) -> bool:
    """Whether a stated package needs no look: it is known to hold no GPU code, and is no framework's or add-on's build."""
    known = name in combination.without_gpu_code or matrix.without_gpu_code(name)
    return known and not framework_of(name) and all(row.accelerator == "none" for row in matrix.releases(name))


def _first_names(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_MAX_NAMES])
    return shown if len(names) <= _MAX_NAMES else f"{shown} and {len(names) - _MAX_NAMES} more"


def _is_cuda_build(distribution: Distribution, build: StatedBuild) -> bool | Missing:
    """Whether a build that no table lists is for CUDA. conda chooses the one for CUDA where it finds a driver, for what else has a plugin."""
    if build.has_cuda is not None:
        return build.has_cuda
    return True if spec_of(framework_of(distribution.name) or "").plugin else NOT_STATED


def _stated_framework(distribution: Distribution, cuda: Fact | Missing, build: StatedBuild | None) -> Framework:
    """A framework known only by its release and CUDA; from other names what they say about CUDA is cut off: cupy-cuda12x."""
    unlisted = build if build is not None and build.local == _UNLISTED_BUILD else None
    local = distribution.version.partition("+")[2]
    rocm = local.startswith("rocm")
    return Framework(
        name=framework_of(distribution.name) or re.sub(r"-(?:gpu|cu(?:da)?\d+x?)(?:-.*)?$", "", distribution.name),
        distribution=distribution.name,
        version=Fact(distribution.version, distribution.where),
        location=NOT_STATED,
        cuda_build=False if rocm or local == "xpu" else NOT_STATED if unlisted is None else _is_cuda_build(distribution, unlisted),
        rocm_build=rocm or NOT_STATED,
        built_with_cuda=Fact(unlisted.cuda, unlisted.where) if unlisted is not None and unlisted.cuda else cuda,
        built_with_cudnn=NOT_STATED,
        architectures=NOT_STATED,
    )
