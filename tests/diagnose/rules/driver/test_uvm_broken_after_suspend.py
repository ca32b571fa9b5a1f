from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import KernelModules
from tests.builders import ABSENT, machine
from tests.diagnose.rules.asking import kinds_of
from tests.diagnose.rules.driver.loaded import failing, kernel_driver
from tests.diagnose.rules.driver.modules import DENIED

RULE = "uvm-broken-after-suspend"


@pytest.mark.parametrize(("times", "kind"), [(2, "found"), (0, "passed"), (ABSENT, "passed"), (DENIED, "could-not-tell")])
def test_999_after_sleep(times: Any, kind: str) -> None:
    snapshot = failing(kernel_driver=kernel_driver(), kernel_modules=KernelModules(suspends=times))
    assert [outcome.value for outcome in kinds_of(RULE, snapshot)] == [kind]


def test_where_cuda_works_sleep_did_no_harm() -> None:
    snapshot = machine(1, kernel_driver=kernel_driver(), kernel_modules=KernelModules(suspends=2))
    assert kinds_of(RULE, snapshot) == [OutcomeKind.PASSED]
