"""What a Ray worker runs on a node: it unpacks gpudoctor, runs it and returns what it wrote.

Ray sends this function by value, because the worker has no gpudoctor to import it from. So it uses the standard library and `scratch_folder` alone.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
import zipfile
from contextlib import suppress

from gpudoctor.smoke.scratch import scratch_folder

GRACE_SECONDS = 10.0
"""Seconds in which gpudoctor reports what it has found so far, after SIGTERM."""
MAX_REPORT_BYTES = 64 << 20
"""Bytes of a report to send back; one of 72 GPUs has less than 2 MiB."""
_WAIT_SECONDS = 0.5
"""Seconds of one wait."""
MAX_ERROR_BYTES = 2000
"""Bytes of standard error to send back."""


def run_shipped(shipped: bytes, module: str, arguments: tuple[str, ...], seconds: float) -> tuple[int, bytes, bytes]:
    """Return the exit code, standard output and the end of standard error of gpudoctor, which gets `seconds` before it is told to stop.

    "{python}" among the arguments stands for the worker's own interpreter.
    """
    with scratch_folder() as place:
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
            output, errors = _process_output(process, seconds)
        except BaseException:  # Ray cancels a task with KeyboardInterrupt
            _output_after_stop(process)
            raise
    return process.returncode, output[:MAX_REPORT_BYTES], errors[-MAX_ERROR_BYTES:]


def _process_output(process: subprocess.Popen[bytes], seconds: float) -> tuple[bytes, bytes]:
    """Return what gpudoctor wrote. The wait is divided, because Ray's KeyboardInterrupt comes only between system calls."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=min(_WAIT_SECONDS, seconds))
    return _output_after_stop(process)


def _output_after_stop(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Stop gpudoctor, which ends its children first; return what it wrote. Raises TimeoutExpired if it does not react."""
    process.terminate()
    try:
        return process.communicate(timeout=GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
