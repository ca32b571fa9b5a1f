"""`gpudoctor compat` and `plan` on files and requirements that nobody should send: one sentence, exit code 2 or 3, soon, nothing left."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.plan.resolver import uv_path
from tests.cli.command import environment, run, sentence

L4 = ("--gpu", "L4", "--driver", "580.65.06")
PLANNED = ("plan", "--offline")
_HASH = f"sha256:{'0' * 64}"
_BOMB = "x0: &x0 [a]\n" + "".join(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]\n" for n in range(1, 30)) + "dependencies: *x29\n"
REFUSED = {
    "a file that includes itself through another": ({"a.txt": "-r b.txt\n", "b.txt": "-r a.txt\n"}, "includes itself"),
    "two lines that contradict each other": ({"a.txt": "torch==2.8.0\ntorch<2\n"}, "contradict each other"),
    "aliases that grow to 10^28 words": ({"environment.yml": _BOMB}, "environment.yml"),
    "brackets without end": ({"environment.yml": "[" * 100_000}, "nested too deeply"),
    "a lock file that is cut off": ({"uv.lock": 'version = 1\n[[package]]\nname = "torch'}, "is not valid TOML"),
}


@pytest.mark.parametrize("command", [("compat",), PLANNED], ids=["compat", "plan"])
@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_file_is_one_sentence(tmp_path: Path, case: str, command: tuple[str, ...]) -> None:
    files, said = REFUSED[case]
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    ended = run(*command, "-r", str(tmp_path / next(iter(files))), *L4)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert said in sentence(ended.stderr)
    assert {path.name for path in tmp_path.iterdir()} == set(files)


def _pipenv() -> str:
    return json.dumps({"_meta": {}, "default": {f"unknown-{n}": {"version": "==1.0", "hashes": [_HASH] * 3} for n in range(15_000)}})


def _uv() -> str:
    package = '[[package]]\nname = "unknown-{0}"\nversion = "1.{0}"\nsource = {{ registry = "https://example.org" }}\n'
    wheel = f'wheels = [{{{{ url = "https://example.org/unknown_{{0}}-1.{{0}}-py3-none-any.whl", hash = "{_HASH}", size = 1000 }}}}]\n\n'
    return "version = 1\n\n" + "".join((package + wheel).format(n) for n in range(15_000))


@pytest.mark.parametrize(("name", "text"), [("Pipfile.lock", _pipenv), ("uv.lock", _uv)], ids=["Pipfile.lock", "uv.lock"])
def test_a_lock_file_of_megabytes_is_judged_in_seconds(tmp_path: Path, name: str, text: Callable[[], str]) -> None:
    (tmp_path / name).write_text(text(), encoding="utf-8")
    assert (tmp_path / name).stat().st_size > 3.5e6
    began = time.monotonic()
    ended = run("compat", "-r", str(tmp_path / name), *L4, "--format", "oneline")
    assert ended.returncode == 3, ended.stderr
    assert ended.stdout.startswith(b"UNKNOWN")
    assert time.monotonic() - began < 40, "3 s of the processor; hours if the time grows with the square"


@pytest.mark.skipif(not uv_path(), reason="asks uv")
def test_a_package_index_that_is_down_leaves_the_tables(tmp_path: Path) -> None:
    down = {"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "UV_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "work")}
    (tmp_path / "work").mkdir()
    ended = run("plan", "torch<=2.15.0", *L4, "--format", "json", env=environment(**down))
    plan = json.loads(ended.stdout)
    assert (ended.returncode, plan["resolver"], plan["environment"]["pins"][0]["requirement"]) == (0, "tables", "torch==2.15.0")
    assert plan["resolver_note"] == "uv cannot reach the package index: planned from the tables alone."
    refused = run("plan", "torch<=2.15.0", *L4, "--verify", "--yes", "--quiet", env=environment(**down))
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert "cannot reach the package index" in sentence(refused.stderr)
    assert list((tmp_path / "work").iterdir()) == []
