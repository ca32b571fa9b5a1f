from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Host, Platform
from tests.builders import TIMED_OUT, bare
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.platform.samples import ON_WSL

RULE = "wsl1"


def test_wsl_1_is_converted() -> None:
    (finding,) = findings_of(RULE, bare(host=Host(platform=Platform.WSL1, kernel="4.4.0-19041-Microsoft")))
    assert finding.evidence[0].value == "4.4.0-19041-Microsoft"
    assert "wsl --set-version NAME 2" in finding.fixes[0].title


def test_other_outcomes() -> None:
    assert kinds_of(RULE, bare(host=ON_WSL)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, bare()) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, bare(host=Host(platform=TIMED_OUT))) == [OutcomeKind.COULD_NOT_TELL]
