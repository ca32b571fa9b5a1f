from __future__ import annotations

import pytest

from gpudoctor.derive.unknown import CouldNotTell, NotApplicable, absence, applicable, known, offered, or_none
from gpudoctor.snapshot import Cause, Missing

ABSENT, DENIED, UNSUPPORTED = (Missing(cause, "why") for cause in (Cause.ABSENT, Cause.DENIED, Cause.UNSUPPORTED))


def test_a_value_passes_through() -> None:
    assert known(0) == applicable(0) == offered(0) == or_none(0) == 0
    assert absence(0) is None


def test_absence_is_an_answer_for_some() -> None:
    assert or_none(ABSENT) is None
    assert absence(ABSENT) is ABSENT
    with pytest.raises(NotApplicable):
        applicable(ABSENT)
    with pytest.raises(NotApplicable):
        offered(UNSUPPORTED)


@pytest.mark.parametrize("end", [known, applicable, offered, or_none, absence])
def test_an_unknown_value_ends_the_rule(end: object) -> None:
    assert callable(end)
    with pytest.raises(CouldNotTell) as caught:
        end(DENIED)
    assert caught.value.missing is DENIED
