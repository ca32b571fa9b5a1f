"""Completion in real shells, and what is offered for each option and argument."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpudoctor.diagnose.rules import RULES
from gpudoctor.frameworks import TRAINED
from gpudoctor.manual.families import NAMES
from tests.cli.command import environment, run, sentence

SHELLS = {
    "bash": (("bash", "--norc", "-i"), 'eval "$(gpudoctor completion bash)"'),
    "zsh": (("zsh", "-f", "-i"), 'autoload -Uz compinit; compinit -u -D; eval "$(gpudoctor completion zsh)"'),
    "fish": (("fish", "--no-config", "-i"), "gpudoctor completion fish | source"),
}
CLEAR = "\x15"
TYPED = (
    ("gpudoctor expl", "gpudoctor explain "),
    ("driver-too-o", "driver-too-old "),
    (f"{CLEAR}gpudoctor check --framework tens", "tensorflow "),
)
"""Keys before the tab, and what the line then shows."""
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


class Terminal:
    """A shell that believes a person is typing."""

    def __init__(self, command: tuple[str, ...]) -> None:
        master, slave = pty.openpty()
        env = environment(PATH=PATH, TERM="xterm", PS1="> ")
        self.process = subprocess.Popen(("setsid", "--ctty", *command), stdin=slave, stdout=slave, stderr=slave, env=env)
        os.close(slave)
        self._master = master

    def type_until(self, keys: str, wanted: str, seconds: float = 60) -> str:
        """What the terminal shows after `keys`, up to `wanted` or the deadline."""
        os.write(self._master, keys.encode())
        shown, deadline = "", time.monotonic() + seconds
        while wanted not in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", shown) and time.monotonic() < deadline:
            if select.select([self._master], [], [], 0.2)[0]:
                shown += os.read(self._master, 1 << 16).decode(errors="replace")
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", shown)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_a_command_a_rule_and_a_framework(shell: str) -> None:
    command, install = SHELLS[shell]
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    terminal = Terminal(command)
    try:
        assert "ready-now" in terminal.type_until(f"{install}; echo ready''-now\n", "ready-now")
        for typed, whole in TYPED:
            assert whole in terminal.type_until(f"{typed}\t", whole)
    finally:
        terminal.close()


def offered(line: str) -> list[str]:
    """What bash is offered for the last word of `line`."""
    words = line.split(" ")
    env = environment(_GPUDOCTOR_COMPLETE="complete_bash", COMP_WORDS="\n".join(words), COMP_CWORD=str(len(words) - 1))
    return run(env=env).stdout.decode().split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("gpudoctor comp", ["compat", "completion"]),
        ("gpudoctor explain ", [rule.name for rule in RULES]),
        ("gpudoctor explain GD20", [rule.code for rule in RULES if rule.code.startswith("GD20")]),
        ("gpudoctor explain gd203", ["gd203"]),
        ("gpudoctor explain exit-1", ["exit-1", "exit-129"]),
        ("gpudoctor check --only GD101,GD203", ["GD101,GD203"]),
        ("gpudoctor check --skip nccl-v", ["nccl-version-conflict"]),
        ("gpudoctor check --framework ", list(TRAINED)),
        ("gpudoctor check --require me", ["memory"]),
        ("gpudoctor check --level t", ["touch", "train"]),
        ("gpudoctor rules ", list(NAMES)),
        ("gpudoctor matrix cu", ["cuda", "cudnn"]),
        ("gpudoctor matrix gpu geforce-rtx-4090-l", ["geforce-rtx-4090-laptop-gpu"]),
        ("gpudoctor matrix framework jax-cuda13", ["jax-cuda13-pjrt", "jax-cuda13-plugin"]),
        ("gpudoctor completion z", ["zsh"]),
        ("gpudoctor explain zzz", []),
    ],
)
def test_what_is_offered(line: str, words: list[str]) -> None:
    assert offered(line) == words


def test_a_gpu_that_is_offered_is_found() -> None:
    for name in ("geforce-rtx-4090-laptop-gpu", "h100-80gb-hbm3", "tesla-v100-sxm2-16gb"):
        assert offered(f"gpudoctor matrix gpu {name}") == [name]
        assert run("matrix", "gpu", name).returncode == 0


def test_an_unknown_shell() -> None:
    assert "'zsh'" in sentence(run("completion", "csh").stderr)
