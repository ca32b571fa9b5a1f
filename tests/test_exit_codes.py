"""The table of exit codes is complete and in order."""

from __future__ import annotations

from gpudoctor import exit_codes
from gpudoctor.exit_meanings import EXIT_CODES, exit_codes_line
from gpudoctor.findings import Verdict


def test_every_code_is_described_once() -> None:
    codes = [code for exit_code in EXIT_CODES for code in exit_code.codes]
    named = {exit_codes.READY, exit_codes.BROKEN, exit_codes.USAGE, exit_codes.UNKNOWN, exit_codes.CRASHED, 129, 130, 143}
    assert codes == sorted(named)


def test_every_verdict_has_its_code() -> None:
    assert {word.strip() for code in EXIT_CODES if code.verdict for word in code.verdict.split(",")} == {
        verdict.value for verdict in Verdict
    }


def test_the_line_of_the_help_names_every_code() -> None:
    assert all(f"{code.label} {code.short}" in exit_codes_line() for code in EXIT_CODES)
