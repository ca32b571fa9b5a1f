"""The installed packages and the environment variables that a text states."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.frameworks import CATALOGUE, framework_of, spec_of
from gpudoctor.read.sections.statement_index import NOT_STATED, StatementIndex
from gpudoctor.read.statements import Directness, Statement
from gpudoctor.snapshot import NOT_ASKED, Distribution, Missing, Packages, Variables
from gpudoctor.snapshot.distributions import normalise_distribution

_DISTRIBUTION_BY_CONDA_NAME = {package: distribution for spec in CATALOGUE for package, distribution in spec.conda_names.items()}
"""The distribution that each conda package contains, where it has another name."""
_PIP_BUILDS = ("pypi", "<pip>", "<develop>")
"""Where conda writes the build string: pip installed this package."""


def stated_variables(stated: StatementIndex) -> Variables | Missing:
    """Return the environment variables that the text sets or shows."""
    values = {name: statement.value for name, statement in stated.all("variable:").items()}
    return Variables(values) if values else NOT_STATED


def stated_packages(stated: StatementIndex) -> Packages | Missing:
    """Return the installed packages; those that only prose names are not known to be installed under that name.

    conda checks its own packages, whose bounds are not those of the wheels.
    """
    named = {name: statement for name, statement in package_statements(stated).items() if statement.rank > Directness.PROSE}
    if not named:
        return NOT_STATED
    in_conda = stated.all("conda:")
    stems = tuple(
        f"{name}-{version_of_row(statement)}-{build_of_row(statement)}"
        for name, statement in in_conda.items()
        if not _is_from_pip(statement)
    )
    copies = (
        Distribution(name=name, version=statement.value, where=statement.where) for name, statement in stated.all("other copy:").items()
    )
    return Packages(
        distributions=(*_stated_distributions(named, stated), *copies),
        conda=stems or NOT_STATED,
        selected=stated.get("whole list") is None,
    )


def _stated_distributions(named: dict[str, Statement], stated: StatementIndex) -> Iterator[Distribution]:
    for name, statement in named.items():
        requires = () if statement.what.startswith("conda:") else NOT_ASKED
        yield Distribution(
            name=name,
            version=statement.value,
            where=statement.where,
            installer=_stated_installer(name, statement, stated),
            requires=requires,
        )


def package_statements(stated: StatementIndex) -> dict[str, Statement]:
    """Return the packages by normalised name, with the most direct statement of each version."""
    found: dict[str, Statement] = {}
    for name, statement in (*_pip_statements(stated), *_conda_statements(stated)):
        if name not in found or statement.rank > found[name].rank:
            found[name] = statement
    return found


def conda_statement(distribution: str, stated: StatementIndex) -> Statement | None:
    """Return what conda lists of the package that contains a distribution; of several the one whose build is most specific."""
    listed_there = [
        statement
        for name, statement in stated.all("conda:").items()
        if _DISTRIBUTION_BY_CONDA_NAME.get(name, normalise_distribution(name)) == distribution
    ]
    return max(
        (statement for statement in listed_there if not _is_from_pip(statement)),
        key=lambda statement: len(build_of_row(statement)),
        default=None,
    )


def version_of_row(conda: Statement) -> str:
    """Return the version in conda's row: 2.1.0 in "2.1.0 py3.11_cuda12.1_cudnn8.9.2_0 pytorch"."""
    return conda.value.replace("=", " ").split()[0]


def build_of_row(conda: Statement) -> str:
    """Return the build string in conda's row; "" without one."""
    parts = conda.value.replace("=", " ").split()
    return parts[1] if len(parts) > 1 else ""


def _pip_statements(stated: StatementIndex) -> list[tuple[str, Statement]]:
    """Return the packages that pip lists or a program names. Only one distribution has the import name of most frameworks."""
    imported = [(normalise_distribution(name), statement) for name, statement in stated.all("version:").items()]
    certain = [(name, statement) for name, statement in imported if len(spec_of(framework_of(name) or "").distributions) < 2]
    packages = [
        (normalise_distribution(name), _statement_with_value(statement, statement.value.replace("%2B", "+")))
        for name, statement in stated.all("package:").items()
    ]
    return packages + certain


def _conda_statements(stated: StatementIndex) -> list[tuple[str, Statement]]:
    """Return the distributions in conda's packages. Packages such as tensorflow-gpu only choose a build of another one."""
    rows = stated.all("conda:")
    frameworks = {framework_of(name) for name in _DISTRIBUTION_BY_CONDA_NAME if name in rows}
    found = []
    for name, statement in rows.items():
        contained = _DISTRIBUTION_BY_CONDA_NAME.get(name, normalise_distribution(name))
        if _is_from_pip(statement) or name in _DISTRIBUTION_BY_CONDA_NAME or framework_of(contained) not in frameworks - {None}:
            found.append((contained, _statement_with_value(statement, version_of_row(statement))))
    return found


def _statement_with_value(statement: Statement, value: str) -> Statement:
    return Statement(statement.what, value, statement.reader, statement.line, statement.rank)


def _is_from_pip(conda: Statement) -> bool:
    return build_of_row(conda).startswith(_PIP_BUILDS)


def _stated_installer(name: str, statement: Statement, stated: StatementIndex) -> str | Missing:
    """Return pip where conda says so, or where its own package has another version."""
    there = conda_statement(name, stated)
    by_pip = stated.get(f"installer:{name}") or any(
        _is_from_pip(row) for said, row in stated.all("conda:").items() if normalise_distribution(said) == name
    )
    differs = there is not None and version_of_row(there) != statement.value.partition("+")[0]
    return "pip" if by_pip or differs else NOT_STATED
