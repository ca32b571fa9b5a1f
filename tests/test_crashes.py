"""A crash of any script of ours in a child ends with exit code 4, in every command, and blames no machine."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudoctor.crash import crash_sentence
from tests.cli.command import document
from tests.machines.healthy import ROOT, Machine

LOOK, TOUCH, TRAIN, XRAY = ("check", "--no-smoke"), ("check", "--level", "touch"), ("smoke",), ("xray",)
SCRIPTS = {
    "children/target/gpudoctor_answer.py": (LOOK, TRAIN, XRAY),
    "children/target/python_probe.py": (LOOK, TRAIN, XRAY),
    "children/own/nvml_probe.py": (LOOK,),
    "children/own/nvml_library.py": (LOOK,),
    "children/target/libcuda_probe.py": (LOOK, TRAIN),
    "children/target/gpudoctor_libcuda.py": (LOOK,),
    "children/target/cuda_context_probe.py": (TOUCH,),
    "children/target/gpudoctor_kernel.py": (TOUCH,),
    "children/own/libraries_probe.py": (LOOK, XRAY),
    "children/own/xray/examine.py": (LOOK, XRAY),
    "children/own/xray/patient.py": (XRAY,),
    "children/train/smoke.py": (TRAIN, ("check",)),
    "children/train/protocol.py": (TRAIN,),
    "children/train/task.py": (TRAIN,),
    "children/train/stages.py": (TRAIN,),
    "children/train/measure.py": (TRAIN,),
    "children/train/tensorflow_engine.py": (TRAIN,),
}
IN_STAGES = ("children/train/task.py", "children/train/measure.py", "children/train/tensorflow_engine.py")
"""Their functions run in a stage of the training, where our errors and the framework's look the same."""
CASES = [
    (script, command, where)
    for script, commands in SCRIPTS.items()
    for command in commands
    for where in (("at once",) if script in IN_STAGES else ("at once", "later"))
]
_PLANTED = 'raise RuntimeError("planted defect")'


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine(tmp_path_factory.mktemp("machine"))


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of gpudoctor."""
    place = tmp_path_factory.mktemp("copy")
    for name in ("gpudoctor", "compat"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    return place


@pytest.fixture
def broken(package: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The copy with a defect in one script: in its first statement, or in the last function that it defines."""
    script, _, where = request.param
    file = package / "gpudoctor" / script
    whole = file.read_text()
    file.write_text(_at_once(whole) if where == "at once" else _later(whole))
    yield package
    file.write_text(whole)


def _at_once(text: str) -> str:
    end = text.index('"""', 3) + 3
    return (
        f"{text[:end]}\n{_PLANTED}\n{text[end:]}"
        if "from __future__" not in text
        else re.sub(r"(?m)^(import|from (?!__))", f"{_PLANTED}\n\\1", text, count=1)
    )


def _later(text: str) -> str:
    """In main, otherwise in the first function."""
    place = re.search(r"(?m)^(    )?def (?:main|environment|run|load)\(.*\).*:\n", text) or re.search(
        r"(?m)^(    )?def \w+\(.*\).*:\n", text
    )
    if place is None:
        pytest.skip("it has no function")
    return f"{text[: place.end()]}{place[1] or ''}    {_PLANTED}\n{text[place.end() :]}"


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize(
    ("broken", "command"), [(case, case[1]) for case in CASES], indirect=["broken"], ids=lambda one: " ".join(map(str, one))
)
def test_our_own_crash_is_exit_4(machine: Machine, broken: Path, command: tuple[str, ...]) -> None:
    ended = machine.run(*command, package=broken)
    assert b"planted defect" in ended.stdout
    assert ended.returncode == 4, ended.stdout[-3000:]
    document("xray" if command == XRAY else "report", ended.stdout)


@pytest.mark.parametrize(
    ("error", "path", "is_ours"),
    [
        (ImportError("/lib-dynload/zlib.so: undefined symbol: inflate"), "/opt/old/lib", False),
        (ImportError("/opt/old/lib/libz.so.1: version `ZLIB_1.2.9' not found (required by /lib/libpng.so)"), "/opt/old/lib", False),
        (ImportError("/lib-dynload/zlib.so: undefined symbol: inflate"), "", True),
        (ImportError("cannot import name 'x' from 'gpudoctor'"), "/opt/old/lib", True),
        (ValueError("undefined symbol: inflate"), "/opt/old/lib", True),
    ],
)
def test_a_library_that_ld_library_path_puts_first_is_no_bug_of_ours(
    error: Exception, path: str, is_ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", path)
    told = crash_sentence(error)
    assert ("this is a bug in gpudoctor" in told) is is_ours
    assert (f"LD_LIBRARY_PATH is {path}; try again with env -u LD_LIBRARY_PATH." in told) is not is_ours
