"""Carries out a command of `gpudoctor fleet`: merges the reports that it gathers, and writes what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from gpudoctor.cli import failure, output
from gpudoctor.cli.content import content_of_file
from gpudoctor.cli.field_patterns import field_patterns
from gpudoctor.cli.fleet_output import FleetDelivery, deliver_fleet
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.errors import UsageError
from gpudoctor.fleet import FleetOptions, Merge
from gpudoctor.fleet.conditions import parse_fleet_condition
from gpudoctor.fleet.links import fleet_with_links
from gpudoctor.history import History
from gpudoctor.matrix_files import open_matrix
from gpudoctor.read.own_report import own_report
from gpudoctor.report.fleet import Fleet, Links
from gpudoctor.snapshot import Snapshot


class GatheredResult(NamedTuple):
    """What came beside the reports."""

    links: Links | None = None
    stopped: int = 0
    """The exit code if a signal ended it, else 0."""


class FleetCommand(FleetDelivery, frozen=True, kw_only=True):
    """The options that all commands have."""

    require: list[str] | None
    golden: str | None
    ignore: list[str] | None
    ignore_file: str | None
    fail_on: str | None
    history: str | None
    compat: str | None

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> FleetCommand:
        """Return the options among the arguments of a command."""
        given = {name: arguments[name] for name in cls.__struct_fields__}
        return cls(**given | {"output": output.file_named(given["output"])})

    def asked(self) -> FleetOptions:
        """Return what they ask of the fleet. Raises UsageError."""
        return FleetOptions(
            strict=self.fail_on == "warning",
            require=tuple(map(parse_fleet_condition, self.require or ())),
            ignore=(*(self.ignore or ()), *field_patterns(self.ignore_file)),
            golden=None if self.golden is None else (self.golden, _reference_snapshot(self.golden)),
        )


GatherReports = Callable[[Merge], GatheredResult]
"""Adds the reports."""


def run_fleet_command(run: FleetCommand, prepare: Callable[[], GatherReports]) -> int:
    """Return the exit code. What is wrong with the options is told before anything is written."""

    def body() -> int:
        run.check()
        gather = prepare()
        with opened_history(run.history) as memory:
            merged = Merge(run.asked(), open_matrix(run.compat), witness=memory.add)
            links, stopped = gather(merged)
            found = memory.told(merged.finish())
        code = deliver_fleet(fleet_with_links(found, links) if links else found, run)
        return stopped or code

    return failure.guarded_exit_code(body, as_json=run.format is TextOrJson.JSON and run.output is None)


def _reference_snapshot(file: str) -> Snapshot:
    found = own_report(content_of_file(file)[0])
    if found is None:
        raise UsageError(f"--golden {file}: it holds no gpudoctor report; write one with `gpudoctor check --format json -o FILE`.")
    return found[0]


class NoHistory:
    """Stands for a history where --history names none: it remembers nothing."""

    def add(self, node: str, created: str, causes: Iterable[tuple[str, str, str]]) -> None:
        """Do nothing."""

    def told(self, fleet: Fleet) -> Fleet:
        """Return the fleet as it is."""
        return fleet


def opened_history(path: str | None) -> AbstractContextManager[History | NoHistory]:
    """Return the history in a file; without a file one that remembers nothing. Raises UsageError."""
    if path is None:
        return nullcontext(NoHistory())
    return History(path)
