"""No report that leaves the machine contains a secret or identifies anybody, whichever field it came from."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import pytest

from gpudoctor.cli.delivery import deliver_reports
from gpudoctor.cli.destinations import Destination
from gpudoctor.cli.formats import Format
from gpudoctor.cli.settings import Delivery
from gpudoctor.redact import Redactor
from tests.probe.places import plant
from tests.redact.planted import HOME, HOST, LEFT, NAMED, NAMES, PASSWD, SECRETS, USER, count, examination
from tests.seams.every import every

FORMS = tuple(Format)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """Writes an examination's report to a file, as Alice on node17, and returns its text."""
    tree = plant(tmp_path / "tree", {"/etc/passwd": PASSWD.format(uid=os.geteuid()), "/proc/sys/kernel/hostname": f"{HOST}\n"})
    monkeypatch.setenv("HOME", HOME)
    monkeypatch.setenv("USER", USER)

    def write(text: str, form: Format, *, gaps: bool, identify: bool = False) -> str:
        file = tmp_path / "report"
        made = Delivery(destinations=(Destination(Format(form), str(file)),), quiet=True, no_color=True, identify=identify, root=tree)
        deliver_reports(examination(text, gaps=gaps), "check", made)
        return file.read_text()

    return write


@pytest.mark.parametrize("form", FORMS)
@every("kind", [*SECRETS])
def test_no_field_carries_a_secret_out(written, kind: str, form: Format) -> None:  # type: ignore[no-untyped-def]
    for gaps, identify in product((False, True), repeat=2):
        report = written(f"before {SECRETS[kind]} after", form, gaps=gaps, identify=identify)
        assert [part for part in LEFT if part in report] == []


@pytest.mark.parametrize("form", FORMS)
@every("kind", [*NAMES])
def test_no_field_carries_a_name_out(written, kind: str, form: Format) -> None:  # type: ignore[no-untyped-def]
    for gaps in (False, True):
        report = written(NAMES[kind], form, gaps=gaps)
        assert [part for part in NAMED if part in report] == []


@every("kind", [*NAMES])
def test_identify_keeps_names(written, kind: str) -> None:  # type: ignore[no-untyped-def]
    assert NAMES[kind] in written(NAMES[kind], "json", gaps=False, identify=True)


def test_the_text_is_planted_in_every_field() -> None:
    assert count(examination("planted", gaps=False), "planted") > 250
    assert count(examination("planted", gaps=True), "planted") > 50


@pytest.mark.parametrize("kind", SECRETS)
def test_a_terminal_shows_no_secret_but_all_names(kind: str) -> None:
    shown = Redactor().text(f"{SECRETS[kind]} on {HOST} in {HOME}")
    assert [part for part in LEFT if part in shown] == []
    assert shown.endswith(f"on {HOST} in {HOME}")
