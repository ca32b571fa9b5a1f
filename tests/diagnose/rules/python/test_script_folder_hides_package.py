from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Damage, DamageKind, FrameworkLibraries, Libraries, Python, ScriptFolder
from tests.builders import TIMED_OUT, machine, torch
from tests.diagnose.rules.asking import findings_of, kinds_of

RULE = "script-folder-hides-package"


def test_the_first_file_is_named_and_the_others_counted() -> None:
    (finding,) = findings_of(RULE, machine(script_folder=ScriptFolder("/project", hides=("/project/torch.py", "/project/numpy"))))
    assert finding.message == (
        "`import torch` in /project loads /project/torch.py, not the installed package (1 more file shadows other packages)."
    )
    assert [fix.command for fix in finding.fixes] == [
        "mv /project/torch.py /project/my_torch.py",
        "mv /project/numpy /project/my_numpy",
    ]


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(script_folder=ScriptFolder("/project", hides=()))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(script_folder=ScriptFolder("/project", hides=()), frameworks=())) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(script_folder=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, machine()) == [OutcomeKind.NOT_ASKED]


@pytest.mark.parametrize(
    ("asked_by", "severity"),
    [("/site/torch/utils/data.py", Severity.ERROR), ("/usr/lib/python3.12/tempfile.py", Severity.WARNING), ("", Severity.NOTE)],
)
def test_a_file_that_shadows_the_standard_library(asked_by: str, severity: Severity) -> None:
    here = machine(1, frameworks=(torch(location="/site/torch"),))
    assert isinstance(here.python, Python)
    asked = (Damage("random", DamageKind.SHADOWED, "another file shadows it", asked_by=asked_by),) if asked_by else ()
    shadowed = msgspec.structs.replace(
        here,
        python=msgspec.structs.replace(here.python, shadowing=("/project/random.py",)),
        libraries=Libraries((FrameworkLibraries("torch", shadowed_modules=asked),)),
    )
    (finding,) = findings_of(RULE, shadowed)
    assert finding.severity is severity
    assert finding.message.startswith("/project/random.py shadows Python's own module random")
    assert finding.message.endswith({"": "random."}.get(asked_by, f", which {'/'.join(asked_by.split('/')[-2:])} imports."))
    assert finding.fixes[0].command == "mv /project/random.py /project/my_random.py"
