"""GD545 broken-release."""

from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Distribution, Fact, Host, Packages, Platform, Snapshot, TextLog
from tests.builders import machine
from tests.diagnose.rules.asking import findings_of, kinds_of

RULE = "broken-release"
LINE = r'OSError: [WinError 126] Error loading "D:\env\Lib\site-packages\torch\lib\fbgemm.dll" or one of its dependencies.'


def on(*lines: str, version: str = "2.4.0+cu121", platform: Platform = Platform.WINDOWS, name: str = "torch") -> Snapshot:
    """A release on a platform, and the lines of its log."""
    log = TextLog(lines=tuple(Fact(line, "line 3") for line in lines), total=5, used=len(lines))
    host = Host(platform=platform, architecture="x86_64")
    return machine(host=host, packages=Packages((Distribution(name, version, "/site"),)), text_log=log)


def test_a_broken_release_with_its_error_is_found() -> None:
    (finding,) = findings_of(RULE, on(LINE))
    assert finding.message.startswith("torch 2.4.0+cu121 for Windows (amd64) is broken: fbgemm.dll needs libomp140")
    assert "torch>2.4.0" in finding.fixes[0].command


def test_without_its_error_nothing_is_known() -> None:
    assert kinds_of(RULE, on()) == [OutcomeKind.NOT_ASKED]
    assert kinds_of(RULE, on(version="0.41.1", name="bitsandbytes")) == [OutcomeKind.NOT_ASKED]


@pytest.mark.parametrize(
    "snapshot",
    [
        on(LINE, version="2.4.1"),
        on(LINE, version="2.3.1+cu121"),
        on(LINE, platform=Platform.LINUX),
        on(LINE, version="0.43.0", name="bitsandbytes"),
    ],
)
def test_other_releases_and_platforms_have_no_such_defect(snapshot: Snapshot) -> None:
    assert kinds_of(RULE, snapshot) == [OutcomeKind.PASSED]
