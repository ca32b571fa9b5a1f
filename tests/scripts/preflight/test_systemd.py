"""The service and the timer: systemd's own check, and the commands of the service, run."""

from __future__ import annotations

import configparser
import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from tests.scripts.preflight import BROKEN, READY, RECIPES, Machine, Recipe, run

UNITS = RECIPES / "systemd"


def test_systemd_accepts_the_units_and_would_refuse_others(tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("needs systemd: apt install systemd")
    for unit in UNITS.iterdir():
        (tmp_path / unit.name).write_text(unit.read_text().replace("/opt/gpudoctor/bin/gpudoctor", "/bin/true"))
    done = run("systemd-analyze", "verify", tmp_path / "gpudoctor.timer", tmp_path / "gpudoctor.service")
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    with (tmp_path / "gpudoctor.service").open("a") as file:
        file.write("ProtectEverything=yes\n")
    assert "ProtectEverything" in run("systemd-analyze", "verify", tmp_path / "gpudoctor.service").stderr


@pytest.mark.parametrize(("recipe", "code"), [(READY, 0), (BROKEN, 1)])
def test_the_commands_of_the_service_run(recipe: Recipe, code: int, machine: Machine, tmp_path: Path) -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(UNITS / "gpudoctor.service")
    places = {
        "/opt/gpudoctor/bin/gpudoctor_textfile": str(RECIPES / "prometheus" / "gpudoctor_textfile"),
        "/opt/gpudoctor/bin/python": sys.executable,
        "/opt/gpudoctor/bin/gpudoctor": str(machine(recipe)),
        "/var/lib/gpudoctor": str(tmp_path),
        "/var/lib/prometheus/node-exporter": str(tmp_path),
    }
    commands = []
    for key in ("ExecStart", "ExecStopPost"):
        text = unit["Service"][key].lstrip("-").replace("--wait 60", "--wait 1")
        for place, here in places.items():
            text = text.replace(place, here)
        commands.append(shlex.split(text))
    assert run(*commands[0]).returncode == code
    assert run(*commands[1]).returncode == 0
    assert json.loads((tmp_path / "report.json").read_bytes())["exit_code"] == code
    assert f"gpudoctor_exit_code {code}\n" in (tmp_path / "gpudoctor.prom").read_text()
