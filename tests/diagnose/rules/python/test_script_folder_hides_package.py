from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import ScriptFolder
from tests.builders import TIMED_OUT, machine
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
