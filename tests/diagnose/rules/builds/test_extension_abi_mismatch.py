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


def test_the_first_few_symbols_are_the_evidence() -> None:
    symbols = tuple(f"_ZN2at{number}E" for number in range(5))
    found = only(with_add_ons(add_on(undefined=symbols)), "extension-abi-mismatch")
    assert [row.value for row in found.evidence] == list(symbols[:4])
    assert "_ZN2at0E and 4 more," in found.message
    assert "needs _ZN2at0E, which" in only(with_add_ons(add_on(undefined=symbols[:1])), "extension-abi-mismatch").message
