from __future__ import annotations

import msgspec

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Variables
from tests.builders import TIMED_OUT, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.driver.libcudas import loaded

RULE = "cuda-compat-lib-conflict"
COMPAT = "/usr/local/cuda/compat/libcuda.so.570.26"


def test_a_preloaded_compat_library_is_unset() -> None:
    (finding,) = findings_of(RULE, machine(1, libcuda=loaded(803, COMPAT), variables=Variables({"LD_PRELOAD": COMPAT})))
    assert "(cuda-compat 570.26)" in finding.message
    assert finding.fixes[0].command == "unset LD_PRELOAD"


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1, libcuda=loaded(803, "/usr/lib/libcuda.so.1"))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, libcuda=loaded(804, COMPAT))) == [OutcomeKind.PASSED]
    unknown = msgspec.structs.replace(loaded(803, ""), library=TIMED_OUT)
    assert kinds_of(RULE, machine(1, libcuda=unknown)) == [OutcomeKind.COULD_NOT_TELL]
