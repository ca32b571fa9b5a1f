"""Whatever is examined in place of a Python, or misbehaves as one, is never ready: in every command, on an otherwise healthy machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.command import document, sentence
from tests.environments.small_torch import cuda, torch
from tests.machines.healthy import Machine
from tests.probe.places import plant
from tests.probe.test_children import FOUND
from tests.probe.test_interpreter import BEHAVIOURS
from tests.seams.every import every

COMMANDS = (("check", "--no-smoke"), ("check",), ("check", "--level", "touch"), ("smoke",), ("xray",))
QUICK = [name for name in BEHAVIOURS if name not in {"hangs", "floods"}]
"""Those that end by themselves."""
WITHOUT_RIGHTS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
"""Starts a program that may open no file of other users, although it runs as root."""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine(tmp_path_factory.mktemp("machine"))


def venv(place: Path, version: str, sitecustomize: str) -> Path:
    subprocess.run([FOUND[version], "-m", "venv", "--without-pip", str(place)], check=True)
    (site,) = place.glob("lib/python3*/site-packages")
    (site / "sitecustomize.py").write_text(sitecustomize + "\n")
    return place


def newest(minor: str) -> str:
    return next(version for version in FOUND if version.startswith(f"{minor}."))


def test_the_machine_is_ready_without_the_patient(machine: Machine) -> None:
    ended = machine.run("check", "--no-smoke")
    assert (ended.returncode, document("report", ended.stdout)["verdict"]) == (0, "ready")


@pytest.mark.parametrize("command", [COMMANDS[0], *COMMANDS[3:]], ids=" ".join)
@pytest.mark.parametrize("program", ["/bin/ls", "/bin/true", "script", "exits 3", "empty", "folder", "dangling"])
def test_an_invalid_python_is_a_usage_error(machine: Machine, tmp_path: Path, program: str, command: tuple[str, ...]) -> None:
    path = Path(program) if program.startswith("/") else tmp_path / program
    if program in {"script", "exits 3"}:
        path.write_text("#!/bin/sh\necho hello\n" + ("exit 3\n" if program == "exits 3" else ""))
        path.chmod(0o755)
    elif program == "empty":
        path.touch(0o755)
    elif program == "folder":
        path.mkdir()
    elif program == "dangling":
        (path / "bin").mkdir(parents=True)
        (path / "bin/python").symlink_to("/gone/python3")
    ended = machine.run(*command, python=path)
    assert ended.returncode == 2
    error = document("error", ended.stdout)["error"]
    assert error["kind"] == "usage"
    assert "not a Python interpreter (" in error["message"]
    assert error["message"].endswith("; name an interpreter or the folder of an environment.")
    assert sentence(ended.stderr.rpartition(b"gpudoctor: looking at the machine\n")[2])


@pytest.fixture
def patient(tmp_path: Path, minor: str, behaviour: str) -> Path:
    return venv(tmp_path / "venv", newest(minor), BEHAVIOURS[behaviour])


@pytest.mark.parametrize(("minor", "behaviour"), [*(("3.13", one) for one in QUICK), ("3.6", "exits"), ("3.8", "becomes a daemon")])
@every("command", COMMANDS)
def test_a_python_that_does_not_start_is_unknown(machine: Machine, patient: Path, behaviour: str, command: tuple[str, ...]) -> None:
    ended = machine.run(*command, python=patient)
    assert ended.returncode == 3
    if command == ("xray",):
        libraries = document("xray", ended.stdout)["libraries"]
        assert (libraries["type"], libraries["cause"]) == ("missing", "failed")
        return
    report = document("report", ended.stdout)
    assert report["verdict"] == "unknown"
    if behaviour == "becomes a daemon" and not report["not_judged"]:
        return  # the daemon answered before its parent's end was noticed: the environment is known, without a framework
    assert [one["what"] for one in report["not_judged"]] == ["the Python environment"]
    assert f"{patient}/bin/python" in report["because"]
    assert report["because"].count("the Python environment was not checked") == 1
    assert report["because"].count(report["not_judged"][0]["reason"]) == 1


def test_a_start_of_twelve_seconds_is_waited_for(machine: Machine, tmp_path: Path) -> None:
    slow = venv(tmp_path / "venv", newest("3.13"), "import time; time.sleep(12)")
    with ThreadPoolExecutor() as pool:
        checked, xrayed = pool.map(lambda command: machine.run(*command, python=slow), (COMMANDS[0], COMMANDS[-1]))
    assert {checked.returncode, xrayed.returncode} <= {0, 3}
    report = document("report", checked.stdout)
    assert report["snapshot"]["python"]["version"] == newest("3.13")
    assert report["because"] == "no framework is installed in this environment"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give an environment to another user")
def test_a_base_interpreter_that_this_user_may_not_reach_is_not_gone(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o700)
    os.chown(tmp_path / "closed", 12345, 12345)
    plant(tmp_path / "venv", {"pyvenv.cfg": f"home = {tmp_path}/closed\n"})
    (tmp_path / "venv/bin").mkdir()
    (tmp_path / "venv/bin/python").symlink_to(tmp_path / "closed/python3")
    ended = machine.run("check", "--no-smoke", python=tmp_path / "venv", wrapper=WITHOUT_RIGHTS)
    assert ended.returncode == 2
    assert f"(permission denied, a link to {tmp_path}/closed/python3)" in document("error", ended.stdout)["error"]["message"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give an environment to another user")
@pytest.mark.parametrize("closed", [False, True], ids=["readable", "closed"])
def test_an_environment_of_another_user(machine: Machine, tmp_path: Path, closed: bool) -> None:
    place = venv(tmp_path / "theirs", newest("3.13"), "")
    for path in (place, *place.rglob("*")):
        os.chown(path, 12345, 12345, follow_symlinks=False)
    place.chmod(0o700 if closed else 0o755)
    listed = sorted((path, path.lstat().st_mtime_ns) for path in place.rglob("*"))
    ended = machine.run("check", "--no-smoke", python=place / "bin/python", wrapper=WITHOUT_RIGHTS)
    assert sorted((path, path.lstat().st_mtime_ns) for path in place.rglob("*")) == listed
    if closed:
        assert ended.returncode == 2
        assert "(permission denied)" in document("error", ended.stdout)["error"]["message"]
    else:
        report = document("report", ended.stdout)
        assert (report["verdict"], report["examined"]["python"]) == ("unknown", str(place / "bin/python"))


@pytest.mark.parametrize("command", COMMANDS[:4], ids=" ".join)
@pytest.mark.parametrize(("name", "value"), [("CUDA_VISIBLE_DEVICES", ""), ("CUDA_VISIBLE_DEVICES", "GPU-12345678")])
def test_a_start_that_hides_the_gpu_is_broken_and_named(machine: Machine, name: str, value: str, command: tuple[str, ...]) -> None:
    (site,) = machine.python.glob("lib/python3*/site-packages")
    file = site / "company.pth"
    file.write_text(f"import os; os.environ[{name!r}] = {value!r}\n")
    try:
        ended = machine.run(*command)
    finally:
        file.unlink()
    assert ended.returncode == 1
    report = document("report", ended.stdout)
    assert report["verdict"] == "broken"
    (fix, *_) = report["findings"][0]["fixes"]
    assert fix["title"].startswith(f"Remove {name} from ")
    assert "site-packages/company.pth" in fix["title"]
    assert not any(fix["command"].startswith("unset") for fix in report["findings"][0]["fixes"])


CLOSED = {
    "../..": 0o700,
    "..": 0o700,
    ".": 0o700,
    "./": 0o711,
    "torch": 0o700,
    "torch/": 0o711,
    "torch/__init__.py": 0o600,
    "torch/lib": 0o700,
    "torch/_C.cpython-311-x86_64-linux-gnu.so": 0o600,
    "nvidia": 0o700,
    "nvidia/cublas/lib": 0o700,
    "nvidia/cudnn/lib/libcudnn.so.9": 0o600,
}
"""Places below site-packages or above it, and the permissions that an installation under umask 077 may have left to other users."""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give an environment to another user")
@pytest.mark.parametrize("place", CLOSED)
def test_packages_that_this_user_may_not_read_are_named_and_the_fix_opens_them(machine: Machine, tmp_path: Path, place: str) -> None:
    environment = venv(tmp_path / "theirs", newest("3.11"), "")
    (site,) = environment.glob("lib/python3*/site-packages")
    cuda(site)
    torch(site)
    for path in (environment, *environment.rglob("*")):
        os.chown(path, 12345, 12345, follow_symlinks=False)
    (site / place).chmod(CLOSED[place])
    ended = machine.run("check", "--no-smoke", python=environment, wrapper=WITHOUT_RIGHTS)
    assert ended.returncode == 1
    report = document("report", ended.stdout)
    first = report["findings"][0]
    assert first["impact"] == "cannot train"
    (fix, *_) = first["fixes"]
    assert fix["command"] == f"sudo chmod -R a+rX {(site / place).resolve()}"
    subprocess.run(fix["command"].removeprefix("sudo ").split(), check=True)
    again = document("report", machine.run("check", "--no-smoke", python=environment, wrapper=WITHOUT_RIGHTS).stdout)
    assert not {finding["name"] for finding in again["findings"]} & {"framework-missing", "framework-files-damaged", "cuda-library-damaged"}


@pytest.mark.parametrize("place", ["lib", "lib/python3.11", "lib/python3.11/site-packages"])
@pytest.mark.parametrize("target", ["/nowhere/at/all", "itself"])
def test_packages_behind_a_link_that_leads_nowhere_are_named(machine: Machine, tmp_path: Path, place: str, target: str) -> None:
    link = venv(tmp_path / "theirs", newest("3.11"), "") / place
    shutil.rmtree(link)
    link.symlink_to(link.name if target == "itself" else target)
    ended = machine.run("check", "--no-smoke", python=tmp_path / "theirs")
    assert ended.returncode == 1
    (finding,) = document("report", ended.stdout)["findings"]
    assert finding["message"].startswith(f"{link} is a link that leads nowhere")
