"""scripts/torture: what counts as wrongly ready, and some cells for real."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from scripts.torture_parts import arguments, driver_calls
from scripts.torture_parts.cell import Case, Result, Workplace
from scripts.torture_parts.driver_promises import PROMISED, UNPROMISED, wrongly_ready
from scripts.torture_parts.facts import changed, facts, wrong
from scripts.torture_parts.pace import QUIET, Pace
from scripts.torture_parts.table import table
from tests.scripts.programs import SCRIPTS, script
from tests.seams.skips import in_ci

tortured_before = pytest.mark.skipif(in_ci(), reason="CI runs the short torture before the tests")


@pytest.mark.parametrize(
    ("function", "fault", "verdict", "holds"),
    [
        ("nvmlDeviceGetComputeMode", "return 999", "ready", False),
        ("nvmlDeviceGetComputeMode", "return 999", "unknown", True),
        ("nvmlDeviceGetComputeMode", "return 3", "ready", True),
        ("nvmlDeviceGetTemperature", "return 999", "ready", True),
        ("nvmlDeviceGetTemperature", "return 15", "ready", False),
        ("nvmlDeviceGetTemperature", "crash", "ready", False),
        ("nvmlDeviceGetP2PStatus", "crash", "ready", True),
        ("cuInit", "return 999", "ready", False),
        ("cuDeviceGetName", "return 15", "ready", True),
        ("cuInit", "sleep 300", "ready", True),
        ("cuInit", "hang", "broken", True),
    ],
)
def test_when_ready_is_wrong(function: str, fault: str, verdict: str, holds: bool) -> None:
    assert bool(wrongly_ready(function, fault, verdict)) is not holds


def test_every_code_of_both_headers_is_tried() -> None:
    assert {3, 9, 15, 18, 999} <= set(driver_calls.codes("nvmlInit"))
    assert {3, 100, 802, 803, 804, 999} <= set(driver_calls.codes("cuInit"))
    assert {"return 15", "crash", "leave", "hang", "sleep 300"} <= set(driver_calls.faults("nvmlInit", 1, short=False))


def test_answers_are_spoiled_where_there_are_any() -> None:
    assert "spoil garbage" in driver_calls.faults("nvmlDeviceGetName", 1, short=False)
    assert "spoil garbage" in driver_calls.faults("cuDeviceTotalMem", 1, short=False)
    assert "spoil garbage" not in driver_calls.faults("nvmlInit", 1, short=False)


def test_a_function_is_promised_or_there_is_a_reason_why_not() -> None:
    assert not PROMISED.keys() & UNPROMISED.keys()


def test_what_a_fault_changed() -> None:
    gone = {"type": "missing", "cause": "failed", "reason": "nvmlDeviceGetName answered 999"}
    healthy = facts({"snapshot": {"nvml": {"gpus": [{"name": "A100", "minor": 0}, {"name": "A100", "minor": 1}]}}})
    seen = facts({"snapshot": {"nvml": {"gpus": [{"name": gone, "minor": 7}]}}})
    changes = changed(healthy, seen)
    name, minor = ("nvml", "gpus", 0, "name"), ("nvml", "gpus", 0, "minor")
    assert changes == {name: gone, minor: 7, ("nvml", "gpus", 1, "name"): None, ("nvml", "gpus", 1, "minor"): None}
    assert wrong(changes) == [minor]


def measured(*seconds: float) -> Pace:
    """A pace by starts that take so long, one after the other, and then as long as the last."""
    left = list(seconds)
    return Pace(lambda: left.pop(0) if left[1:] else left[0])


def told(*troubles: str) -> Case:
    """A cell with a trouble at each try."""
    left = list(troubles)
    return Case("driver", "hang", lambda: Result(left.pop(0)))


def test_the_pace_of_a_quiet_machine_is_one_and_grows_with_a_start() -> None:
    assert measured(QUIET / 4).now() == 1.0
    assert measured(QUIET * 4).now() == 4.0


def test_a_trouble_on_a_machine_that_became_slower_is_void_and_shown() -> None:
    case = told("still runs after 12 s", "")
    result = script("torture").tried_until_fair(case, measured(QUIET, QUIET * 9))
    assert (result.trouble, result.void) == ("", ("still runs after 12 s",))
    shown = table("driver-calls", [(case, result)])
    assert "1 of 1 cells hold" in shown
    assert "tried again, as the machine had become slower: still runs after 12 s" in shown


def test_a_trouble_stands_on_a_machine_that_is_as_slow_as_supposed() -> None:
    torture = script("torture")
    for pace in (measured(QUIET), measured(QUIET * 9), measured(QUIET * 9, QUIET)):
        assert torture.tried_until_fair(told("wrong facts", ""), pace).trouble == "wrong facts"


def test_a_cell_is_not_tried_for_ever_on_a_machine_that_becomes_slower_and_slower() -> None:
    result = script("torture").tried_until_fair(told(*map(str, range(9))), measured(*(QUIET * 2**number for number in range(20))))
    assert (result.trouble, result.void) == ("3", ("0", "1", "2"))


def test_a_long_run_says_where_it_is_and_what_does_not_hold_before_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    torture, said = script("torture"), []

    def cell(number: int) -> Case:
        def run() -> Result:
            said.append(capsys.readouterr().err)
            return Result("wrong [facts]" if number % 100 == 0 else "")

        return Case(f"driver {number}", "hang", run)

    monkeypatch.setitem(torture.PARTS, "clock", lambda _: map(cell, range(250)))
    workplace = Workplace(tmp_path / "clock")
    vars(workplace)["pace"] = measured(QUIET)
    cells = torture.tried("clock", workplace, None, 1)
    assert sum(bool(result.trouble) for _, result in cells) == 3
    assert "clock: driver 100, hang: wrong [facts]" in "".join(said)
    assert "clock: 100 of 250 cells" in "".join(said)


def test_a_cell_that_waits_keeps_no_other_from_running(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    torture, ran = script("torture"), threading.Event()

    def waiting() -> Result:
        return Result("" if ran.wait(60) else "nothing ran beside")

    def working() -> Result:
        ran.set()
        return Result()

    waits, works = Case("driver", "hang", waiting, waits=True), Case("driver", "return 1", working)
    monkeypatch.setitem(torture.PARTS, "clock", lambda _: iter([waits, works, waits]))
    workplace = Workplace(tmp_path / "clock")
    vars(workplace)["pace"] = measured(QUIET)
    assert not any(result.trouble for _, result in torture.tried("clock", workplace, None, 1))


@tortured_before
def test_some_cells_hold(fake_nvml: object) -> None:  # noqa: ARG001 -- skips without a compiler
    command = (
        sys.executable,
        SCRIPTS / "torture",
        "--short",
        "--part",
        "driver-calls",
        "nvmlInit",
        "cuDeviceGet",
        "nvmlDeviceGetTemperature",
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 of 5 cells hold, 0 wrongly ready" in done.stdout


@tortured_before
def test_some_defects_of_ours_cost_a_section_each(fake_nvml: object) -> None:  # noqa: ARG001 -- skips without a compiler
    names = (
        "gpudoctor.probe.pci:pci",
        "gpudoctor.probe.observation:_with_machine",
        "gpudoctor.matrix.lookup:Matrix.rows",
        "gpudoctor.report.build:_published_form",
        "gpudoctor.report.build:_published_items",
        "gpudoctor.diagnose.steps:Steps.__call__",
        "gpudoctor.diagnose.rules:_load_rule",
        "gpudoctor.probe.observation:finished_snapshot",
        "gpudoctor.cli.failure:",
        "gpudoctor.cli.output:hold_descriptors",
    )
    command = (sys.executable, SCRIPTS / "torture", "--part", "defects", *names)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 of 12 cells hold" in done.stdout


@tortured_before
def test_some_commands_hold_under_odd_starts(fake_nvml: object) -> None:  # noqa: ARG001 -- skips without a compiler
    command = (sys.executable, SCRIPTS / "torture", "--part", "commands", "--sample", "6", "explain", "index", "schema")
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 of 6 cells hold" in done.stdout


@tortured_before
def test_some_odd_words_are_taken_or_refused_by_every_command(fake_nvml: object) -> None:  # noqa: ARG001 -- skips without a compiler
    command = (sys.executable, SCRIPTS / "torture", "--short", "--part", "arguments")
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 of 8 cells hold" in done.stdout


def test_the_arguments_of_every_command_are_tried() -> None:
    tried = set(arguments.parameters())
    assert {("check",), ("fleet", "merge"), ("schema",)} <= {command for command, _ in tried}
    assert {(("check",), "--level"), (("diagnose",), ""), (("plan",), "--write"), (("fleet", "check"), "--hostfile")} <= tried
