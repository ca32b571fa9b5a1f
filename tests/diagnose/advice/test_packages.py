from __future__ import annotations

import pytest

from gpudoctor.diagnose.advice.packages import reinstall_packages
from gpudoctor.snapshot import NOT_ASKED, Distribution, Missing, Python

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
