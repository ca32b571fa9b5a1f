"""GD1 and GD7: settings of a GPU that are off, or were changed and wait for a reset: ECC and MIG."""

from __future__ import annotations

from gpudoctor.derive import Site
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.findings import Fix, FixKind


def _word(on: bool) -> str:  # noqa: FBT001 -- a setting, not an option
    return "on" if on else "off"


def _take_back(site: Site, command: str) -> tuple[Fix, ...]:
    return () if site.container else (Fix("Take the change back", command, (ROOT,), kind=FixKind.INSTEAD),)
