"""The release of an extension that the fixes of three rules install or compile."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import FixKind
from gpudoctor.snapshot import Cause, Distribution, Fact, Host, Missing, Packages, Platform, Python, Snapshot
from tests.builders import torch
from tests.diagnose.rules.examined import add_on, environment, only

BROKEN = add_on(distribution="xformers", version="0.0.28", undefined=("_ZN3c105ErrorE",))
UNREAD = Missing(Cause.TIMED_OUT, "it took more than 60 s")


def installed(python: str = "3.11", **changes: Any) -> Snapshot:
    """PyTorch 2.6.0 with an xformers that was compiled for another release."""
    sections: dict[str, Any] = {
        "framework": torch(),
        "extensions": (BROKEN,),
        "host": Host(platform=Platform.LINUX, architecture="x86_64"),
        "python": Python("/env/bin/python", "PATH", version=python, machine="x86_64"),
        "packages": Packages((Distribution("torch", "2.6.0+cu124", "/env"), Distribution("xformers", "0.0.28", "/env"))),
    }
    return environment(**(sections | changes))


@pytest.mark.parametrize(
    ("machine", "release"),
    [
        (installed(), "0.0.29.post3"),
        (installed(packages=UNREAD), "0.0.29.post3"),
        (installed(python="3.14"), ""),
        (installed(framework=torch(version=Fact("2.6.1+cu124", "x"))), ""),
        (installed(framework=torch(version=Fact("2.7.1+cu126", "x"))), "0.0.31.post1"),
        (installed(packages=UNREAD, framework=torch(version=Fact("2.7.1+cu126", "x"))), "0.0.31.post1"),
    ],
    ids=["of torch 2.6", "packages unread", "no wheel for this Python", "none for torch 2.6.1", "of torch 2.7", "2.7, packages unread"],
)
def test_the_newest_release_for_this_torch_and_python_is_installed_or_else_what_is_there_compiled(machine: Snapshot, release: str) -> None:
    fixes = only(machine, "extension-abi-mismatch").fixes
    assert [fix.kind for fix in fixes] == [FixKind.FIX, FixKind.INSTEAD][: 1 + bool(release)]
    assert fixes[-1].title.startswith("Compile xformers for the installed torch ")
    assert f"xformers=={release or '0.0.28'}" in fixes[-1].command
    if release:
        tag = "cu124" if release.startswith("0.0.29") else "cu126"
        assert fixes[0].title.startswith("Install the xformers that matches torch ")
        assert f"xformers=={release}+{tag}" in fixes[0].command
        assert f"/whl/{tag}" in fixes[0].command
