"""`gpudoctor compat` as a user meets it: the page, the documents, the exit codes, the refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import document, run, sentence

BROKEN = ("compat", "tensorflow[and-cuda]==2.16.1", "--gpu", "GTX 1080", "--driver", "470.57.02", "--python-version", "3.11")
FINE = ("compat", "torch==2.5.1", "--gpu", "RTX 4090", "--driver", "550.54.14", "--python-version", "3.11")


def test_broken_opens_with_the_verdict_and_the_root_cause_and_shows_what_was_taken() -> None:
    ended = run(*BROKEN)
    lines = ended.stdout.decode().splitlines()
    assert ended.returncode == 1
    assert lines[0].startswith("✗ BROKEN GD203  ")
    text = "\n".join(lines)
    assert "GPU          NVIDIA GeForce GTX 1080, compute capability 6.1  [matrix:" in text
    assert "470.57.02, which supports CUDA 11.4" in text
    assert "tensorflow[and-cuda]  2.16.1    as stated" in text
    assert "nvidia-cudnn-cu12     8.9.7.29  for tensorflow[and-cuda] 2.16.1" in text
    assert "525.60.13" in text
    assert "Verify" not in text
    assert all(len(line) <= 80 or line.startswith("    python3.") for line in lines), "only a command is never broken"
    assert ended.stderr == b""


def test_ready_says_how_far_that_goes() -> None:
    ended = run(*FINE)
    assert ended.returncode == 0
    text = ended.stdout.decode()
    assert text.startswith("✓ READY  1 × NVIDIA GeForce RTX 4090")  # noqa: RUF001 -- a cross counts
    assert "\n  No conflict is known; nothing was tried" in text
    assert run(*FINE, "--format", "oneline").stdout == b"READY no conflict is known; nothing was tried\n"


def test_verbose_leaves_nothing_out() -> None:
    short, full = (run(*BROKEN, *more).stdout.decode() for more in ((), ("-v",)))
    assert short.endswith("; -v shows everything\n")
    assert "-v shows everything" not in full
    assert set(short.splitlines()) & set(full.splitlines())
    assert len(full.splitlines()) > len(short.splitlines())


def test_the_document_is_the_one_that_check_writes() -> None:
    ended = run(*BROKEN, "--format", "json")
    report = document("report", ended.stdout)
    assert (report["command"], report["verdict"], report["exit_code"]) == ("compat", "broken", ended.returncode)
    assert report["policy"]["level"] is None
    assert report["examined"]["python"] is None
    assert report["ladder"] == []
    assert report["proved_to"]["rung"] is None
    assert (report["findings"][0]["name"], report["findings"][0]["because_of"]) == ("driver-too-old", [])
    assert report["snapshot"]["origin"] == "supposed"
    assert {"what": "Python", "value": "3.11", "where": "--python-version", "type": "supposed"} in report["snapshot"]["supposed"]


def test_a_release_that_no_table_knows_is_not_judged() -> None:
    ended = run("compat", "torch==99.0", "--format", "json")
    report = document("report", ended.stdout)
    assert (ended.returncode, report["verdict"]) == (3, "unknown")
    assert report["because"] == "torch 99.0 was not checked: 99.0 is newer than 2.15.0, the newest known release"
    (one,) = report["not_judged"]
    assert (one["subject"]["key"], one["what"], one["reason"]) == (
        "torch",
        "torch 99.0",
        "99.0 is newer than 2.15.0, the newest known release",
    )


def test_what_was_not_judged_is_in_the_headline() -> None:
    asked = ("compat", "torch==2.5.1", "tensroflow-text==2.16.1")
    said = "tensroflow-text 2.16.1 was not checked: no table lists this package (did you mean tensorflow-text?)"
    text = run(*asked)
    assert text.returncode == 3
    assert " ".join(text.stdout.decode().split()).startswith(f"? UNKNOWN {said.replace('-text?', '?')}")
    assert run(*asked, "--format", "oneline").stdout == b"UNKNOWN tensroflow-text 2.16.1 was not checked: no table lists this package...\n"


def test_junit_oneline_output_and_rules_as_with_check(tmp_path: Path) -> None:
    assert run(*BROKEN, "--format", "junit").stdout.startswith(b"<?xml")
    oneline = run(*BROKEN, "--format", "oneline").stdout
    assert oneline.startswith(b"BROKEN GD203 ")
    assert len(oneline) <= 81
    file = tmp_path / "report.json"
    ended = run(*BROKEN, "--format", "json", "-o", str(file))
    assert (ended.stdout, ended.stderr, ended.returncode) == (b"", oneline, 1)
    document("report", file.read_bytes())
    assert run(*BROKEN, "--format", "json", "-o", str(file), "--quiet").stderr == b""
    skipped = run(*BROKEN, "--skip", "GD203=the driver comes next week")
    assert "Skipped: GD203 driver-too-old (the driver comes next week)" in skipped.stdout.decode()


REFUSED = [
    ((), "REQ"),
    (("torch==2.8.0", "--extra", "gpu"), "name the file with -r"),
    (("-r", "/no/such/requirements.txt"), "cannot be read: No such file or directory"),
    (("-r", "/dev/zero"), "Not a regular file"),
    (("torch=2",), "not a requirement"),
    (("torch==2.5.1", "torch==2.4.0"), "contradict each other"),
    (("torch @ https://download.pytorch.org/torch.whl",), "is a file or an address"),
    (("torch>=99",), "No release of torch"),
    (("pytorch==2.5.1",), "did you mean torch?"),
    (("tensroflow",), "did you mean tensorflow?"),
    (("troch==2.5.1",), "did you mean torch?"),
    (("tensorflow2==2.16.1",), "did you mean tensorflow?"),
    (("packages.txt",), "is a file name; state what it lists"),
    (("envs/packages",), "is a file or an address"),
    (("cudatoolkit==11.8", "torch"), "--system-cuda"),
    (("torch", "--gpu", "RTX 4091"), "did you mean"),
    (("torch", "--gpu", "4090", "--cc", "8.6"), "contradicts"),
    (("torch", "--cc", "8"), "not a compute capability"),
    (("torch", "--python-version", "three"), "not a Python version"),
    (("torch", "--os", "beos"), "--os"),
    (("torch", "--os", "windows", "--arch", "ppc64le"), "--arch ppc64le"),
    (("torch", "--system-cuda", "11.9"), "no such CUDA version"),
    (("torch", "--system-cudnn", "eight"), "not a cuDNN version"),
    (("torch", "--compat", "/no/such/folder"), "/no/such/folder"),
    (("torch", "--only", "no-such-rule"), "no-such-rule"),
    (("torch", "--fail-on", "note"), "--fail-on"),
    (("torch", "-o", "/no/such/folder/file"), "is not a folder"),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED)
def test_what_cannot_be_is_one_sentence_and_one_document(arguments: tuple[str, ...], words: str) -> None:
    ended = run("compat", *arguments, "--format", "json")
    assert ended.returncode == 2
    said = sentence(ended.stderr)
    assert words in said
    error = document("error", ended.stdout)["error"]
    assert said == f"gpudoctor: {error['message']}\n"


def test_without_json_there_is_no_document() -> None:
    ended = run("compat", "torch=2")
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert "not a requirement" in sentence(ended.stderr)


def test_matrix_shows_a_gpu_with_where_that_was_read() -> None:
    text = run("matrix", "gpu", "rtx 4090").stdout.decode()
    assert text.startswith("NVIDIA GeForce RTX 4090\n")
    assert "Compute capability" in text
    assert "8.9" in text
    assert "\nSources\n" in text
    assert "https://" in text
    assert "\nDrivers\n  Oldest branch  520 " in text
    assert "\nWheels with kernels for it (linux_x86_64)\n" in text
    assert "  torch  " in text


@pytest.mark.parametrize("subject", ["gpu", "driver", "cuda", "cudnn", "framework"])
def test_matrix_without_a_name_lists_what_it_knows(subject: str) -> None:
    lines = run("matrix", subject).stdout.decode().splitlines()
    rows = document("matrix", run("matrix", subject, "--format", "json").stdout)["rows"]
    assert len(lines) == 1 + len(rows) + 2
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith(f"One with its sources: gpudoctor matrix {subject} ")
    name = {"gpu": "name", "driver": "branch", "framework": "distribution"}.get(subject, "release")
    assert run("matrix", subject, str(rows[-1][name])).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "column", "values"),
    [
        (("gpu", "a100-sxm4-80gb"), "compute_capability", {"8.0"}),
        (("driver", "535.104.05"), "cuda_served", {"12.2"}),
        (("driver", "550"), "branch", {550}),
        (("cuda", "12.4"), "driver_linux", {"550.54.14", "550.54.15"}),
        (("cuda", "12.4.127"), "release", {"12.4.1"}),
        (("cuda", "12.3.2"), "release", {"12.3.2"}),
        (("framework", "tensorflow", "2.15.0.post1"), "release", {"2.15.0.post1"}),
        (("framework", "tensorflow", "2.15.0"), "release", {"2.15.0"}),
        (("framework", "torch", "2.9.0+cu130"), "release", {"2.9.0+cu130"}),
        (("framework", "torch", "2.9.0+cu130"), "built_with_cuda", {"13.0"}),
        (("gpu", "NVIDIA A100-SXM4-40GB MIG 1g.5gb"), "memory_gib", {5.0}),
        (("gpu", "GRID T4-16C"), "compute_capability", {"7.5"}),
        (("framework", "torch", "2.5.1"), "built_with_cuda", {"12.4", None}),
        (("framework", "Torch"), "distribution", {"torch"}),
    ],
)
def test_matrix_rows_for_programs(arguments: tuple[str, ...], column: str, values: set[object]) -> None:
    found = document("matrix", run("matrix", *arguments, "--format", "json").stdout)
    assert found["subject"] == arguments[0]
    assert {row[column] for row in found["rows"]} <= values
    assert found["rows"]
    named = {identifier for row in [*found["rows"], found["support"] or {"source": []}] for identifier in row["source"]}
    assert named == {source["id"] for source in found["sources"]}


@pytest.mark.parametrize("name", ["torch", "tensorflow"])
def test_matrix_of_a_whole_framework_fits_the_page(name: str) -> None:
    lines = run("matrix", "framework", name).stdout.decode().splitlines()
    assert lines[0].split()[:3] == ["release", "platform", "Python"]
    assert all(len(line) <= 80 or " " not in line.strip() for line in lines)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("gpu", "RTX 4091"), "GeForce RTX 40"),
        (("gpu", "zzzzzz"), "`gpudoctor matrix gpu` lists them"),
        (("gpu", "RX 7900 XTX"), "a GPU of AMD"),
        (("driver", "1.0"), "no driver '1.0'; the branches go from 367 to "),
        (("driver", "new"), "no driver 'new'"),
        (("cuda", "12.99"), "no CUDA '12.99'"),
        (("cudnn", "99"), "no cuDNN '99'"),
        (("framework", "pytorch"), "did you mean torch?"),
        (("framework", "tf"), "did you mean tensorflow?"),
        (("framework", "cupy-cuda12"), "did you mean cupy-cuda1"),
        (("framework", "requests"), "`gpudoctor matrix framework` lists the packages"),
        (("framework", "torch", "99"), "no torch 99"),
        (("framework", "torch", "x"), "no torch x"),
        (("gpu", "4090", "1.0"), "Only a framework takes a version"),
        (("gpus", "4090"), "did you mean gpu?"),
        (("torch", "2.5.1"), "did you mean `gpudoctor matrix framework torch 2.5.1`?"),
        (("torch==2.5.1",), "did you mean `gpudoctor matrix framework torch 2.5.1`?"),
        (("h100",), "did you mean `gpudoctor matrix gpu h100`?"),
        (("rtx", "4090"), "did you mean `gpudoctor matrix gpu 'rtx 4090'`?"),
        (("planet", "earth"), "one of gpu, driver, cuda, cudnn, framework"),
    ],
)
def test_matrix_of_what_it_does_not_know(arguments: tuple[str, ...], words: str) -> None:
    ended = run("matrix", *arguments, "--format", "json")
    assert ended.returncode == 2
    assert words in sentence(ended.stderr)
    assert json.loads(ended.stdout)["error"]["kind"] == "usage"
