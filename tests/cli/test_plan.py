"""`gpudoctor plan` and `gpudoctor index` as a user meets them: the page, the documents, the exit codes, the refusals."""

from __future__ import annotations

import pytest

from tests.cli.command import document, run, sentence

PASCAL = ("--gpu", "GTX 1080", "--driver", "535.104.05", "--python-version", "3.12")
OFFLINE = "--offline"
KEPLER = ("--gpu", "Tesla K80", "--driver", "580.65.06")


def test_the_page_has_the_answer_the_pins_with_reasons_and_the_commands() -> None:
    ended = run("plan", OFFLINE, "torch<=2.15.0", "torchvision<=0.29.2", *PASCAL)
    assert (ended.returncode, ended.stderr) == (0, b"")
    text = ended.stdout.decode()
    assert text.startswith("✓ READY  torch 2.15.0 for CUDA 12.6 works on this machine.\n")
    assert "  torch        2.15.0+cu126  the newest release that satisfies torch<=2.15.0\n" in text
    assert "  torchvision  0.29.2+cu126  the release for torch 2.15.0\n" in text
    assert "\nuv\n  uv venv --python 3.12 .venv && uv pip install" in text
    assert text.endswith("\nPlanned from the tables alone (--offline).\n")
    prose = [line for line in text.splitlines() if "pip install" not in line]
    assert all(len(line) <= 80 for line in prose)


def test_nothing_that_works_exits_with_1_and_names_the_driver() -> None:
    ended = run("plan", OFFLINE, "torch<=2.15.0", *KEPLER)
    assert ended.returncode == 1
    text = ended.stdout.decode()
    assert text.startswith("✗ BROKEN  No build of torch<=2.15.0 works on this machine:")
    assert "\nWith a driver of branch 470\n  torch 2.7.1 for CUDA 11.8 works.\n" in text


def test_the_document_is_valid_and_says_what_the_page_says() -> None:
    for asked, code in ((PASCAL, 0), (KEPLER, 1)):
        ended = run("plan", OFFLINE, "torch<=2.15.0", *asked, "--format", "json")
        plan = document("plan", ended.stdout)
        assert (plan["exit_code"], ended.returncode) == (code, code)
        assert (plan["environment"] is None) is (code == 1)


def test_this_machine_is_looked_at_if_none_is_stated() -> None:
    plan = document("plan", run("plan", OFFLINE, "torch<=2.15.0", "--format", "json").stdout)
    assert {one["where"] for one in plan["machine"]} == {"this machine"}
    assert plan["environment"]["python_reason"] == "the version on this machine"


def test_index_prints_one_line() -> None:
    for more, line in (((), b"https://download.pytorch.org/whl/cu126\n"), (("--torch-backend",), b"cu126\n")):
        ended = run("index", "torch<=2.15.0", *PASCAL, *more)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, line, b"")
    assert run("index", "torch", "--gpu", "none").stdout == b"https://download.pytorch.org/whl/cpu\n"
    assert run("index", "torch==2.15.0", "--gpu", "L4").stdout == b"https://download.pytorch.org/whl/cu132\n"


def test_index_without_an_answer_prints_the_reason_to_standard_error() -> None:
    ended = run("index", "torch", *KEPLER)
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert "does not support GPU 0 Tesla K80" in sentence(ended.stderr)
    found = document("index", run("index", "torch", *KEPLER, "--format", "json").stdout)
    assert (found["index"], found["exit_code"]) == ("", 1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plan", "torch", "--gpu", "L4", "--driver", "535"), "is a branch"),
        (("plan", "torch", "--gpu", "GTX 9999"), "No GPU in the tables"),
        (("plan", "torch>=99", "--gpu", "L4"), "they list"),
        (("plan", "transformers", "--gpu", "L4"), "No table lists transformers"),
        (("index", "tensorflow", "--gpu", "L4"), "has no package index of its own"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_the_next_step(arguments: tuple[str, ...], said: str) -> None:
    ended = run(*arguments)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert said in sentence(ended.stderr)
