"""Documentation from the code: explain, rules, schema, help."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from gpudoctor.diagnose.rules import RULES
from gpudoctor.rule_pages import read
from tests.cli.command import document, in_terminal, run, sentence


@pytest.mark.parametrize("name", ["GD101", "gd101", "no-gpu", "No-GPU"])
def test_explain_by_code_or_name(name: str) -> None:
    ended = run("explain", name)
    assert ended.returncode == 0
    assert ended.stdout.startswith(b"# GD101 no-gpu\n")
    assert b"## Why" in ended.stdout
    assert "since 0.1" in ended.stdout.decode()


def test_explain_in_a_terminal_draws_the_markdown() -> None:
    _, shown = in_terminal("explain", "GD101", stream="stdout")
    assert "\x1b[1m" in shown
    assert "Why" in shown
    assert "#" not in shown


def test_explain_json() -> None:
    (page,) = document("rules", run("explain", "GD101", "--format", "json").stdout)["rules"]
    assert (page["code"], page["name"], page["severity"], page["url"].rpartition("/")[2]) == ("GD101", "no-gpu", "error", "no_gpu.md")


def test_explain_something_unknown_suggests_the_nearest() -> None:
    ended = run("explain", "driver-to-old", "--format", "json")
    assert ended.returncode == 2
    assert "did you mean driver-too-old" in sentence(ended.stderr)
    assert "driver-too-old" in document("error", ended.stdout)["error"]["message"]
    assert "gpudoctor rules" in sentence(run("explain", "zzzzzzzz").stderr)


def test_rules_lists_every_rule() -> None:
    lines = run("rules").stdout.decode().splitlines()
    assert [line.split()[:3] for line in lines] == [[rule.code, rule.severity.value, rule.name] for rule in RULES]
    pages = document("rules", run("rules", "--format", "json").stdout)["rules"]
    assert [f"# {page['code']} {page['name']}\n\n{page['doc']}" for page in pages] == [read(rule) for rule in RULES]


def test_rules_fits_a_terminal() -> None:
    _, shown = in_terminal("rules", stream="stdout", COLUMNS="70")
    assert len(shown.splitlines()) == len(RULES)


@pytest.mark.parametrize("name", ["report", "snapshot", "error", "rules"])
def test_schema_prints_a_schema(name: str) -> None:
    made = json.loads(run("schema", name).stdout)
    Draft202012Validator.check_schema(made)
    assert made["$id"] == f"urn:gpudoctor:{name}:1"


def test_schema_of_the_report_is_the_default() -> None:
    assert run("schema").stdout == run("schema", "report").stdout


def test_help_names_every_command_and_every_option() -> None:
    overview = run("--help").stdout.decode()
    assert all(f"\n  {command} " in overview for command in ("check", "explain", "rules", "schema"))
    assert "Exit codes" in overview
    assert "..." not in overview.replace("[ARGS]...", "")
    help_text = run("check", "-h").stdout.decode()
    options = "level no-smoke allow-cpu python format output only skip fail-on timeout compat config identify force quiet no-color"
    assert all(f"--{option}" in help_text for option in options.split())
    assert "--root" not in help_text
    assert "GPUDOCTOR_PYTHON" in help_text
