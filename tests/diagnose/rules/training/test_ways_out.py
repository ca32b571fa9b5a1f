"""What to do about a failed stage follows from its error."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import Domain, Finding, Fix, FixKind, Policy
from gpudoctor.snapshot import Distribution, Fact, Framework, Packages, Stage, StageKind, StageState
from gpudoctor.snapshot import Variables as Environment
from tests.builders import machine, smoke, tensorflow, torch
from tests.diagnose.rules.asking import findings_of

RULES = {StageState.FAILED: "framework-import-fails", StageState.CRASHED: "smoke-crashed"}


def told(
    error: str, state: StageState = StageState.FAILED, framework: Framework | None = None, policy: Policy | None = None, **changes: Any
) -> Finding:
    """What is said of an import that ended so."""
    other = framework or torch()
    packages = Packages((Distribution(other.distribution, other.release, "/site"),))
    stopped = smoke(framework=other.name, stages=(Stage(StageKind.IMPORT, state, error=error),), kernels=(), trainings=())
    snapshot = machine(**{"packages": packages, "frameworks": (other,), "smoke": (stopped,), **changes})
    return findings_of(RULES[state], snapshot, policy)[0]


def first(finding: Finding) -> Fix:
    """The first fix that changes something."""
    return next(fix for fix in finding.fixes if fix.kind is not FixKind.CHECK)


@pytest.mark.parametrize("module", ["typing_extensions", "sympy", "mpmath.libmp"])
def test_what_a_release_requires_is_installed_with_it(module: str) -> None:
    finding = told(f"No module named '{module}'")
    assert first(finding).command == "/env/bin/python -m pip install torch==2.6.0"
    assert [fix.kind for fix in finding.fixes if fix.kind is not FixKind.CHECK] == [FixKind.FIX, FixKind.ELSE, FixKind.ELSE]


@pytest.mark.parametrize("module", ["torch", "torch._C", "torch.version"])
def test_missing_files_of_the_framework_itself_are_installed_again(module: str) -> None:
    assert "--force-reinstall torch==2.6.0" in first(told(f"No module named '{module}'")).command


def test_a_module_of_python_comes_with_python_alone() -> None:
    finding = told("No module named '_ctypes'")
    assert first(finding).title.startswith("Create the environment with a Python that has its module _ctypes")
    assert not [fix for fix in finding.fixes if "torch" in fix.command and fix.kind is not FixKind.CHECK]


@pytest.mark.parametrize(
    "error",
    [
        "libcublas.so.*[0-9] not found in the system path ['/env/lib/python3.11/site-packages']",
        "libcudart.so.12: cannot open shared object file: No such file or directory",
        "libtorch_cpu.so: cannot open shared object file: No such file or directory",
        "libgomp-a34b3233.so.1: cannot open shared object file: No such file or directory",
    ],
)
def test_a_library_that_a_wheel_brings_is_installed_with_its_wheel(error: str) -> None:
    assert "--force-reinstall torch==2.6.0" in first(told(error)).command


def test_a_library_of_the_system_is_not_in_a_wheel() -> None:
    fix = first(told("libnuma.so.1: cannot open shared object file: No such file or directory"))
    assert fix.title.startswith("Install the system package that contains libnuma.so.1;")


def test_other_folders_are_left_out_before_anything_is_installed() -> None:
    error = "/env/lib/libtorch_python.so: undefined symbol: somethingElse"
    folders = Environment({"LD_LIBRARY_PATH": "/opt/other/lib"})
    assert first(told(error, variables=folders)).command == "unset LD_LIBRARY_PATH"
    assert "--force-reinstall" in first(told(error)).command


def test_a_build_of_another_index_comes_from_there() -> None:
    cpu = torch(version=Fact("2.6.0+cpu", "version.py"), cuda_build=False)
    error = "was killed by SIGSEGV in importing PyTorch"
    assert "torch==2.6.0" not in first(told(error, StageState.CRASHED, cpu)).command
    fix = first(told(error, StageState.CRASHED, cpu, policy=Policy(level=None, allow_cpu=True)))
    assert fix.command.endswith("--force-reinstall torch==2.6.0+cpu --index-url https://download.pytorch.org/whl/cpu")


def test_a_build_of_nobody_known_has_no_command() -> None:
    own = torch(version=Fact("2.6.0a0+gitdf5bbc0", "version.py"))
    assert first(told("was killed by SIGSEGV in importing PyTorch", StageState.CRASHED, own)).command == ""


@pytest.mark.parametrize("signal", ["SIGKILL", "SIGTERM", "SIGXCPU"])
def test_no_release_helps_against_a_signal_from_outside(signal: str) -> None:
    finding = told(f"was killed by {signal} in importing PyTorch", StageState.CRASHED)
    assert finding.domain is Domain.JOB
    assert not [fix for fix in finding.fixes if "install" in f"{fix.title} {fix.command}".lower()]


@pytest.mark.parametrize("error", ["cannot import name 'x' from 'numpy'", "module 'numpy' has no attribute 'y'"])
def test_an_import_that_raises_wants_other_versions_of_its_requirements(error: str) -> None:
    assert first(told(error, framework=tensorflow())).command == "/env/bin/python -m pip install tensorflow==2.18.0"
