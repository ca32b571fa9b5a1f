"""What is built for one CUDA version and loads the system's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from gpudoctor import versions
from gpudoctor.derive.cuda import EffectiveCuda
from gpudoctor.derive.cuda_libraries import WHEEL_NAMES, brings_runtime, takes_system_cuda
from gpudoctor.derive.gpu_code import xray_of_framework
from gpudoctor.derive.rule_endings import require_known
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import NOT_ASKED, Distribution, LibraryFile, Missing
from gpudoctor.versions import Version

if TYPE_CHECKING:
    from gpudoctor.derive.views.environment import EnvironmentView
    from gpudoctor.derive.views.framework import FrameworkView

_COMPARED_LIBRARIES = ("libcudart", "libcublas", "libcufft", "libcurand", "libcusolver", "libcusparse")
"""Libraries that every framework without its own CUDA opens."""
_CUPY_PREFIX = "cupy-cuda"
_RUNTIME_WHEELS = tuple(WHEEL_NAMES["cudart"] + suffix for suffix in ("", "-cu11", "-cu12", "-cu13"))
_MINOR_NAMES_UNTIL = 11
"""Before this major version of CUDA each minor version had its own file names."""


class SystemCudaUser(msgspec.Struct, frozen=True):
    """A framework or CuPy wheel that is built for one CUDA version and loads the system's."""

    label: str
    distribution: str
    version: Version
    """The CUDA it is built for; "12" if only its major version is known."""
    where: str
    framework: FrameworkView | None = None
    """None for CuPy."""

    @property
    def cuda(self) -> str:
        """The CUDA it is built for, as precisely as that is known."""
        return self.version.short if self.version.text.count(".") else str(self.version.major)

    @property
    def has_its_libraries(self) -> bool:
        """Whether the X-ray found all compared libraries; ends the rule for a framework that was not examined."""
        if self.framework is None or self.framework.machine.supposed:
            return False
        seen = xray_of_framework(self.framework.observed, require_known(self.framework.machine.observed.libraries))
        uses = require_known(NOT_ASKED if seen is None else seen.uses)
        compared = (use for use in uses if use.vital and f"lib{use.component}" in _COMPARED_LIBRARIES)
        return all(isinstance(use.file, LibraryFile) for use in compared)


def system_cuda_users(environment: EnvironmentView) -> Iterator[SystemCudaUser]:
    """The frameworks and CuPy wheels of an environment that load the system's CUDA."""
    stack = environment.stack_or_missing
    for framework in environment.frameworks:
        cuda, observed = framework.cuda_or_missing, framework.observed
        if isinstance(cuda, EffectiveCuda) and takes_system_cuda(observed, cuda, stack):
            yield SystemCudaUser(framework.label, observed.distribution, cuda.version, cuda.where, framework)
    if isinstance(stack, Missing) or brings_runtime(stack, _RUNTIME_WHEELS):
        return
    frameworks = {framework.observed.distribution for framework in environment.frameworks}
    for distribution in stack.distributions.values():
        version = _cupy_cuda(distribution)
        if version is not None and distribution.name not in frameworks:
            where = f"the wheel's name, {distribution.name}"
            yield SystemCudaUser(distribution.label, distribution.name, version, where)


def _cupy_cuda(distribution: Distribution) -> Version | None:
    """The CUDA in the name of a CuPy wheel: 12 for cupy-cuda12x, 10.2 for cupy-cuda102; None for any other distribution."""
    digits = distribution.name.removeprefix(_CUPY_PREFIX)
    if digits == distribution.name:
        return None
    return versions.parse_version(digits.removesuffix("x") if digits.endswith("x") else f"{digits[:-1]}.{digits[-1:]}")


def missing_file_names(cuda: Version, toolkit: Version, matrix: Matrix) -> tuple[str, ...]:
    """The file names that a build for `cuda` requests and a toolkit lacks; () if the toolkit fits."""
    wanted, found = matrix.cuda(cuda), matrix.cuda(toolkit)
    minor_known = cuda.text.count(".") > 0
    if minor_known and wanted and found and wanted.sonames and found.sonames:
        return tuple(name for name in wanted.sonames if name.partition(".")[0] in _COMPARED_LIBRARIES and name not in found.sonames)
    by_minor = minor_known and cuda.major < _MINOR_NAMES_UNTIL
    fits = cuda[:2] == toolkit[:2] if by_minor else cuda.major == toolkit.major
    return () if fits else (f"the libraries of CUDA {cuda.short if by_minor else cuda.major}",)
