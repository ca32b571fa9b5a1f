"""The installed packages, the frameworks among them, and the environment variables that a text states."""

from __future__ import annotations

from gpudoctor.frameworks import framework_of, spec_of
from gpudoctor.matrix import Matrix
from gpudoctor.read.sections.stated import NOT_STATED, Stated
from gpudoctor.read.statements import Rank, Statement
from gpudoctor.snapshot import Cause, Distribution, Fact, Framework, Missing, Packages, Variables
from gpudoctor.snapshot.distributions import normalise

_ABSENT = {"None", "Could not collect", "False"}


def variables(stated: Stated) -> Variables | Missing:
    """Return the environment variables that the text sets or shows."""
    values = {name: one.value for name, one in stated.all("variable:").items()}
    return Variables(values) if values else NOT_STATED


def packages(stated: Stated) -> Packages | Missing:
    """Return the installed packages; those that only prose names are not known to be installed under that name."""
    distributions = tuple(
        Distribution(name=normalise(name), version=one.value, where=one.where)
        for name, one in stated.all("package:").items()
        if _is_listed(one)
    )
    return Packages(distributions=distributions) if distributions else NOT_STATED


def _is_listed(one: Statement) -> bool:
    """Return whether the package's own name was given: "TensorFlow 1.8" may be tensorflow or tensorflow-gpu."""
    return one.rank > Rank.PROSE


def frameworks(stated: Stated, matrix: Matrix) -> tuple[Framework, ...] | Missing:
    """Return the installed frameworks and what the text says of each build."""
    found = tuple(
        _framework(framework_of(normalise(name)) or "", name, one, stated, matrix)
        for name, one in stated.all("package:").items()
        if framework_of(normalise(name))
    )
    return found or NOT_STATED


def _framework(name: str, distribution: str, version: Statement, stated: Stated, matrix: Matrix) -> Framework:
    cuda, rocm = stated.get(f"{name} cuda"), stated.get(f"{name} rocm")
    has_cuda = None if cuda is None else cuda.value not in _ABSENT
    return Framework(
        name=name,
        distribution=_distribution(name, distribution, version, matrix),
        version=Fact(version.value, version.where),
        location=NOT_STATED,
        shadow=Missing(Cause.ABSENT, "the text names none"),
        cuda_build=NOT_STATED if has_cuda is None else has_cuda,
        rocm_build=rocm is not None,
        built_with_cuda=Fact(cuda.value, cuda.where) if cuda and has_cuda else NOT_STATED,
        built_with_cudnn=NOT_STATED,
        architectures=NOT_STATED,
    )


def _distribution(name: str, said: str, version: Statement, matrix: Matrix) -> str:
    """Return the package of a framework; "" if only its name was given and another of its packages has this release with CUDA."""
    if _is_listed(version):
        return normalise(said)
    with_cuda = {
        package
        for package in spec_of(name).distributions
        for row in matrix.releases(package)
        if row.accelerator == "cuda" and str(row.release) == version.value
    }
    return "" if with_cuda and name not in with_cuda else name
