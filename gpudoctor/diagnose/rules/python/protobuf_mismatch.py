"""GD606: protobuf-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Stack
from gpudoctor.derive.packages import Violation, major, source_of
from gpudoctor.derive.specifiers import contradict, satisfies
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.package_facts import demanded, shown, there
from gpudoctor.diagnose.rule import Explains, Join, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.python.packages import _accepted, _of, _unmet
from gpudoctor.findings import Confidence, Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.frameworks import stack_of
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Framework, Missing, Python


@rule(
    "GD606",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    on_cpu_too=True,
    explains=(Explains(TRAINING_FAILS, "", Join.FRAMEWORK),),
)
def protobuf_mismatch(framework: Framework, stack: Stack, matrix: Matrix, python: Python | Missing) -> Iterator[Problem]:
    """The installed protobuf is not one that the framework runs with.

    ## Why it matters
    Code that protobuf generated does not run with a protobuf older than the one that generated it, nor with one that is two major
    releases newer; code generated before 3.19 does not run with 4 and later ("Descriptors cannot be created directly"). The import of
    TensorFlow then fails. A protobuf that is only newer than the framework allows may work.

    ## What to do
    Install a protobuf within the framework's bounds. Where another package wants one outside them, the two need environments of their own.

    ## References
    - https://protobuf.dev/support/cross-version-runtime-guarantee/
    - https://protobuf.dev/news/2022-05-06/
    """
    if "protobuf" not in stack.distributions:
        not_applicable("no protobuf is listed")
    unmet = _of(stack, protobuf_mismatch.name, framework)
    if not unmet:
        yield from _bounded_later(framework, stack, matrix, python)
        return
    fails = stack.supposed or any(one.older or _generated_before_4(one) for one in unmet)
    yield Problem(
        message=_unmet(unmet, stack),
        severity=None if fails else Severity.WARNING,
        confidence=Confidence.CERTAIN if stack.supposed else Confidence.LIKELY,
        evidence=(shown(unmet[0].found), *demanded(unmet)),
        fixes=(Fix("Install a protobuf that fits", install_package(python, _accepted(unmet)), (DOWNLOAD,)),),
    )


def _bounded_later(framework: Framework, stack: Stack, matrix: Matrix, python: Python | Missing) -> Iterator[Problem]:
    """A release that set no upper bound, as protobuf 4 was not yet there, and that the bound of a later one speaks for."""
    found = stack.distributions["protobuf"]
    for one in stack.distributions.values():
        row = stack.row(one) if stack_of(one.name) == framework.name else None
        if row is None or any("<" in text for text in row.requires if text.startswith("protobuf")):
            continue
        later = (other for other in matrix.releases(row.distribution, row.platform) if other.release > row.release)
        bounded = next(((other, text) for other in later for text in other.requires if text.startswith("protobuf") and "<" in text), None)
        if bounded and satisfies(found.version, bounded[1].removeprefix("protobuf")) is False and (major(found.version) or 0) >= _NEW_CODE:
            yield Problem(
                message=f"{one.label} set no upper bound for protobuf; {bounded[0].release} set {bounded[1]}, and {found.label} {there(stack)}.",
                confidence=Confidence.LIKELY,
                evidence=(shown(found), Evidence(f"{row.distribution} {bounded[0].release} requires", bounded[1], source_of(bounded[0]))),
                fixes=(Fix("Install a protobuf that later releases allow", install_package(python, bounded[1]), (DOWNLOAD,)),),
            )


_NEW_CODE = 4
"""The protobuf that refuses code generated before 3.19 (protobuf.dev/news/2022-05-06)."""


def _generated_before_4(one: Violation) -> bool:
    return (major(one.found.version) or 0) >= _NEW_CODE and contradict((one.demand.requirement.specifier, f">={_NEW_CODE}"))
