"""`gpudoctor diagnose` on what strangers send: it answers or refuses in one sentence, never hangs, never shows a traceback."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from gpudoctor.cli.content import content_of_file
from tests.cli.command import GPUDOCTOR, ROOT, environment, run, sentence

ERROR = b"RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
HOSTILE = {
    "a number of 5,000 digits": b"Driver Version: " + b"9" * 5000 + b"\nNVRM: Xid (PCI:0000:41:00): " + b"7" * 5000 + b", x\n",
    "deep JSON": b'{"schema": "gpudoctor.report/1", "policy": ' + b"[" * 100_000,
    "entities": b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "'
    + b"c" * 99
    + b'"><!ENTITY d "&b;&b;&b;&b;">]><nvidia_smi_log>&d;</nvidia_smi_log>',
    "null characters": b"\0" * 10_000,
    "every byte": bytes(range(256)) * 40,
    "half a character of UTF-16": b"\xff\xfe\x41",
    "one line of 5 MB": b"torch " * (5 << 20 >> 3),
    "brackets": b"[" * 50_000 + b"\n" + b"[[a.b." * 9_000,
    "markup": b"[red]GPU[/] [/] [link=http://x]y[/link] \x1b]8;;http://x\x07z\x1b]8;;\x07 <b>\n" + ERROR,
}


def piped(text: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = (*GPUDOCTOR, "diagnose", "-", *arguments)
    return subprocess.run(command, input=text, cwd=ROOT, env=environment(), capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_diagnosed_or_refused(text: bytes) -> None:
    done = piped(text)
    assert done.returncode in {0, 1, 2, 3}, done.stderr
    assert b"Traceback" not in done.stderr
    assert b"\x1b" not in done.stdout


@pytest.mark.parametrize("form", ["text", "markdown", "oneline", "json", "junit", "sarif"])
def test_markup_of_a_terminal_is_text_in_every_report(form: str) -> None:
    done = piped(b"[red][/] " + ERROR, "--format", form)
    assert done.returncode == 1
    assert form == "oneline" or b"red" in done.stdout


def test_a_text_of_more_than_20_megabytes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(ERROR * ((21 << 20) // len(ERROR)))
    done = run("diagnose", str(tmp_path / "log"))
    assert done.returncode == 2
    assert "20 MB" in sentence(done.stderr)


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/null", os.fspath(ROOT)])
def test_a_device_or_folder_is_refused(file: str) -> None:
    done = run("diagnose", file)
    assert done.returncode == 2
    assert file in sentence(done.stderr)


def test_a_file_of_the_kernel_that_waits_for_more_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kmsg").write_bytes(ERROR)
    parts = [ERROR]

    def read(_descriptor: int, _size: int) -> bytes:
        if not parts:
            raise BlockingIOError
        return parts.pop()

    monkeypatch.setattr("gpudoctor.cli.content.os.read", read)
    assert content_of_file(str(tmp_path / "kmsg")) == (ERROR, str(tmp_path / "kmsg"))


def test_a_pipe_that_nobody_writes_to_is_no_text(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert run("diagnose", str(tmp_path / "pipe")).returncode == 2


def test_a_pipe_that_somebody_writes_to_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    keep = os.open(pipe, os.O_RDWR)

    def write() -> None:
        os.write(keep, ERROR)
        os.close(keep)

    writer = threading.Timer(6, write)
    writer.start()
    done = run("diagnose", str(pipe))
    writer.join()
    assert done.returncode == 1


@pytest.mark.parametrize("redirect", ["<&-", "</dev/null"])
def test_standard_input_without_text_is_refused(redirect: str) -> None:
    done = run("diagnose", "-", shell_redirect=redirect)
    assert done.returncode == 2
    assert "Standard input is empty" in sentence(done.stderr)
