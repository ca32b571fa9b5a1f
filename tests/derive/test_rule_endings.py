from __future__ import annotations

import pytest

from gpudoctor.derive.rule_endings import (
    CouldNotTell,
    NotApplicable,
    known_absence,
    known_or_none,
    require_applicable,
    require_known,
    require_offered,
)
from gpudoctor.snapshot import Cause, Missing

ABSENT, DENIED, UNSUPPORTED = (Missing(cause, "why") for cause in (Cause.ABSENT, Cause.DENIED, Cause.UNSUPPORTED))


def test_a_value_passes_through() -> None:
    assert require_known(0) == require_applicable(0) == require_offered(0) == known_or_none(0) == 0
    assert known_absence(0) is None


def test_absence_is_an_answer_for_some() -> None:
    assert known_or_none(ABSENT) is None
    assert known_absence(ABSENT) is ABSENT
    with pytest.raises(NotApplicable):
        require_applicable(ABSENT)
    with pytest.raises(NotApplicable):
        require_offered(UNSUPPORTED)


@pytest.mark.parametrize("end", [require_known, require_applicable, require_offered, known_or_none, known_absence])
def test_an_unknown_value_ends_the_rule(end: object) -> None:
    assert callable(end)
    with pytest.raises(CouldNotTell) as caught:
        end(DENIED)
    assert caught.value.missing is DENIED
