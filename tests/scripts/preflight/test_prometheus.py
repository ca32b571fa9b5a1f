"""The metrics of node_exporter's textfile collector: Prometheus' own parser and linter, and its alerts over made-up time."""

from __future__ import annotations

import json
import shutil
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families as parse

from gpudoctor.examination import Examination
from gpudoctor.report import document
from gpudoctor.report.build import build_report
from tests.machines import store
from tests.machines.diagnoses import diagnosis
from tests.scripts.preflight import BROKEN, MEMORY, READY, RECIPES, UNKNOWN, Machine, Recipe, run

TEXTFILE = RECIPES / "prometheus" / "gpudoctor_textfile"
ALERTS = RECIPES / "prometheus" / "alerts.yaml"


@pytest.fixture
def metrics(machine: Machine, tmp_path: Path) -> Any:
    """`metrics(READY)`: the text, and the samples as {metric: [(labels, value)]}."""

    def provide(recipe: Recipe, *options: str) -> tuple[str, dict[str, list[tuple[dict[str, str], float]]]]:
        report, target = tmp_path / "report.json", tmp_path / "gpudoctor.prom"
        run(machine(recipe), "check", "--node", "--format", "json", "--quiet", "--output", report, *options)
        done = run(TEXTFILE, report, target)
        assert (done.returncode, done.stderr) == (0, "")
        assert [file.name for file in tmp_path.glob("gpudoctor.prom*")] == ["gpudoctor.prom"]
        text = target.read_text()
        return text, {family.name: [(sample.labels, sample.value) for sample in family.samples] for family in parse(text)}

    return provide


@pytest.mark.parametrize(("recipe", "verdict", "code"), [(READY, "ready", 0), (BROKEN, "broken", 1), (UNKNOWN, "unknown", 3)])
def test_the_verdict_and_what_led_to_it(recipe: Recipe, verdict: str, code: int, metrics: Any) -> None:
    _, found = metrics(recipe, *(f"--require={one}" for one in MEMORY))
    assert {labels["verdict"]: value for labels, value in found["gpudoctor_verdict"]} == {
        one: float(one == verdict) for one in ("ready", "degraded", "broken", "unknown")
    }
    assert found["gpudoctor_exit_code"] == [({}, code)]
    errors = [labels for labels, _ in found.get("gpudoctor_findings", []) if labels["severity"] == "error"]
    assert bool(errors) == (verdict == "broken")
    stages = {labels["stage"]: value for labels, value in found["gpudoctor_gpu_stage"] if labels["gpu"].endswith(":00.0")}
    assert stages["slot"] == 1
    assert stages.get("libcuda") == {"ready": 1, "broken": None, "unknown": 1}[verdict] or verdict == "broken"
    assert "kernel_ran" not in stages, "not checked, so absent"


@pytest.mark.debian
def test_prometheus_own_linter_has_nothing_to_say(metrics: Any) -> None:
    if not shutil.which("promtool"):
        pytest.skip("needs promtool: apt install prometheus")
    for recipe in (READY, BROKEN):
        text, _ = metrics(recipe)
        done = run("promtool", "check", "metrics", input=text)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert run("promtool", "check", "metrics", input="bad_total{a=1} x\n").returncode != 0


def test_no_recorded_machine_has_a_series_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # the folders of recipes stay without __pycache__
    loader = SourceFileLoader("gpudoctor_textfile", str(TEXTFILE))
    textfile = module_from_spec(cast("ModuleSpec", spec_from_loader(loader.name, loader)))
    loader.exec_module(textfile)
    for name in store.NAMES[::4]:
        examination = Examination(
            snapshot=store.recorded(name), diagnosis=diagnosis(name), policy=store.policy(name), matrix_date="2026-01-01"
        )
        report = json.loads(document.encode_document(build_report(examination)))
        families = list(parse(textfile.text(report)))
        assert {family.type for family in families} == {"gauge"}
        series = [(sample.name, *sorted(sample.labels.items())) for family in families for sample in family.samples]
        assert len(series) == len(set(series)), name


def test_a_report_that_cannot_be_read_leaves_the_old_metrics(tmp_path: Path) -> None:
    target = tmp_path / "gpudoctor.prom"
    target.write_text("old\n")
    for content in ("", "{}", "[]", '{"schema": "gpudoctor.report/1"}'):
        (tmp_path / "report.json").write_text(content)
        done = run(TEXTFILE, tmp_path / "report.json", target)
        assert done.returncode == 1
        assert done.stderr.startswith("gpudoctor_textfile: no metrics written")
        assert done.stderr.count("\n") == 1
    assert run(TEXTFILE, tmp_path / "none.json", target).returncode == 1
    assert [file.name for file in tmp_path.iterdir() if ".prom" in file.name] == ["gpudoctor.prom"]
    assert target.read_text() == "old\n"


SERIES = """
rule_files: [{alerts}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {{series: 'gpudoctor_verdict{{verdict="broken",instance="one"}}', values: '0x14 1x14 0x90'}}
      - {{series: 'gpudoctor_exit_code{{instance="two"}}', values: '0x14 3x14 1x14 3x30 4x14 0x30'}}
      - {{series: 'gpudoctor_check_timestamp_seconds{{instance="three"}}', values: '0x14 900x90'}}
    alert_rule_test:
      - {{eval_time: 14m, alertname: GpuBroken}}
      - {{eval_time: 17m, alertname: GpuBroken, exp_alerts: [{broken}]}}
      - {{eval_time: 31m, alertname: GpuBroken}}
      - {{eval_time: 29m, alertname: GpuUnknown}}
      - {{eval_time: 81m, alertname: GpuUnknown, exp_alerts: [{unknown}]}}
      - {{eval_time: 75m, alertname: GpuCheckStale}}
      - {{eval_time: 76m, alertname: GpuCheckStale, exp_alerts: [{stale}]}}
"""


@pytest.mark.debian
def test_the_alerts_fire_when_they_must(tmp_path: Path) -> None:
    if not shutil.which("promtool"):
        pytest.skip("needs promtool: apt install prometheus")
    (group,) = yaml.safe_load(ALERTS.read_bytes())["groups"]
    rules = {rule["alert"]: rule for rule in group["rules"]}

    def alert(name: str, instance: str, **labels: str) -> str:
        written = {"exp_labels": {**rules[name]["labels"], "instance": instance, **labels}, "exp_annotations": rules[name]["annotations"]}
        return json.dumps(written).replace("{{ $labels.instance }}", instance)

    alerts = {"broken": alert("GpuBroken", "one", verdict="broken"), "unknown": alert("GpuUnknown", "two")}
    (tmp_path / "tests.yaml").write_text(SERIES.format(alerts=ALERTS, stale=alert("GpuCheckStale", "three"), **alerts))
    done = run("promtool", "test", "rules", tmp_path / "tests.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
