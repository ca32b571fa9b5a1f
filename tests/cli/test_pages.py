"""Documentation from the code: explain, rules, schema, help."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from jsonschema import Draft202012Validator

from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rules import RULES
from gpudoctor.exit_meanings import EXIT_CODES
from gpudoctor.manual.families import NAMES
from gpudoctor.report.schema import DOCUMENTS
from gpudoctor.rule_pages import read_rule_page
from tests.cli.command import document, environment, in_terminal, run, sentence


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


def test_explain_in_a_terminal_without_colour_is_laid_out_without_escape_codes() -> None:
    _, shown = in_terminal("explain", "GD203", stream="stdout", NO_COLOR="1", COLUMNS="80")
    assert "\x1b" not in shown
    assert "| --- |" not in shown
    assert max(len(line.rstrip()) for line in shown.splitlines()) <= 80


def test_explain_in_ascii_spells_out_what_ascii_lacks() -> None:
    shown = run("explain", "GD203", env=environment(PYTHONIOENCODING="ascii")).stdout.decode("ascii")
    assert 'blocks the stage "framework sees it"' in shown
    assert "\\u" not in shown


def test_explain_json() -> None:
    (page,) = document("rules", run("explain", "GD101", "--format", "json").stdout)["rules"]
    assert (page["code"], page["name"], page["severity"], page["url"].rpartition("/")[2]) == ("GD101", "no-gpu", "error", "no_gpu.md")


def test_explain_something_unknown_suggests_the_nearest() -> None:
    ended = run("explain", "driver-to-old", "--format", "json")
    assert ended.returncode == 2
    assert "did you mean driver-too-old" in sentence(ended.stderr)
    assert "driver-too-old" in document("error", ended.stdout)["error"]["message"]
    assert "gpudoctor rules" in sentence(run("explain", "zzzzzzzz").stderr)


@pytest.mark.parametrize("text", [("CUDA", "error", "803"), ("CUDA error 803",)])
def test_explain_lists_several_pages_and_how_to_open_one(text: tuple[str, ...]) -> None:
    shown = run("explain", *text).stdout.decode()
    assert shown.startswith("CUDA error 803 (CUDA_ERROR_SYSTEM_DRIVER_MISMATCH): ")
    assert "\nGD202  driver-library-mismatch" in shown
    assert "\nOpen one: gpudoctor explain GD202\n" in shown
    made = document("rules", run("explain", *text, "--format", "json").stdout)
    assert [page["code"] for page in made["rules"]] == ["GD202", "GD217"]
    assert made["meaning"][0].startswith("CUDA error 803")


def test_explain_shows_one_page_below_what_the_line_means() -> None:
    shown = run("explain", "NVRM: Xid (PCI:0000:1f:00): 79, pid=1, GPU has fallen off the bus.").stdout.decode()
    assert shown.startswith("Xid 79 (ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS): ")
    assert "\n# GD103 gpu-fell-off-bus\n" in shown


def test_explain_an_exit_code() -> None:
    assert run("explain", "exit-3").stdout.startswith(b"# Exit code 3: unknown\n")
    shown = run("explain", "exit-codes").stdout.decode()
    assert all(f"\n## {exit_code.label}: {exit_code.short}\n" in shown for exit_code in EXIT_CODES)
    (code,) = document("rules", run("explain", "exit-130", "--format", "json").stdout)["exit_codes"]
    assert code["codes"] == [129, 130, 143]


def test_explain_the_guide_for_agents() -> None:
    shown = run("explain", "agents").stdout.decode()
    assert shown.startswith("# For agents\n")
    assert document("rules", run("explain", "agents", "--format", "json").stdout)["guide"] == shown


def test_the_example_for_agents_prints_what_the_guide_says() -> None:
    done = run("compat", "torch==2.8.0", "--gpu", "GTX 1080", "--driver", "470.57.02", "--format", "json")
    finding = json.loads(done.stdout)["findings"][0]
    printed = "".join(f"- {line}\n" for line in (finding["message"], *(fix["title"] for fix in finding["fixes"])))
    assert done.returncode == 1
    assert f"\n\n{printed}\n" in run("explain", "agents").stdout.decode()


@pytest.mark.parametrize("columns", ["60", "80", "120"])
@pytest.mark.parametrize("text", [("CUDA error 803",), ("exit-codes",), ("GD203",), ("agents",)])
def test_explain_fits_a_terminal(text: tuple[str, ...], columns: str) -> None:
    _, shown = in_terminal("explain", *text, stream="stdout", COLUMNS=columns)
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in shown.splitlines()]
    wide = [line for line in lines if len(line.rstrip()) > int(columns)]
    assert all(line.startswith("  ") or " " not in line.strip(" •") for line in wide), wide  # commands and addresses are not wrapped


def test_rules_lists_every_rule_below_its_family() -> None:
    lines = run("rules").stdout.decode().splitlines()
    headings = [line for line in lines if line and not line.startswith("GD")]
    assert [heading.partition(":")[0].lower() for heading in headings] == list(NAMES)
    assert [line.split()[:3] for line in lines if line.startswith("GD")] == [[rule.code, rule.severity.value, rule.name] for rule in RULES]
    pages = document("rules", run("rules", "--format", "json").stdout)["rules"]
    assert [f"# {page['code']} {page['name']}\n\n{page['doc']}" for page in pages] == [read_rule_page(rule) for rule in RULES]


@pytest.mark.parametrize("columns", ["70", "80", "120"])
def test_rules_wraps_at_the_width_of_a_terminal(columns: str) -> None:
    _, shown = in_terminal("rules", stream="stdout", COLUMNS=columns, NO_COLOR="1")
    assert max(map(len, shown.splitlines())) <= int(columns)
    words = " ".join(shown.split())
    assert all(f"{rule.code} {rule.severity.value} {rule.name} {rule.title}" in words for rule in RULES)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("driver",), lambda rule: rule.code.startswith("GD2")),
        (("GD2", "multi_gpu"), lambda rule: rule.code[:3] in {"GD2", "GD8"}),
        (("--severity", "note"), lambda rule: rule.severity.value == "note"),
        (("hardware", "--severity", "error"), lambda rule: rule.code.startswith("GD1") and rule.severity.value == "error"),
    ],
)
def test_rules_of_a_family_or_a_severity(arguments: tuple[str, ...], wanted: Callable[[Rule], bool]) -> None:
    pages = document("rules", run("rules", *arguments, "--format", "json").stdout)["rules"]
    assert [page["code"] for page in pages] == [rule.code for rule in RULES if wanted(rule)]
    listed = [line.split()[0] for line in run("rules", *arguments).stdout.decode().splitlines() if line.startswith("GD")]
    assert listed == [page["code"] for page in pages]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("drivers",), "did you mean driver?"), (("zzz",), "the families are hardware"), (("--severity", "bad"), "'error'")],
)
def test_rules_of_an_unknown_family_or_severity(arguments: tuple[str, ...], words: str) -> None:
    ended = run("rules", *arguments)
    assert ended.returncode == 2
    assert words in sentence(ended.stderr)


@pytest.mark.parametrize("name", ["report", "snapshot", "error", "rules"])
def test_schema_prints_a_schema(name: str) -> None:
    made = json.loads(run("schema", name).stdout)
    Draft202012Validator.check_schema(made)
    assert made["$id"] == f"urn:gpudoctor:{name}:1"


def test_every_document_s_schema_can_be_asked_for() -> None:
    refused = run("schema", "nope").stderr.decode()
    assert set(re.findall(r"'(\w+)'", refused)) == {"nope", *DOCUMENTS}


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
    assert f"Families: {', '.join(NAMES)}." in " ".join(run("rules", "--help").stdout.decode().split())
    assert "GPUDOCTOR_PYTHON" in help_text
