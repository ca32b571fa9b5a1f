"""`gpudoctor fleet merge`, as it is run."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gpudoctor.report.schema import document_schema
from tests.cli.command import run, sentence
from tests.fleet import generated
from tests.fleet.reports import report


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("reports")
    names, planted = generated.plan(30, seed=5)
    for name, data in generated.reports(names, planted, 5):
        (place / f"{name}.json").write_bytes(data)
    return place


def test_a_folder_becomes_one_valid_document(folder: Path, tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("hostfile", "nodelist", "labels")}
    ended = run("fleet", "merge", str(folder), "--format", "json", *(f"--{name}={file}" for name, file in files.items()))
    assert ended.returncode == 1
    document = json.loads(ended.stdout)
    Draft202012Validator(document_schema("fleet")).validate(document)
    assert (document["verdict"], len(document["nodes"]), document["exit_code"]) == ("broken", 30, 1)
    assert files["hostfile"].read_text().split() == document["usable"]["names"]
    assert files["nodelist"].read_text() == document["usable"]["folded"] + "\n"
    assert files["labels"].read_text().count("---") == 30


def test_a_dash_is_standard_output(folder: Path, tmp_path: Path) -> None:
    told = run("fleet", "merge", str(folder), "-o", "-", cwd=tmp_path)
    assert told.stdout == run("fleet", "merge", str(folder)).stdout
    hosts = run("fleet", "merge", str(folder), "-o", "told", "--hostfile", "-", cwd=tmp_path)
    assert hosts.stdout.count(b"\n") == 29
    assert [path.name for path in tmp_path.iterdir()] == ["told"]


@pytest.mark.parametrize("options", [("--hostfile", "-"), ("-o", "same", "--labels", "same"), ("--html", "same", "--prometheus", "./same")])
def test_two_results_in_one_place_are_refused(options: tuple[str, ...], folder: Path, tmp_path: Path) -> None:
    ended = run("fleet", "merge", str(folder), *options, cwd=tmp_path)
    assert ended.returncode == 2
    assert "cannot both be written to" in sentence(ended.stderr)
    assert not list(tmp_path.iterdir())


def test_enough_nodes_are_enough(folder: Path) -> None:
    assert run("fleet", "merge", str(folder), "--require", "nodes>=29").returncode == 0
    ended = run("fleet", "merge", str(folder), "--require", "nodes>=30")
    assert ended.returncode == 1
    assert b"nodes>=30: not met, 29 nodes are usable" in ended.stdout


def test_a_pipe_of_reports_is_read(tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(b"\n".join(report(created=f"2026-11-21T04:00:0{number}Z") for number in range(3))))
    ended = run("fleet", "merge", "-", shell_redirect=f"< {packed}")
    assert ended.returncode == 0
    assert b"READY" in ended.stdout


def test_a_golden_report_is_the_reference(folder: Path, tmp_path: Path) -> None:
    golden = tmp_path / "golden.json"
    golden.write_bytes(generated.Template(generated.HEALTHY, generated.DRIFTS["power limit"]).filled(random.Random(1)))
    ended = run("fleet", "merge", str(folder), "--golden", str(golden))
    assert b"Different from" in ended.stdout
    assert "power limit 350 W → 400 W" in ended.stdout.decode()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("/no/such/folder",), "cannot be read"),
        (("/dev/zero",), "is a device"),
        ((".", "--require", "same:drivr"), "did you mean driver?"),
        ((".", "--golden", "/no/such/file"), "/no/such/file"),
        ((".", "--golden", "README.md"), "holds no gpudoctor report"),
        ((".", "-o", "/no/such/folder/file"), "is not a folder"),
        ((".", "--hostfile", "/no/such/folder/file"), "is not a folder"),
        ((), "PATH"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    ended = run("fleet", "merge", *(str(tmp_path) if argument == "." else argument for argument in arguments))
    assert ended.returncode == 2
    assert words in sentence(ended.stderr)


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    ended = run("fleet", "merge", str(tmp_path))
    assert ended.returncode == 2
    assert "No report was found" in sentence(ended.stderr)
