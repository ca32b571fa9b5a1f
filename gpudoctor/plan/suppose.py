"""A snapshot of an assumed machine: what was stated and what an installer would add; the rest is missing as not stated."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from gpudoctor import versions
from gpudoctor.derive import wheel_platform
from gpudoctor.derive.add_on_wheels import extended_by, library_for
from gpudoctor.frameworks import framework_of
from gpudoctor.matrix import FrameworkRelease, Matrix
from gpudoctor.matrix.tables import TABLE_OF
from gpudoctor.plan.machine import NOT_STATED, Machine, machine
from gpudoctor.plan.misspelt import refuse
from gpudoctor.plan.model import Combination
from gpudoctor.plan.packages import Packages, python_environment
from gpudoctor.plan.stated import stated
from gpudoctor.snapshot import Distribution, Fact, Framework, Missing, Snapshot
from gpudoctor.snapshot import Packages as Section


def suppose(combination: Combination, matrix: Matrix, created: str) -> Snapshot:
    """The snapshot of what `combination` states. Raises UsageError for options that cannot be understood or contradict one another."""
    return assume(machine(combination, matrix), combination.requirements, matrix, created)


def assume(found: Machine, texts: tuple[str, ...], matrix: Matrix, created: str) -> Snapshot:
    """The snapshot of a machine on which an installer is asked for these requirements. Raises UsageError as `suppose` does."""
    version = "" if isinstance(found.python, Missing) else found.python.version
    python = version if isinstance(version, str) else ""
    environment = marker_environment(python, found.platform)
    requirements, left_out = stated(texts, environment)
    refuse(requirements.values())
    short = parsed.short if (parsed := versions.parse(python)) else None
    packages = Packages(matrix, found.platform, short, environment)
    distributions = packages.take(requirements)
    snapshot = Snapshot(
        created=created,
        origin="supposed",
        host=found.host,
        python=found.python,
        nvml=found.nvml,
        kernel_driver=found.kernel_driver,
        toolkits=found.toolkits,
        system_cudnn=found.system_cudnn,
        packages=Section(distributions=distributions, without_release=tuple(packages.without_release)),
        frameworks=tuple(
            _framework(one, _loaded_cuda(one, distributions, found.platform, matrix))
            for one in distributions
            if _is_framework(one, packages, matrix)
        ),
        supposed=found.supposed,
        remarks=(
            *(f"{text} is excluded here by its marker" for text in left_out),
            *(f"{name}: no version was stated and no table lists one" for name in packages.without_release),
        ),
    )
    silent = (name for name in Snapshot.__struct_fields__ if isinstance(getattr(snapshot, name), Missing))
    return msgspec.structs.replace(snapshot, **dict.fromkeys(silent, NOT_STATED))


def marker_environment(python: str, word: str) -> dict[str, str]:
    """The marker variables of PEP 508 for an interpreter, if one is stated, and a system."""
    implementation = {"implementation_name": "cpython", "platform_python_implementation": "CPython"}
    return {**wheel_platform.markers(word), **implementation, **(python_environment(python) if python else {})}


def _is_framework(distribution: Distribution, packages: Packages, matrix: Matrix) -> bool:
    """Whether this package itself uses the GPU, and is not just wanted by another framework, as TensorFlow 2.12 wants jax."""
    if not distribution.requirement and framework_of(packages.first_to_want(distribution.name)):
        return False
    return bool(framework_of(distribution.name)) or any(row.accelerator == "cuda" for row in _of_others(distribution.name, matrix))


def _of_others(name: str, matrix: Matrix) -> tuple[FrameworkRelease, ...]:
    """The rows of CuPy, ONNX Runtime and others outside the frameworks' own stacks."""
    return () if name in TABLE_OF else matrix.releases(name)


def _loaded_cuda(one: Distribution, others: Iterable[Distribution], platform: str, matrix: Matrix) -> Fact | Missing:
    """The CUDA of the library that an add-on with several would load beside the framework for which it computes."""
    row = matrix.resolve(one.name, one.version, platform).row
    if row is None or not row.builds or framework_of(one.name):
        return NOT_STATED
    beside = (matrix.resolve(other.name, other.version, platform).row for other in others if other.name == extended_by(row))
    built = next((found.built_with_cuda for found in beside if found is not None), None)
    loaded = library_for(row, built, matrix) if built is not None else None
    return Fact(str(loaded), f"its library for CUDA {loaded}") if loaded is not None else NOT_STATED


def _framework(distribution: Distribution, cuda: Fact | Missing) -> Framework:
    """A framework known only by its release and CUDA; from other names what they say about CUDA is cut off: cupy-cuda12x."""
    return Framework(
        name=framework_of(distribution.name) or re.sub(r"-(?:gpu|cu(?:da)?\d+x?)(?:-.*)?$", "", distribution.name),
        distribution=distribution.name,
        version=Fact(distribution.version, distribution.where),
        location=NOT_STATED,
        cuda_build=NOT_STATED,
        rocm_build=NOT_STATED,
        built_with_cuda=cuda,
        built_with_cudnn=NOT_STATED,
        architectures=NOT_STATED,
    )
