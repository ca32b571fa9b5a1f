"""What a Ray worker runs on a node: it unpacks gpudoctor, runs it and returns what it wrote.

Ray sends this function by value, because the worker has no gpudoctor to import it from. So it uses the standard library and `scratch` alone.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile

from gpudoctor.smoke.scratch import scratch

GRACE = 10.0
"""Seconds in which gpudoctor reports what it has found so far, after SIGTERM."""
LARGEST = 64 << 20
"""Bytes of a report to send back; one of 72 GPUs has less than 2 MiB."""
TAIL = 2000
"""Bytes of standard error to send back."""


def run(shipped: bytes, module: str, arguments: tuple[str, ...], seconds: float) -> tuple[int, bytes, bytes]:
    """Return the exit code, standard output and the end of standard error of gpudoctor, which gets `seconds` before it is told to stop.

    "{python}" among the arguments stands for the worker's own interpreter.
    """
    with scratch() as place:
        if not place:
            raise OSError("No temporary folder can be created on this node.")
        folder = place["TMPDIR"]
        with zipfile.ZipFile(io.BytesIO(shipped)) as packed:
            packed.extractall(folder)
        start = f"{folder}/gpudoctor/on_ray/start.py"
        words = (sys.executable if word == "{python}" else word for word in arguments)
        process = subprocess.Popen(
            [sys.executable, "-I", start, str(os.getpid()), module, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            output, errors = _stopped(process)
        except BaseException:  # Ray cancels a task with KeyboardInterrupt
            _stopped(process)
            raise
    return process.returncode, output[:LARGEST], errors[-TAIL:]


def _stopped(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Stop gpudoctor, which ends its children first; return what it wrote. Raises TimeoutExpired if it does not react."""
    process.terminate()
    try:
        return process.communicate(timeout=GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
