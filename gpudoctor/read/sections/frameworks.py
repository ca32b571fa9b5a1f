"""The installed frameworks, and what a text says of their builds."""

from __future__ import annotations

import msgspec

from gpudoctor import versions
from gpudoctor.derive import wheel_platform
from gpudoctor.derive.build_names import Build, build_of_conda, build_of_local_version
from gpudoctor.expressions import expression
from gpudoctor.frameworks import CATALOGUE, framework_of, spec_of
from gpudoctor.matrix import Matrix
from gpudoctor.read.sections.packages import build_of_row, conda_statement, package_statements, version_of_row
from gpudoctor.read.sections.statement_index import NOT_STATED, StatementIndex
from gpudoctor.read.statements import Directness, Statement
from gpudoctor.snapshot import Cause, Fact, Framework, Host, Missing
from gpudoctor.snapshot.distributions import normalise_distribution

REQUESTED_CUDA_KEY = "requested cuda"
"""The CUDA release that a command asked conda for, which may have chosen a build without CUDA."""
_FALSE_ANSWERS = ("False", "false", "FALSE")
NO_GPU_ANSWERS = frozenset(
    (
        *_FALSE_ANSWERS,
        "No",
        "no",
        "NO",
        "NA",
        "N/A",
        "None",
        "not available",
        "0",
        "cpu",
        "CPU",
        "CpuDevice",
        "Cpu",
        "[]",
        "[ ]",
        "empty list",
        "no known devices",
        "list()",
        "''",
        '""',
    )
)
"""How frameworks say that they can use no GPU."""
_NO_CUDA_ANSWERS = frozenset((*_FALSE_ANSWERS, "None", "Could not collect"))
_ARCHITECTURE_NAME = expression(r"(?:sm|compute)_\d{2,3}[a-z]?")
_NVCC_CODE = expression(r"code=((?:sm|compute)_\d{2,3}[a-z]?)")


def stated_frameworks(stated: StatementIndex, matrix: Matrix, host: Host) -> tuple[Framework, ...] | Missing:
    """Return the frameworks, each once: the most direct statement of its version counts."""
    platform = wheel_platform.platform_name(host, NOT_STATED) or wheel_platform.LINUX_X86_64
    found = [framework for spec in CATALOGUE if (framework := _stated_framework(spec.name, stated, matrix, platform))]
    return tuple(found) or NOT_STATED


def has_no_usable_gpu(stated: StatementIndex) -> bool:
    """Return whether a framework answered that it can use no GPU."""
    return any(_is_gpu_usable(spec.name, stated) is False for spec in CATALOGUE)


def _stated_framework(name: str, stated: StatementIndex, matrix: Matrix, platform: str) -> Framework | None:
    packages = [(package, statement) for package, statement in package_statements(stated).items() if framework_of(package) == name]
    imported = [
        (normalise_distribution(said), statement)
        for said, statement in stated.all("version:").items()
        if framework_of(normalise_distribution(said)) == name
    ]
    asked = [
        (name, statement)
        for what in ("cuda", REQUESTED_CUDA_KEY, "rocm", "architectures", "devices", "count")
        if (statement := stated.get(f"{name} {what}"))
    ]
    candidates = [*packages, *imported] or asked
    if not candidates:
        return None
    stand_ins = spec_of(name).stand_ins
    package, version = max(candidates, key=lambda pair: (pair[1].rank, pair[0] not in stand_ins))
    twice = {other for other, statement in packages if statement.value == version.value and other not in stand_ins}
    if len(twice) > 1:
        distribution = ""  # they own the same files, and the one that was installed last is imported
    elif certain := [
        other
        for other, statement in packages
        if statement.rank > (Directness.LOG if other == name else Directness.PROSE) and _is_complete_version(statement.value)
    ]:
        distribution = package if package in certain else certain[0]
    elif not (packages or imported):
        distribution = ""
    else:
        distribution = _likely_distribution(name, version, stated, matrix, platform) or (package if package != name else "")
    build, where = _stated_build(name, package, version, stated)
    cudnn = stated.fact(f"{name} cudnn")
    sees_gpu = _is_gpu_usable(name, stated)
    return Framework(
        name=name,
        distribution=distribution,
        version=Fact(version.value, version.where) if packages or imported else NOT_STATED,
        location=stated.value(f"location:{package}"),
        shadow=Missing(Cause.ABSENT, "the text names none"),
        cuda_build=NOT_STATED if build.has_cuda is None else build.has_cuda,
        rocm_build=NOT_STATED if build.has_cuda is None and not build.rocm else bool(build.rocm),
        built_with_cuda=Fact(build.cuda, where) if build.cuda else NOT_STATED,
        built_with_cudnn=Fact(build.cudnn, where) if build.cudnn else cudnn,
        architectures=_stated_architectures(stated.get(f"{name} architectures")),
        sees_gpu=NOT_STATED if sees_gpu is None else sees_gpu,
    )


def _stated_build(name: str, package: str, version: Statement, stated: StatementIndex) -> tuple[Build, str]:
    """Return what is known of a build, and where: from its own answers, its version, conda's build string, and whether it sees a GPU.

    What a command asks conda for is not what conda installs: its build string tells.
    """
    cuda, rocm = stated.get(f"{name} cuda"), stated.get(f"{name} rocm")
    conda = conda_statement(package, stated)
    requested = stated.get(f"{name} {REQUESTED_CUDA_KEY}")
    if rocm:
        return Build(has_cuda=False, rocm=rocm.value), rocm.where
    if stated.get(f"{name} xpu"):
        return Build(has_cuda=False), version.where
    known = build_of_conda(build_of_row(conda)) if conda else Build()
    if cuda and not (conda and known.has_cuda is not None and conda.rank > cuda.rank):
        has_cuda = cuda.value not in _NO_CUDA_ANSWERS
        return Build(has_cuda=has_cuda, cuda=cuda.value.replace(", ", ".") if has_cuda else None), cuda.where
    local = build_of_local_version(version.value)
    if local.has_cuda is not None:
        return local, version.where
    if conda and known.has_cuda is not None:
        return _build_with_toolkit(known, stated), conda.where
    works = True if _is_gpu_usable(name, stated) or stated.get(f"{name} opens") else None
    return Build(has_cuda=works, cuda=requested.value if requested else None), (requested or version).where


def _build_with_toolkit(build: Build, stated: StatementIndex) -> Build:
    """Return a build with CUDA that conda lists, and the CUDA of the cudatoolkit beside it, which conda keeps to the release that it was built with."""
    toolkit = conda_statement("cudatoolkit", stated)
    if not build.has_cuda or build.cuda or toolkit is None:
        return build
    return msgspec.structs.replace(build, cuda=".".join(version_of_row(toolkit).split(".")[:2]))


def _is_gpu_usable(name: str, stated: StatementIndex) -> bool | None:
    """Return whether the framework itself says that it can use a GPU; None if the text has no answer."""
    devices = stated.get(f"{name} devices") or stated.get(f"{name} count")
    return None if devices is None else devices.value not in NO_GPU_ANSWERS


def _stated_architectures(stated: Statement | None) -> tuple[str, ...] | Missing:
    """Return the architectures in a list of names, or in the options that nvcc was called with."""
    if stated is None:
        return NOT_STATED
    found = _NVCC_CODE.findall(stated.value) or _ARCHITECTURE_NAME.findall(stated.value)
    return tuple(dict.fromkeys(found)) or NOT_STATED


def _is_complete_version(version: str) -> bool:
    """Return whether a version has all its parts, as pip prints it; people write "tensorflow 2.0" of tensorflow-gpu too."""
    return version.count(".") > 1


def _likely_distribution(name: str, version: Statement, stated: StatementIndex, matrix: Matrix, platform: str) -> str:
    """Return the package of a framework if only name and version were given; "" if builds with CUDA have the same version.

    "tensorflow 1.14" may be tensorflow-gpu, or stand beside it where pip names it in a log, and on Windows "torch 2.4" may be 2.4.1+cu121
    unless pip says so. A framework without a GPU is the usual build.
    """
    release = versions.parse_version(version.value)
    if build_of_local_version(version.value).has_cuda is not None:
        return name
    rows = [
        row
        for package in spec_of(name).distributions
        for row in matrix.releases(package)
        if row.release == release or versions.is_release_named(row.release, version.value)
    ]
    with_cuda = {row.distribution for row in rows if row.accelerator == "cuda"}
    here = {row.accelerator for row in rows if row.distribution == name and row.platform == platform}
    by_pip = version.what.startswith("package:") and version.rank > Directness.PROSE and _is_complete_version(version.value)
    other_builds = (
        not by_pip and _is_gpu_usable(name, stated) is not False and "cuda" not in here and bool(here) and any(row.builds for row in rows)
    )
    return "" if (with_cuda and name not in with_cuda) or other_builds else name
