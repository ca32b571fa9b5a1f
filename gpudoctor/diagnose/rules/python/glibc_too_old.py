"""GD640: glibc-too-old."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import Stack
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.python.wheels import _compiled
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, Python
from gpudoctor.versions import Version

_OLD_TAGS = {"manylinux1": Version(2, 5), "manylinux2010": Version(2, 12), "manylinux2014": Version(2, 17)}
"""What the names before PEP 600 stand for (PEP 513, 571, 599)."""


def _least(tags: tuple[str, ...]) -> Version | None:
    """The oldest glibc for which one of a wheel's tags says that it is built; None where none does."""
    found = []
    for tag in tags:
        name, _, rest = tag.partition("_")
        parts = rest.split("_")
        if name == "manylinux" and len(parts) > 1 and parts[0].isdecimal() and parts[1].isdecimal():
            found.append(Version(int(parts[0]), int(parts[1])))
        elif name in _OLD_TAGS:
            found.append(_OLD_TAGS[name])
    return min(found, default=None)


@rule(
    "GD640",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    on_cpu_too=True,
    explains=(Explains(TRAINING_FAILS, "", Join.FRAMEWORK),),
)
def glibc_too_old(framework: Framework, python: Python, stack: Stack) -> Iterator[Problem]:
    """Glibc is older than the framework's wheel needs.

    ## Why it matters
    A wheel's tag names the glibc that its compiled code was built for: manylinux_2_28 needs glibc 2.28. pip does not install it on an older
    system, but an environment that was copied, mounted or packed elsewhere still holds it. The import then ends with "version `GLIBC_2.28'
    not found".

    ## What to do
    Use a newer system or a container, or a release whose wheel is built for this glibc.

    ## References
    - https://peps.python.org/pep-0600/
    """
    libc = need(python.libc)
    here = versions.parse(libc.partition(" ")[2]) if libc.startswith("glibc ") else None
    if here is None:
        not_applicable(f"the C library is {libc}")
    told = [(one, least) for one in _compiled(framework, stack) if isinstance(one.tags, tuple) and (least := _least(one.tags))]
    if not told:
        not_applicable("no wheel of it says for which glibc it is built")
    for one, least in told:
        if least > here:
            yield Problem(
                message=f"{one.name} {one.version} needs glibc {least.major}.{least.minor}, and this Python runs on {libc}.",
                evidence=(
                    Evidence("wheel's tags", ", ".join(one.tags if isinstance(one.tags, tuple) else ()), f"the metadata of {one.name}"),
                    Evidence("glibc", libc, "CS_GNU_LIBC_VERSION"),
                ),
                fixes=(
                    Fix(f"Train on a system, or in a container, with glibc {least.major}.{least.minor} or newer.", needs=(DOWNLOAD,)),
                    Fix(
                        f"Install a release of {one.name} that is built for {libc}: pip chooses it here",
                        install_package(python, "--force-reinstall", one.name),
                        (DOWNLOAD,),
                        kind=FixKind.INSTEAD,
                    ),
                ),
            )
