from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Cause, FoundBy, Missing, Place
from tests.diagnose.rules.examined import SITE, environment, only, outcome, use

RULE = "cuda-libs-not-on-loader-path"
NAME = "libcusolver.so.11"
TOOLKIT = Place(f"/usr/local/cuda-12.5/lib64/{NAME}", "toolkit")


def test_the_folder_of_a_toolkit_is_added() -> None:
    found = only(environment(use("cusolver", NAME, elsewhere=(TOOLKIT,))), RULE)
    assert found.message.endswith(f"{NAME}: it is in /usr/local/cuda-12.5/lib64, which is not on the loader's path.")
    assert found.fixes[0].command == 'export LD_LIBRARY_PATH=/usr/local/cuda-12.5/lib64"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"'


def test_two_libraries_are_found_by_one_folder() -> None:
    other = Place("/usr/local/cuda-12.5/lib64/libcublas.so.12", "toolkit")
    uses = use("cusolver", NAME, elsewhere=(TOOLKIT,)), use("cublas", "libcublas.so.12", elsewhere=(other,))
    assert f"cannot find {NAME} and libcublas.so.12: they are in" in only(environment(*uses), RULE).message


def test_other_outcomes() -> None:
    wheel = Place(f"{SITE}/nvidia/cusolver/lib/{NAME}", "wheel", FoundBy.WHEEL)
    assert outcome(environment(use("cusolver", NAME, elsewhere=(TOOLKIT, wheel))), RULE) is OutcomeKind.PASSED
    assert outcome(environment(), RULE) is OutcomeKind.PASSED
    assert outcome(environment(libraries=Missing(Cause.TIMED_OUT, "did not respond")), RULE) is OutcomeKind.COULD_NOT_TELL
