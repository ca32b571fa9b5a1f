"""The installed frameworks, and what a text says of their builds."""

from __future__ import annotations

import re

from gpudoctor.frameworks import CATALOGUE, framework_of, spec_of
from gpudoctor.matrix import Matrix
from gpudoctor.read.sections.builds import Build, of_conda, of_local_version
from gpudoctor.read.sections.packages import build_in, conda_package, listed
from gpudoctor.read.sections.stated import NOT_STATED, Stated
from gpudoctor.read.statements import Rank, Statement
from gpudoctor.snapshot import Cause, Fact, Framework, Missing
from gpudoctor.snapshot.distributions import normalise

NO_GPU = frozenset(("False", "No", "NA", "not available", "0", "cpu", "CpuDevice"))
"""How frameworks say that they can use no GPU."""
_NO_CUDA = frozenset(("None", "Could not collect", "False"))
_ARCHITECTURE = re.compile(r"(?:sm|compute)_\d{2,3}[a-z]?")
_GENERATED = re.compile(r"code=((?:sm|compute)_\d{2,3}[a-z]?)")


def frameworks(stated: Stated, matrix: Matrix) -> tuple[Framework, ...] | Missing:
    """Return the frameworks, each once: the most direct statement of its version counts."""
    found = [framework for spec in CATALOGUE if (framework := _framework(spec.name, stated, matrix))]
    return tuple(found) or NOT_STATED


def _framework(name: str, stated: Stated, matrix: Matrix) -> Framework | None:
    packages = [(package, one) for package, one in listed(stated).items() if framework_of(package) == name]
    imported = [(normalise(said), one) for said, one in stated.all("version:").items() if framework_of(normalise(said)) == name]
    asked = [(name, one) for what in ("cuda", "rocm") if (one := stated.get(f"{name} {what}"))]
    candidates = [*packages, *imported] or asked
    if not candidates:
        return None
    stand_ins = spec_of(name).stand_ins
    package, version = max(candidates, key=lambda pair: (pair[1].rank, pair[0] not in stand_ins))
    if certain := [other for other, one in packages if one.rank > Rank.PROSE]:
        distribution = package if package in certain else certain[0]
    elif not imported:
        distribution = ""
    else:
        distribution = _distribution(name, version, matrix)
    build, where = _build(name, package, version, stated)
    cudnn = stated.fact(f"{name} cudnn")
    return Framework(
        name=name,
        distribution=distribution,
        version=Fact(version.value, version.where) if packages or imported else NOT_STATED,
        location=stated.value(f"location:{package}"),
        shadow=Missing(Cause.ABSENT, "the text names none"),
        cuda_build=NOT_STATED if build.has_cuda is None else build.has_cuda,
        rocm_build=bool(build.rocm),
        built_with_cuda=Fact(build.cuda, where) if build.cuda else NOT_STATED,
        built_with_cudnn=Fact(build.cudnn, where) if build.cudnn else cudnn,
        architectures=_architectures(stated.get(f"{name} architectures")),
    )


def _build(name: str, package: str, version: Statement, stated: Stated) -> tuple[Build, str]:
    """Return what is known of a build, and where: from its own answers, its version, conda's build string, and whether it sees a GPU."""
    cuda, rocm, devices = stated.get(f"{name} cuda"), stated.get(f"{name} rocm"), stated.get(f"{name} devices")
    conda = conda_package(package, stated)
    if rocm:
        return Build(has_cuda=False, rocm=rocm.value), rocm.where
    if stated.get(f"{name} xpu"):
        return Build(has_cuda=False), version.where
    if cuda:
        has_cuda = cuda.value not in _NO_CUDA
        return Build(has_cuda=has_cuda, cuda=cuda.value.replace(", ", ".") if has_cuda else None), cuda.where
    local = of_local_version(version.value)
    if local.has_cuda is not None:
        return local, version.where
    if conda and (known := of_conda(build_in(conda))).has_cuda is not None:
        return known, conda.where
    sees_gpu = devices is not None and devices.value not in NO_GPU and spec_of(name).plugin is not None
    return Build(has_cuda=True if sees_gpu else None), version.where


def _architectures(stated: Statement | None) -> tuple[str, ...] | Missing:
    """Return the architectures in a list of names, or in the options that nvcc was called with."""
    if stated is None:
        return NOT_STATED
    found = _GENERATED.findall(stated.value) or _ARCHITECTURE.findall(stated.value)
    return tuple(dict.fromkeys(found)) or NOT_STATED


def _distribution(name: str, version: Statement, matrix: Matrix) -> str:
    """Return the package of a framework; "" if only its name was given and another of its packages has this release with CUDA."""
    with_cuda = {
        package
        for package in spec_of(name).distributions
        for row in matrix.releases(package)
        if row.accelerator == "cuda" and str(row.release) == version.value
    }
    return "" if with_cuda and name not in with_cuda else name
