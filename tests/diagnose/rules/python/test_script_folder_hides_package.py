from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Damage, DamageKind, FrameworkLibraries, Libraries, Python, ScriptFolder, UnfitKind, UnfitModule, Variables
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
    ("asked_by", "kind", "severity"),
    [
        ("/site/torch/utils/data.py", DamageKind.LACKS_NAME, Severity.ERROR),
        ("/usr/lib/python3.12/tempfile.py", DamageKind.LACKS_NAME, Severity.ERROR),
        ("/usr/lib/python3.12/tempfile.py", DamageKind.SHADOWED, Severity.WARNING),
        ("", DamageKind.SHADOWED, Severity.NOTE),
    ],
)
def test_a_file_that_shadows_the_standard_library(asked_by: str, kind: DamageKind, severity: Severity) -> None:
    here = machine(1, frameworks=(torch(location="/site/torch"),))
    assert isinstance(here.python, Python)
    asked = (Damage("random", kind, "it does not define Random", asked_by=asked_by),) if asked_by else ()
    shadowed = msgspec.structs.replace(
        here,
        python=msgspec.structs.replace(here.python, shadowing=("/project/random.py",)),
        libraries=Libraries((FrameworkLibraries("torch", shadowed_modules=asked),)),
    )
    (finding,) = findings_of(RULE, shadowed)
    assert finding.severity is severity
    assert finding.message.startswith("/project/random.py shadows Python's own module random")
    fails = ": `import torch` fails, as it does not define Random" if kind is DamageKind.LACKS_NAME else ""
    assert finding.message.endswith(f", which {'/'.join(asked_by.split('/')[-2:])} imports{fails}." if asked_by else "random.")
    assert finding.fixes[0].command == "mv /project/random.py /project/my_random.py"


@pytest.mark.parametrize("listed", [True, False])
def test_a_file_that_shadows_a_required_package(listed: bool) -> None:
    unfit = UnfitModule(
        "typing_extensions", "/ros/typing_extensions.py", UnfitKind.SHADOWED_PACKAGE, "it does not define deprecated",
        asked_by="/site/torch/serialization.py", owner="typing-extensions==4.12.2",
    )  # fmt: skip
    here = machine(
        1,
        frameworks=(torch(location="/site/torch"),),
        variables=Variables({"PYTHONPATH": "/other:/ros/"} if listed else {}),
        libraries=Libraries((FrameworkLibraries("torch", unfit_modules=(unfit,)),)),
    )
    (finding,) = findings_of(RULE, here)
    assert finding.severity is Severity.ERROR
    assert finding.message == (
        "/ros/typing_extensions.py shadows typing-extensions 4.12.2, which torch/serialization.py imports: "
        "`import torch` fails, as it does not define deprecated."
    )
    assert finding.fixes[0].command == ("unset PYTHONPATH" if listed else "mv /ros/typing_extensions.py /ros/my_typing_extensions.py")
