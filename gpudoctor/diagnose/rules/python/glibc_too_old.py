from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import FrameworkView, not_applicable
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.rule import TRAINING_FAILS, Explains, Join, rule
from gpudoctor.findings import DOWNLOAD, Action, Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import Distribution
from gpudoctor.versions import Version

_OLD_TAGS = {"manylinux1": Version(2, 5), "manylinux2010": Version(2, 12), "manylinux2014": Version(2, 17)}
"""The glibc that the tags older than PEP 600 stand for (PEP 513, 571, 599)."""


@rule(
    "GD640",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    on_cpu_too=True,
    explains=(Explains(TRAINING_FAILS, "The loader refuses the framework's libraries.", Join.FRAMEWORK),),
)
def glibc_too_old(framework: FrameworkView) -> Iterator[Problem]:
    """glibc is too old for the framework's wheel."""
    libc = framework.environment.libc
    installed = versions.parse(libc.partition(" ")[2]) if libc.startswith("glibc ") else None
    if installed is None:
        not_applicable(f"the C library is {libc}, not glibc")
    needs = [(wheel, needed) for wheel in framework.compiled_parts if (needed := _needed(wheel))]
    if not needs:
        not_applicable("no wheel of it states the glibc that it needs")
    for wheel, needed in needs:
        if needed > installed:
            tags = wheel.tags if isinstance(wheel.tags, tuple) else ()
            yield Problem(
                message=f"{wheel.label} needs glibc {needed.short} or newer, but this system has {libc}.",
                evidence=(
                    Evidence("wheel's tags", ", ".join(tags), f"the metadata of {wheel.name}"),
                    Evidence("glibc", libc, "CS_GNU_LIBC_VERSION"),
                ),
                fixes=(
                    Fix(
                        f"Use a system or a container image with glibc {needed.short} or newer.",
                        needs=(DOWNLOAD,),
                        action=Action.CHANGE_SETTING,
                    ),
                    _install_for(wheel, libc, framework),
                ),
            )


def _install_for(wheel: Distribution, libc: str, framework: FrameworkView) -> Fix:
    title = f"Install a release of {wheel.name} built for {libc}, which pip chooses on this system"
    python = framework.environment.observed.python
    return install_fix(title, python, wheel.name, options=("--force-reinstall",), kind=FixKind.INSTEAD)


def _needed(wheel: Distribution) -> Version | None:
    """Return the oldest glibc that the wheel's tags accept; None if no tag names one."""
    tags = wheel.tags if isinstance(wheel.tags, tuple) else ()
    return min((version for tag in tags if (version := _glibc_of(tag))), default=None)


def _glibc_of(tag: str) -> Version | None:
    """Return the glibc of a tag such as manylinux_2_28_x86_64; None if it names none."""
    name, _, rest = tag.partition("_")
    if name != "manylinux":
        return _OLD_TAGS.get(name)
    major, _, rest = rest.partition("_")
    minor = rest.partition("_")[0]
    return Version(int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else None
