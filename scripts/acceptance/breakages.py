"""The part of gpu_acceptance that causes defects on purpose, none of them on the machine itself, and checks that gpudoctor names each."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from scripts.acceptance.results import Acceptance

HOLDER: Final = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code: sys.exit("%s answered %d" % (name, code))
count = ctypes.c_int()
call("cuInit", 0)
call("cuDeviceGetCount", ctypes.byref(count))
for ordinal in range(count.value):
    device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cuDeviceGet", ctypes.byref(device), ordinal)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    wanted, free, total = 256 << 20, ctypes.c_size_t(), ctypes.c_size_t()
    if sys.argv[1:]:
        call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        wanted = free.value - (int(sys.argv[1]) << 20)
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(wanted))
print("holding", flush=True)
sys.stdin.read()
"""
"""Holds a context and 256 MiB on each GPU, or all memory except a number of MiB, until its standard input is closed."""
HELD_WITHIN: Final = 60.0
"""Seconds until the holder must have it."""
LEFT_FREE: Final = 400
"""MiB of a GPU's memory to leave free: enough for another context, not for training in a quarter of it."""
MEMORY_CAUSES: Final = {"gpu-memory-insufficient", "gpu-memory-held-by-other-process"}
ONLY_IN_TRAINING: Final = "import sys\nif any(argument.endswith('/smoke.py') for argument in sys.orig_argv):\n"
SLOWED: Final = {
    "torch": """
    import torch
    _matmul = torch.matmul
    def matmul(left, right):
        _matmul(left, right), _matmul(left, right)
        return _matmul(left, right)
    torch.matmul = matmul
""",
    "tensorflow": """
    import tensorflow as tf
    _matmul = tf.matmul
    def matmul(left, right, **options):
        _matmul(left, right, **options), _matmul(left, right, **options)
        return _matmul(left, right, **options)
    tf.matmul = matmul
""",
    # each matmul needs the previous one, or the compiler would drop it
    "jax": """
    import jax
    _matmul = jax.numpy.matmul
    def matmul(left, right, **options):
        product = _matmul(left, right, **options)
        for _ in range(2):
            product = _matmul(left, right + 0 * product[:1], **options)
        return product
    jax.numpy.matmul = matmul
""",
}
"""Computes each matmul of square matrices three times, which gives the right result at a third of the speed."""


def roots(report: Mapping[str, Any]) -> list[str]:
    """Return the names of the root causes."""
    return [finding["name"] for finding in report.get("findings", ()) if not finding["because_of"] and finding["severity"] != "note"]


def masked(acceptance: Acceptance) -> None:
    """Check with all GPUs hidden by CUDA_VISIBLE_DEVICES."""
    code, report, _ = acceptance.check("--level", "look", environ={"CUDA_VISIBLE_DEVICES": ""})
    first = next(iter(roots(report)), "none")
    acceptance.judge(
        "CUDA_VISIBLE_DEVICES empty: root cause cuda-visible-devices-masked", (code, first) == (1, "cuda-visible-devices-masked"), first
    )


def targets(acceptance: Acceptance, place: Path) -> None:
    """Check paths that are no interpreter, an empty environment, and a deadline that is too short."""
    code, report, _ = acceptance.check("--level", "look", python="/nonexistent/python")
    acceptance.judge("an interpreter that is not there: exit code 2", code == 2, f"{code}: {report.get('message', '')}")
    code, report, _ = acceptance.check("--level", "train", python="/bin/true")
    acceptance.judge(
        "a target that is no Python: neither ready nor a traceback", code in {1, 2, 3}, f"{code} {report.get('verdict', 'error')}"
    )
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / "bare"], check=True, timeout=max(acceptance.left, 1))
    code, report, _ = acceptance.check("--level", "train", python=str(place / "bare" / "bin" / "python"))
    names = [finding["name"] for finding in report["findings"]]
    acceptance.judge(
        "a Python without a framework: unknown, framework-missing", code == 3 and "framework-missing" in names, f"{code} {names}"
    )
    code, report, seconds = acceptance.check("--level", "train", "--timeout", "1")
    acceptance.judge(
        "a deadline of 1 s: a document, within 6 s", seconds < 6, f"{seconds:.1f} s, exit code {code}, {report.get('verdict')}"
    )


def wrong_library(acceptance: Acceptance, name: str, place: Path) -> None:
    """Put a text file named libcudart first on LD_LIBRARY_PATH: it must be harmless, or named in a finding."""
    folder = place / f"wrong-{name}"
    folder.mkdir()
    for major in ("11.0", "12", "13"):
        (folder / f"libcudart.so.{major}").write_text("not a library\n")
    path = ":".join(filter(None, (str(folder), os.environ.get("LD_LIBRARY_PATH"))))
    code, report, _ = acceptance.check("--level", "train", "--framework", name, environ={"LD_LIBRARY_PATH": path})
    trained = report["proved_to"]["rung"] == "trained"
    named = [finding["name"] for finding in report["findings"] if str(folder) in json.dumps(finding)]
    told = f"{code}: {'it trained all the same' if trained else 'it did not train'}; named by {', '.join(named) or 'no finding'}"
    acceptance.judge(f"{name}: a wrong libcudart first is harmless or named", trained or bool(named), f"{told}; roots {roots(report)}")


@contextlib.contextmanager
def held(*leaving: str) -> Iterator[str]:
    """Hold a context and memory on every GPU inside the block; yield why that failed, or an empty string."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, *leaving], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout  # for mypy: a pipe was asked for
        if not select.select([process.stdout], [], [], HELD_WITHIN)[0]:
            yield f"the holding process did not get that far in {HELD_WITHIN:.0f} s"
            return
        yield "" if process.stdout.readline() else process.communicate(timeout=HELD_WITHIN)[1].strip() or "the holding process ended"
    finally:
        process.kill()
        process.communicate()


def in_use(acceptance: Acceptance, name: str) -> None:
    """Check that a GPU in use is skipped at level train, and trained on with --force."""
    what = "a GPU in use is skipped"
    with held() as problem:
        if problem:
            acceptance.skip(what, problem)
            return
        _, looked, _ = acceptance.check("--level", "look")
        gpus = looked["snapshot"]["nvml"]["gpus"]
        if not all(isinstance(gpu.get("compute_processes"), list) and gpu["compute_processes"] for gpu in gpus):
            acceptance.skip(what, "NVML does not show our own process here (another PID namespace?)")
            return
        only = ("--level", "train", "--framework", name)
        code, report, _ = acceptance.check(*only)
        acceptance.judge(f"{what}: unknown", (code, report["verdict"]) == (3, "unknown"), f"{code}: {report['because']}")
        code, report, _ = acceptance.check(*only, "--force")
        acceptance.judge(
            "with --force it is trained on", report["proved_to"]["rung"] == "trained", f"{code}: {report['proved_to']['text']}"
        )


def out_of_memory(acceptance: Acceptance, name: str) -> None:
    """Check with almost no free GPU memory: training must fail, and the finding must name memory."""
    with held(str(LEFT_FREE)) as problem:
        if problem:
            acceptance.skip(f"{name}: out of memory", problem)
            return
        code, report, _ = acceptance.check("--level", "train", "--force", "--framework", name)
    found = {finding["name"] for finding in report["findings"] if finding["severity"] == "error"}
    told = f"{code}: {', '.join(sorted(found)) or report['verdict']}"
    acceptance.judge(f"{name}: out of memory is told as such", code == 1 and bool(found & MEMORY_CAUSES), told)


def slowed(acceptance: Acceptance, name: str, place: Path) -> None:
    """Check a framework whose matmuls run at a third of their speed: it must be found slow, and its results right."""
    folder = place / f"slowed-{name}"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(f"{ONLY_IN_TRAINING}{SLOWED[name]}")
    code, report, _ = acceptance.check("--level", "full", "--framework", name, environ={"PYTHONPATH": acceptance.path(str(folder))})
    found = {finding["name"]: finding["message"] for finding in report["findings"]}
    told = found.get("gpu-slower-than-expected", f"{report['verdict']}: {', '.join(found) or 'no findings'}")
    acceptance.judge(f"{name}: matmuls at a third of their speed are found", "gpu-slower-than-expected" in found, f"{code}: {told}")
    acceptance.judge(f"{name}: and is not taken for a wrong one", "smoke-wrong-result" not in found, ", ".join(found))
