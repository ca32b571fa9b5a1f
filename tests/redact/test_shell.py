from __future__ import annotations

import shlex
import subprocess

import pytest

from gpudoctor.diagnose.advice.shell import set_library_path, shell_path
from gpudoctor.redact import Redactor, ReportOwner
from gpudoctor.redact.shell import runnable_command

ALICE = Redactor(ReportOwner(homes=("/home/alice", "/data/alice home"), user="alice", users=("bob",), hosts=("node17",)))
PATHS = ("/home/alice/v/bin/python", "/home/alice/my env/bin/python", "/home/alice", "/scratch/alice/v/bin/python", "/opt/v/bin/python")


def words(command: str) -> list[str]:
    """What a shell reads from a command, in a user's home folder."""
    environment = {"HOME": "/home/alice", "USER": "alice", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", f"printf '%s\\n' {command}"], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("path", PATHS)
def test_a_redacted_command_still_finds_its_path(path: str) -> None:
    left = runnable_command(ALICE.text(f"{shlex.quote(path)} -m pip install 'torch==2.6.0'"))
    assert "alice" not in left
    assert "~" not in left
    assert words(left) == [path, "-m", "pip", "install", "torch==2.6.0"]


@pytest.mark.parametrize("path", PATHS)
def test_a_redacted_snapshot_gives_the_same_command(path: str) -> None:
    assert runnable_command(ALICE.text(shell_path(path))) == shell_path(ALICE.text(path))


def test_folders_of_a_search_path_are_found() -> None:
    folders = ("/home/alice/a", "/usr/lib", "/home/alice/b c")
    left = runnable_command(ALICE.text(set_library_path(folders)))
    assert left == """export LD_LIBRARY_PATH="$HOME"/a:/usr/lib:"$HOME"/'b c'"""
    assert words(left.removeprefix("export ")) == ["LD_LIBRARY_PATH=" + ":".join(folders)]


def test_a_removed_name_is_not_a_redirection() -> None:
    left = runnable_command(ALICE.text("sudo usermod -aG render alice && ls /mnt/node17/v"))
    assert not set("<>") & set(left)


def test_foreign_tildes_are_kept() -> None:
    assert runnable_command("sudo sed -i s/a~b/c/ x") == "sudo sed -i s/a~b/c/ x"
