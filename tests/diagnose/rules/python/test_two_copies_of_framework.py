from __future__ import annotations

import pytest

from gpudoctor.findings import Level, Severity
from gpudoctor.snapshot import Distribution
from tests.builders import ABSENT, tensorflow, torch
from tests.diagnose.rules.packaged import found, live


@pytest.mark.parametrize(
    ("copies", "words"),
    [
        ([("tensorflow", "2.18.0", "/site"), ("tensorflow-cpu", "2.18.0", "/site")], "they own the same files"),
        ([("tensorflow", "2.17.0", "/home/user"), ("tensorflow", "2.18.0", "/site")], "Python imports the copy in /home/user/tensorflow"),
        ([("tensorflow", "2.17.0", "/site"), ("tensorflow", "2.18.0", "/site")], "they own the same files"),
        ([("tensorflow", "2.18.0", "/site"), ("tensorflow-intel", "2.18.0", "/site")], ""),
        ([("tensorflow", "2.18.0", "/site"), ("tensorflow", "2.18.0", "/site")], ""),
        ([("tensorflow", "2.18.0", "/site"), ("keras", "3.0", "/home/user")], ""),
    ],
)
def test_copies_of_a_framework_are_counted(copies: list[tuple[str, str, str]], words: str) -> None:
    snapshot = live(*(Distribution(*copy) for copy in copies), frameworks=(tensorflow(location="/home/user/tensorflow"),))
    findings = [one for one in found(snapshot, level=Level.LOOK) if one.name == "two-copies-of-framework"]
    assert [words in one.message for one in findings] == ([True] if words else [])
    assert all(one.severity is Severity.WARNING for one in findings)


def test_a_file_of_the_frameworks_name_hides_it() -> None:
    snapshot = live(frameworks=(torch(shadow="/project/torch.py"),))
    (finding,) = found(snapshot, level=Level.LOOK)
    assert (finding.name, finding.severity) == ("two-copies-of-framework", Severity.ERROR)
    assert "/project/torch.py shadows the package torch" in finding.message
    assert not found(live(frameworks=(torch(shadow=ABSENT),)), level=Level.LOOK)
