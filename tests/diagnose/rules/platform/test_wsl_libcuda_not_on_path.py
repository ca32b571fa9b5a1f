from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from tests.builders import ABSENT, TIMED_OUT, bare, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.platform.samples import ON_WSL, WINDOWS, change

RULE = "wsl-libcuda-not-on-path"


def test_a_library_that_the_loader_does_not_find() -> None:
    (finding,) = findings_of(RULE, bare(host=ON_WSL, wsl=WINDOWS))
    assert finding.fixes[0].command == "echo /usr/lib/wsl/lib | sudo tee /etc/ld.so.conf.d/ld.wsl.conf && sudo ldconfig"


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(host=ON_WSL, wsl=WINDOWS)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, bare(host=ON_WSL, wsl=change(WINDOWS, libraries=ABSENT))) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, bare(host=ON_WSL, wsl=WINDOWS, libcuda=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, bare(host=ON_WSL, wsl=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
