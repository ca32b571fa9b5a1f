from __future__ import annotations

from gpudoctor.findings import FixKind, OutcomeKind
from gpudoctor.snapshot import Variables
from tests.builders import TIMED_OUT, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.driver.libcudas import loaded

RULE = "forward-compat-unsupported-hw"
COMPAT = "/usr/local/cuda/compat/libcuda.so.570.26"


def test_the_library_is_taken_off_the_path_or_the_driver_updated_to_its_release() -> None:
    variables = Variables({"LD_LIBRARY_PATH": "/usr/local/cuda/compat:/opt/lib"})
    (finding,) = findings_of(RULE, machine(1, libcuda=loaded(804, COMPAT), variables=variables))
    assert finding.fixes[0].command == "export LD_LIBRARY_PATH=/opt/lib"
    assert "570.26 or newer" in finding.fixes[1].title
    assert finding.fixes[1].kind is FixKind.INSTEAD


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1, libcuda=loaded(803, COMPAT))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, libcuda=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
