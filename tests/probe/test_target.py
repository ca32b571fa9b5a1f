"""Which interpreter is examined."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpudoctor.errors import UsageError
from gpudoctor.probe.target import chosen_target, named_target, suggested_target


def interpreter(place: Path, name: str = "python") -> str:
    place.mkdir(parents=True, exist_ok=True)
    file = place / name
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return str(file)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    for prefix in ("venv", "conda"):
        interpreter(tmp_path / prefix / "bin")
    interpreter(tmp_path / "path")
    folders = ("", ".", str(tmp_path / "nowhere"), str(tmp_path / "path"))
    return {"VIRTUAL_ENV": str(tmp_path / "venv"), "CONDA_PREFIX": str(tmp_path / "conda"), "PATH": os.pathsep.join(folders)}


def test_the_first_of_five(environ: dict[str, str], tmp_path: Path) -> None:
    found = suggested_target("/own/python", environ, own_has_framework=True)
    assert (found.executable, "beside a framework" in found.why) == ("/own/python", True)
    order = [
        ("VIRTUAL_ENV", str(tmp_path / "venv/bin/python"), "active virtual environment"),
        ("CONDA_PREFIX", str(tmp_path / "conda/bin/python"), "active conda environment"),
        ("PATH", str(tmp_path / "path/python"), "first python on PATH"),
        ("", "/own/python", "gpudoctor's own"),
    ]
    for taken_away, executable, why in order:
        found = suggested_target("/own/python", environ)
        assert found.executable == executable
        assert why in found.why
        environ[taken_away] = ""


def test_a_broken_active_environment_is_skipped_and_named(environ: dict[str, str]) -> None:
    found = suggested_target("/own/python", {**environ, "VIRTUAL_ENV": "/deleted/venv"})
    assert found.executable.endswith("conda/bin/python")
    assert "/deleted/venv has no interpreter" in found.why


def test_python3_if_path_has_no_python(tmp_path: Path) -> None:
    executable = interpreter(tmp_path, "python3")
    assert suggested_target("/own", {"PATH": str(tmp_path)}).executable == executable


def test_our_own_folder_first_on_path_is_not_the_users_choice(tmp_path: Path) -> None:
    own, theirs = interpreter(tmp_path / "own"), interpreter(tmp_path / "theirs")
    assert suggested_target(own, {"PATH": f"{tmp_path}/own:{tmp_path}/theirs"}).executable == theirs


def test_nothing_is_taken_from_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interpreter(tmp_path)
    interpreter(tmp_path / "bin")
    monkeypatch.chdir(tmp_path)
    assert suggested_target("/own", {"VIRTUAL_ENV": ".", "PATH": ":.:./"}).executable == "/own"


def test_named_interpreter_folder_and_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable = interpreter(tmp_path / "bin", "python3")
    monkeypatch.chdir(tmp_path)
    for path in (executable, str(tmp_path), "bin/python3", "."):
        assert named_target(path).executable == executable
    assert named_target("python3", [str(tmp_path / "bin")]).executable == executable


def test_a_virtual_environments_link_is_not_resolved(tmp_path: Path) -> None:
    real = interpreter(tmp_path / "usr", "python3.11")
    (tmp_path / "venv/bin").mkdir(parents=True)
    (tmp_path / "venv/bin/python").symlink_to(real)
    assert named_target(str(tmp_path / "venv")).executable == str(tmp_path / "venv/bin/python")


@pytest.mark.parametrize("path", ["none", "/none", "", "empty", "text", "dangling", os.fsdecode(b"\xff"), "a\0b"])
def test_a_target_that_cannot_start_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("no program")
    (tmp_path / "dangling").symlink_to("nowhere")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        named_target(path)
    sentence = str(caught.value)
    assert sentence.startswith("--python ")
    assert sentence.endswith("name an interpreter or the folder of an environment.")
    assert "\n" not in sentence
    sentence.encode()


def test_our_own_environment_only_counts_with_a_framework(tmp_path: Path) -> None:
    site = tmp_path / "lib/site-packages"
    (site / "tensorflow_hub-0.16.0.dist-info").mkdir(parents=True)
    executable = interpreter(tmp_path / "path")
    environ = {"PATH": str(tmp_path / "path")}
    assert chosen_target(None, environ, "/own", [str(site)]).executable == executable
    (site / "tensorflow_cpu-2.21.0.dist-info").mkdir()
    assert chosen_target(None, environ, "/own", [str(site)]).executable == "/own"


def test_the_environment_of_ray_tasks_was_named_by_nobody(tmp_path: Path) -> None:
    own, other = interpreter(tmp_path / "ray"), interpreter(tmp_path / "other")
    task = {"RAY_JOB_ID": "01000000"}
    assert chosen_target(own, task, own, []).why == "the environment of Ray tasks"
    assert chosen_target(own, task, own, []).named
    assert chosen_target(other, task, own, []).why == chosen_target(own, {}, own, []).why == "named with --python"
