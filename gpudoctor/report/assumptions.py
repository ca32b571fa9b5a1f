"""What was assumed of a machine that is only described: the machine, then the packages and why each has its version."""

from __future__ import annotations

from gpudoctor.findings.wording import count_with_noun
from gpudoctor.report.model import Report
from gpudoctor.report.page import Page
from gpudoctor.snapshot import Distribution, Missing
from gpudoctor.snapshot.distributions import name_with_extras

_COLUMN_GAP = 2
_MAX_WIDTH = 48
"""Columns before the reason; a longer version moves it."""


def draw(page: Page, report: Report) -> None:
    """The two tables."""
    said = report.snapshot.supposed
    page.heading("Assumed")
    for supposed in () if isinstance(said, Missing) else said:
        page.paragraph(f"{supposed.value}  [{supposed.where}]", f"{supposed.what:<13}", indent=2, hang=13, lead_style="bold")
    packages = report.snapshot.packages
    plain = frozenset() if isinstance(packages, Missing) else frozenset(packages.without_gpu_code)
    taken = () if isinstance(packages, Missing) else packages.distributions
    rows = _package_rows(tuple(distribution for distribution in taken if distribution.chosen or distribution.name not in plain))
    if not rows:
        return
    page.heading("Packages")
    names, versions = (max(len(row[column]) for row in rows) + _COLUMN_GAP for column in (0, 1))
    for name, version, why in rows:
        page.paragraph(why, f"{name:<{names}}{version:<{versions}}", indent=2, hang=min(names + versions, _MAX_WIDTH))


def _package_rows(taken: tuple[Distribution, ...]) -> list[tuple[str, str, str]]:
    """Name, version, why; NVIDIA's libraries that come with one package, but for cuDNN, in one row."""
    rows = [
        (_name_with_extras(distribution), distribution.version, _version_reason(distribution))
        for distribution in taken
        if not _is_library(distribution)
    ]
    libraries = [distribution.where for distribution in taken if _is_library(distribution)]
    counts = ((libraries.count(who), who) for who in dict.fromkeys(libraries))
    return rows + [(f"and {count_with_noun(count, 'CUDA package')}", "", f"for {who}") for count, who in counts]


def _is_library(distribution: Distribution) -> bool:
    return distribution.name.startswith("nvidia-") and not distribution.name.startswith("nvidia-cudnn") and not distribution.requirement


def _name_with_extras(distribution: Distribution) -> str:
    return name_with_extras(distribution.name, distribution.extras if len(distribution.extras) < 3 else ())


def _version_reason(distribution: Distribution) -> str:
    if distribution.requirement and not distribution.chosen:
        return "as stated"
    if distribution.requirement == distribution.name:
        return "the newest that suits"
    return f"the newest for {distribution.requirement or distribution.where}" if distribution.chosen else f"for {distribution.where}"
