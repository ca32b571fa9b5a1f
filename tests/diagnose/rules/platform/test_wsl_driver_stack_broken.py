from __future__ import annotations

from gpudoctor.findings import Confidence, OutcomeKind
from gpudoctor.snapshot import NOT_ASKED
from tests.builders import ABSENT, TIMED_OUT, bare, in_docker, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.platform.samples import ON_WSL, REFUSED, UNKNOWN, WINDOWS, change

RULE = "wsl-driver-stack-broken"


def test_what_is_missing_is_named() -> None:
    (finding,) = findings_of(RULE, bare(host=ON_WSL, wsl=change(WINDOWS, device=False, libraries=ABSENT)))
    assert finding.confidence is Confidence.CERTAIN
    assert "/dev/dxg, /usr/lib/wsl/lib/libcuda.so.1, /usr/lib/wsl/lib/libnvidia-ml.so.1 are missing" in finding.message


def test_two_libraries_that_fail_make_it_likely() -> None:
    (finding,) = findings_of(RULE, bare(host=ON_WSL, wsl=WINDOWS, nvml=UNKNOWN, libcuda=REFUSED))
    assert finding.confidence is Confidence.LIKELY
    assert findings_of(RULE, bare(host=ON_WSL, wsl=WINDOWS, nvml=UNKNOWN)) == []


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(host=ON_WSL)) == [OutcomeKind.NOT_ASKED]
    assert kinds_of(RULE, bare(host=ON_WSL, wsl=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, bare(host=ON_WSL, wsl=WINDOWS, container=in_docker())) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, bare(wsl=NOT_ASKED)) == [OutcomeKind.NOT_APPLICABLE]
