from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.driver.loaded import failing, kernel_driver
from tests.diagnose.rules.driver.modules import DENIED

RULE = "uvm-not-loaded"


@pytest.mark.parametrize("code", [3, 100, 999])
def test_cuda_without_its_module(code: int) -> None:
    (finding,) = findings_of(RULE, failing(code, kernel_driver=kernel_driver(modules=("nvidia",))))
    assert f"cuInit returns {code} while NVML works" in finding.message
    assert not findings_of(RULE, failing(code, kernel_driver=kernel_driver()))


@pytest.mark.parametrize("code", [802, 803, 804, 46])
def test_codes_with_causes_of_their_own_do_not_accuse_uvm(code: int) -> None:
    assert kinds_of(RULE, failing(code, kernel_driver=kernel_driver(modules=("nvidia",)))) == [OutcomeKind.PASSED]


def test_modules_that_cannot_be_seen_are_ignorance() -> None:
    assert kinds_of(RULE, failing(kernel_driver=kernel_driver(modules=DENIED))) == [OutcomeKind.COULD_NOT_TELL]
