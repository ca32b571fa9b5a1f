"""A snapshot of a machine that does not exist: what was stated and what follows for an installer; everything else is not stated."""

from __future__ import annotations

import msgspec

from gpudoctor import versions
from gpudoctor.derive import wheel_platform
from gpudoctor.frameworks import framework_of
from gpudoctor.matrix import FrameworkRelease, Matrix
from gpudoctor.matrix.tables import TABLE_OF
from gpudoctor.plan.machine import NOT_STATED, machine
from gpudoctor.plan.misspelt import refuse
from gpudoctor.plan.model import Combination
from gpudoctor.plan.packages import Packages, python_environment
from gpudoctor.plan.stated import stated
from gpudoctor.snapshot import Distribution, Fact, Framework, Missing, Snapshot
from gpudoctor.snapshot import Packages as Section


def suppose(combination: Combination, matrix: Matrix, created: str) -> Snapshot:
    """The snapshot of what `combination` states. Raises UsageError for what cannot be understood or cannot be."""
    found = machine(combination, matrix)
    environment = _environment(combination, found.platform)
    requirements, left_out = stated(combination.requirements, environment)
    refuse(requirements.values())
    short = python.short if (python := versions.parse(combination.python or "")) else None
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
        frameworks=tuple(_framework(one) for one in distributions if _is_framework(one, packages, matrix)),
        supposed=found.supposed,
        remarks=(
            *(f"{text} does not apply here, by its marker" for text in left_out),
            *(f"No release of {name} was stated, and no table lists any" for name in packages.without_release),
        ),
    )
    silent = (name for name in Snapshot.__struct_fields__ if isinstance(getattr(snapshot, name), Missing))
    return msgspec.structs.replace(snapshot, **dict.fromkeys(silent, NOT_STATED))


def _environment(combination: Combination, word: str) -> dict[str, str]:
    """The marker variables of PEP 508 for the supposed interpreter and system."""
    implementation = {"implementation_name": "cpython", "platform_python_implementation": "CPython"}
    return {**wheel_platform.markers(word), **implementation, **(python_environment(combination.python) if combination.python else {})}


def _is_framework(distribution: Distribution, packages: Packages, matrix: Matrix) -> bool:
    """Whether the GPU is to be used by this package itself: not by one that only another framework wants, as TensorFlow 2.12 wants jax."""
    if not distribution.requirement and framework_of(packages.first_to_want(distribution.name)):
        return False
    return bool(framework_of(distribution.name)) or any(row.accelerator == "cuda" for row in _of_others(distribution.name, matrix))


def _of_others(name: str, matrix: Matrix) -> tuple[FrameworkRelease, ...]:
    """The rows of CuPy, ONNX Runtime and their like, which are no part of a framework's own stack."""
    return () if name in TABLE_OF else matrix.releases(name)


def _framework(distribution: Distribution) -> Framework:
    """A framework of which only the release is known; those that are published under several names have the first part of it."""
    return Framework(
        name=framework_of(distribution.name) or distribution.name.partition("-")[0],
        distribution=distribution.name,
        version=Fact(distribution.version, distribution.where),
        location=NOT_STATED,
        cuda_build=NOT_STATED,
        rocm_build=NOT_STATED,
        built_with_cuda=NOT_STATED,
        built_with_cudnn=NOT_STATED,
        architectures=NOT_STATED,
    )
