from __future__ import annotations

import pytest

from gpudoctor.diagnose.advice.packages import command_for_environment, reinstall_packages
from gpudoctor.snapshot import NOT_ASKED, Cause, Distribution, Missing, Python

OURS = Python("/env/bin/python", "PATH", version="3.12", prefix="/env")


@pytest.mark.parametrize(
    ("python", "folder", "target"),
    [
        (OURS, "/opt/libraries", "--target /opt/libraries --upgrade "),
        (OURS, "/env/lib/python3.12/site-packages", ""),
        (OURS, "/env/libraries", ""),
        (OURS, "/usr/lib/python3/dist-packages", ""),
        (OURS, "/home/user/.local/lib/python3.12/site-packages", ""),
        (OURS, "", ""),
        (Python("/env/bin/python", "PATH"), "/opt/libraries", ""),
        (NOT_ASKED, "/opt/libraries", ""),
    ],
)
def test_a_package_is_reinstalled_in_the_folder_that_target_named(python: Python | Missing, folder: str, target: str) -> None:
    fix = reinstall_packages(
        "Reinstall them", python, Distribution("nvidia-nccl-cu12", "2.21.5", folder), Distribution("torch", "2.6.0", folder)
    )
    pip, _, arguments = fix.command.partition(" -m pip install ")
    assert pip == ("/env/bin/python" if isinstance(python, Python) else "python")
    assert arguments == f"--force-reinstall --no-deps {target}nvidia-nccl-cu12==2.21.5 torch==2.6.0"
    assert fix.installs == ("nvidia-nccl-cu12==2.21.5", "torch==2.6.0")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python -m pip install 'numpy<2'", "/env/bin/python -m pip install 'numpy<2'"),
        (
            "python -m pip uninstall -y a && python -m pip install b",
            "/env/bin/python -m pip uninstall -y a && /env/bin/python -m pip install b",
        ),
        ("python -m pip list | grep x", "/env/bin/python -m pip list | grep x"),
        ("pythonic", "pythonic"),
        ("unset X && sudo reboot", "unset X && sudo reboot"),
        ("", ""),
    ],
)
def test_general_advice_names_the_examined_interpreter(command: str, expected: str) -> None:
    python = Python(executable="/env/bin/python", why="named", pip=True)
    assert command_for_environment(command, python) == expected
    assert command_for_environment(command, Missing(Cause.FAILED, "no Python")) == command


def test_general_advice_uses_the_installer_of_the_environment() -> None:
    python = Python(executable="/env/bin/python", why="named", pip=False, maker="uv")
    assert command_for_environment("python -m pip install 'numpy<2'", python) == "uv pip install --python /env/bin/python 'numpy<2'"
