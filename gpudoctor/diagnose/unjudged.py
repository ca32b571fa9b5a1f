"""What bears on the answer and could not be judged: where anything is listed here, the verdict is never ready."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Facts
from gpudoctor.derive.platform import word
from gpudoctor.findings import NotJudged, Subject, SubjectKind
from gpudoctor.matrix import Resolved
from gpudoctor.snapshot import Fact, Framework


def not_judged(facts: Facts) -> tuple[NotJudged, ...]:
    """Everything that no rule and no table could judge, in the order in which to name it."""
    return tuple(_unknown_releases(facts))


def _unknown_releases(facts: Facts) -> Iterator[NotJudged]:
    """Of a supposed machine, the frameworks whose release no table holds: nothing of what matters about them could be judged."""
    platform = word(facts.snapshot.host, facts.snapshot.python)
    for framework in facts.frameworks if facts.snapshot.origin == "supposed" else ():
        version = framework.version.value if isinstance(framework.version, Fact) else ""
        found = facts.matrix.resolve(framework.distribution, version, platform)
        if found.how is Resolved.NONE and not _elsewhere(facts, framework, version):
            yield NotJudged(Subject(SubjectKind.FRAMEWORK, framework.name), f"{framework.distribution} {version}", found.why)


def _elsewhere(facts: Facts, framework: Framework, version: str) -> bool:
    """Whether the release is known for another platform, which is an answer."""
    platforms = {row.platform for row in facts.matrix.releases(framework.distribution)}
    return any(facts.matrix.resolve(framework.distribution, version, one).how is not Resolved.NONE for one in platforms)
