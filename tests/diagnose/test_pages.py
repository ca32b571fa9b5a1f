"""Every rule's page has its sections, and its commands can be pasted."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable

from gpudoctor import rule_pages
from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rules import RULES
from tests.seams.debian import DriverLibraries
from tests.seams.every import every

SECTIONS = ["Symptoms", "Why", "Check by hand", "Fix", "References"]
CONSOLE = re.compile(r"^ *```console\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
TYPED = re.compile(r"^ *\$ (.*)$", re.MULTILINE)
WIDEST = 80
LONGEST = 75  # lines
NOT_WRAPPED = re.compile(r"^ *([|#*$>\d-]|```)|`|https?://")
"""Beginnings or parts of lines that are not prose to wrap: tables, lists, code and links."""

QUERIED = re.compile(r"--query-(?:gpu|compute-apps)=([\w.,]+)")
SHOWN = re.compile(r"nvidia-smi [^|;&`\n]*?-d ([A-Z_,]+)")
SECTIONS_OF_SMI = b"memory,utilization,ecc,"

every_page = every("rule", RULES)


def section(rule: Rule, name: str) -> str:
    return rule_pages.read_rule_page(rule).split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]


@every_page
def test_a_page_has_its_five_sections_in_order(rule: Rule) -> None:
    assert re.findall(r"^## (.*)$", rule_pages.read_rule_page(rule), re.MULTILINE) == SECTIONS
    assert all(section(rule, name).strip() for name in SECTIONS)
    assert "FILL IN" not in rule_pages.read_rule_page(rule)
    assert "<!--" not in rule_pages.read_rule_page(rule)


@every_page
def test_a_page_shows_symptoms_what_to_type_and_how_to_verify_the_fix(rule: Rule) -> None:
    symptoms = re.findall(r"^- .*", section(rule, "Symptoms"), re.MULTILINE)
    assert symptoms
    assert len(symptoms) == len(set(symptoms))
    assert re.search(r"```console\n[$>#] ", section(rule, "Check by hand")), "no command to check by hand"
    assert "Verify" in section(rule, "Fix")
    assert set(re.findall(r"--only (GD\d+)", section(rule, "Fix"))) <= {rule.code}


@every_page
def test_what_a_page_shows_as_typed_is_what_a_shell_reads(rule: Rule) -> None:
    for block in CONSOLE.findall(rule_pages.read_rule_page(rule)):
        for command in TYPED.findall(block):
            done = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{command}: {done.stderr}"


@every_page
def test_a_page_names_rules_that_exist_and_primary_sources(rule: Rule) -> None:
    codes = {one.code for one in RULES}
    assert set(re.findall(r"\bGD\d{3}\b", rule_pages.read_rule_page(rule))) <= codes
    sources = section(rule, "References").strip().splitlines()
    assert all(line.startswith("- https://") for line in sources), sources


@every_page
def test_a_page_is_a_screen_and_a_half_of_wrapped_prose(rule: Rule) -> None:
    lines = rule_pages.read_rule_page(rule).splitlines()
    assert len(lines) <= LONGEST
    code = CONSOLE.sub("", rule_pages.read_rule_page(rule))
    assert not [line for line in code.splitlines() if len(line) > WIDEST and not NOT_WRAPPED.search(line)]


def test_pages_ask_nvidia_smi_only_for_fields_and_sections_that_it_has(driver_libraries: Callable[[str], DriverLibraries]) -> None:
    program = driver_libraries("550").smi.read_bytes()
    start = program.index(SECTIONS_OF_SMI)
    sections = program[start : program.index(b"\0", start)].decode().upper().split(",")
    pages = {rule.name: rule_pages.read_rule_page(rule) for rule in RULES}
    fields = {(name, field) for name, text in pages.items() for found in QUERIED.findall(text) for field in found.split(",")}
    shown = {(name, section) for name, text in pages.items() for found in SHOWN.findall(text) for section in found.split(",")}
    assert len(fields) > 50
    assert len(shown) > 20
    assert not {(name, field) for name, field in fields if f"{field}\0".encode() not in program}
    assert not {(name, section) for name, section in shown if section not in sections}
