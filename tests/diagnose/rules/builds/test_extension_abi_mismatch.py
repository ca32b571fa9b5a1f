from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from tests.diagnose.rules.examined import SITE, add_on, only, outcome, with_add_ons


def test_one_finding_for_a_distribution_of_many_files() -> None:
    files = [add_on(path=f"{SITE}/{name}.so", undefined=("_ZN3c105ErrorE", "_ZN2at5emptyE")) for name in "abc"]
    found = only(with_add_ons(*files), "extension-abi-mismatch")
    assert "_ZN3c105ErrorE and 1 more," in found.message


def test_what_was_not_read_is_not_passed() -> None:
    assert outcome(with_add_ons(add_on()), "extension-abi-mismatch") is OutcomeKind.NOT_ASKED


def test_an_add_on_whose_symbols_are_all_defined() -> None:
    assert outcome(with_add_ons(add_on(undefined=())), "extension-abi-mismatch") is OutcomeKind.PASSED
