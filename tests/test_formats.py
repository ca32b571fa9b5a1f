"""Every format of the report, on every recorded machine."""

from __future__ import annotations

import pytest

from tests.report import machines, test_github, test_markdown, test_sarif


@pytest.mark.parametrize("form", [test_github, test_markdown, test_sarif], ids=lambda form: str(form.__name__).rpartition("_")[2])
def test_a_format_holds_what_it_must_of_every_recorded_machine(form) -> None:  # type: ignore[no-untyped-def]
    for name in machines.NAMES:
        form.check(machines.report(name))
