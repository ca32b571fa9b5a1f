"""The document gpudoctor.diff/1: how a machine differs from itself at another time, or from another machine."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from gpudoctor.report.model import Tool
from gpudoctor.schema_fields import FORM, means

ChangeKind = Annotated[str, means("Open: what happened from the first report to the second.", "appeared", "gone", "changed")]


class Examined(msgspec.Struct, frozen=True):
    """One of the two reports."""

    name: Annotated[str, means("As it was named on the command line.", "golden.json")]
    created: Annotated[str, means("When the machine was examined: UTC, ISO 8601. For pasted text, when it was read.")]
    verdict: Annotated[str, means("Open: by the rules of this gpudoctor.", "ready", "broken")]


class CauseChange(msgspec.Struct, frozen=True):
    """A finding that only one report has, or that is worse or milder in one."""

    kind: ChangeKind
    id: Annotated[str, means("The finding's id, the same in both reports.", "GD203:torch")]
    name: Annotated[str, means("The rule.", "driver-too-old")]
    before: Annotated[str, means("Its severity in the first report; empty: not found.", "error")]
    after: Annotated[str, means("Its severity in the second report; empty: not found.", "error")]
    message: Annotated[str, means("Its message, from the second report if that has the finding.")]
    root: Annotated[bool, means("Whether no other finding explains it.")]


class FactChange(msgspec.Struct, frozen=True):
    """One fact that differs, in words."""

    path: Annotated[str, means("Its field in the snapshot, as --ignore takes it.", "nvml.gpus.0000:1f:00.0.link_width")]
    kind: ChangeKind
    subject: Annotated[str, means("What it is about; empty: the machine.", "GPU 3 (0000:1f:00.0)", "libcudnn.so.9")]
    what: Annotated[str, means("The fact; empty if the subject itself changed.", "PCIe link")]
    before: Annotated[str, means("Empty: not there.", "x16")]
    after: Annotated[str, means("Empty: not there.", "x4")]
    line: Annotated[str, means("All of it in one line.", "driver 550.163.01 → 580.65.06")]
    read_by_rules: Annotated[bool, means("Whether a rule read it on one of the two machines.")]
    volatile: Annotated[bool, means("Whether it changes by itself, as temperature does. It never counts as a deviation.")] = False
    not_compared: Annotated[bool, means("Whether only one of the two reports was asked for it.")] = False
    unknown: Annotated[bool, means("Whether the first report knows it and the second could not read it.")] = False
    also: Annotated[tuple[str, ...], means("Paths of what differs because of this.")] = ()


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    """How the second report differs from the first."""

    schema: Annotated[Literal["gpudoctor.diff/1"], FORM] = "gpudoctor.diff/1"
    tool: Tool
    before: Examined
    after: Examined
    causes: Annotated[tuple[CauseChange, ...], means("Findings: appeared, then gone, then changed.")]
    facts: Annotated[tuple[FactChange, ...], means("Facts: those that rules read first.")]
    ignored: Annotated[int, means("How many differing facts --ignore left out.")] = 0
    golden: Annotated[bool, means("Whether the first report is the reference: --golden.")] = False
    exit_code: Annotated[int, means("The exit code of the process.")] = 0

    @property
    def counted(self) -> tuple[FactChange, ...]:
        """The facts that do not change by themselves and that both reports know."""
        return tuple(fact for fact in self.facts if not fact.volatile and not fact.not_compared and not fact.unknown)

    @property
    def unknown(self) -> tuple[FactChange, ...]:
        """The facts that the second report should know and does not."""
        return tuple(fact for fact in self.facts if fact.unknown and not fact.volatile)
