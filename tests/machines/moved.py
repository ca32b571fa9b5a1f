"""Changes to recorded machines: another C library, no Python headers, or a conda environment."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.snapshot import Cause, Missing, Python, Snapshot


def _with_python(snapshot: Snapshot, **changes: Any) -> Snapshot:
    assert isinstance(snapshot.python, Python)
    return msgspec.structs.replace(snapshot, python=msgspec.structs.replace(snapshot.python, **changes))


def to_an_older_system(snapshot: Snapshot) -> Snapshot:
    """As if the environment were mounted on CentOS 7."""
    return _with_python(snapshot, libc="glibc 2.17")


def without_headers(snapshot: Snapshot) -> Snapshot:
    """A Debian interpreter without its -dev package."""
    missing = Missing(Cause.ABSENT, "there is no /usr/include/python3.11/Python.h")
    return _with_python(snapshot, headers=missing, base_prefix="/usr", version="3.11.2")


def into_conda(snapshot: Snapshot) -> Snapshot:
    return _with_python(snapshot, kind="conda")


CASES: dict[str, dict[str, Any]] = {
    "environment-moved-to-an-older-system": {
        "about": "an environment with a manylinux_2_28 wheel of torch, mounted on a system with glibc 2.17",
        "base": "triton-has-all-it-needs",
        "change": to_an_older_system,
        "level": "look",
        "verdict": "broken",
        "roots": ("glibc-too-old",),
    },
    "python-without-its-headers": {
        "about": "Debian's own Python without Python.h: torch.compile cannot build its launcher",
        "base": "triton-has-all-it-needs",
        "change": without_headers,
        "level": "look",
        "verdict": "degraded",
        "roots": ("python-headers-missing",),
    },
    "conda-environment-told-of-a-newer-cuda": {
        "about": "a conda environment, and CONDA_OVERRIDE_CUDA names a CUDA that driver 550 does not serve",
        "base": "conda-told-of-a-newer-cuda",
        "change": into_conda,
        "level": "look",
        "verdict": "degraded",
        "roots": ("conda-cuda-override-wrong",),
    },
}
"""Machines of EDITED."""
