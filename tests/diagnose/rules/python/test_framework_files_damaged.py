from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import (
    Cause,
    Damage,
    DamageKind,
    Distribution,
    Fact,
    FrameworkLibraries,
    Libraries,
    Missing,
    Packages,
    Snapshot,
    Variables,
)
from tests.builders import machine, torch
from tests.diagnose.rules.examined import environment, only, outcome

RULE = "framework-files-damaged"
LIBRARY = "/usr/lib/python3/dist-packages/torch/lib/libtorch_cuda.so"


def damaged(*broken: Damage, location: str = "/env/lib/python3.12/site-packages/torch") -> Snapshot:
    framework = torch(version=Fact("1.13.0a0", "torch/version.py"), location=location)
    seen = FrameworkLibraries("torch", uses=(), broken=broken)
    return environment(framework=framework, wheels="torch 1.13.0a0", libraries=Libraries(frameworks=(seen,)))


def test_debians_own_torch_is_reinstalled_by_apt() -> None:
    found = only(damaged(Damage(LIBRARY, DamageKind.EMPTY, "an empty file"), location="/usr/lib/python3/dist-packages/torch"), RULE)
    assert found.fixes[0].command == "sudo apt-get install --reinstall python3-torch-cuda"


def test_another_is_reinstalled_by_pip() -> None:
    found = only(damaged(Damage(LIBRARY, DamageKind.EMPTY, "an empty file")), RULE)
    assert found.fixes[0].command.endswith("torch==1.13.0a0")


@pytest.mark.parametrize(("owner", "pin"), [("numpy", "numpy==2.1.3"), ("sympy", "sympy==1.13.1"), ("", "torch==1.13.0a0")])
def test_a_file_of_a_required_package_is_reinstalled_with_that_package(owner: str, pin: str) -> None:
    packages = Packages((Distribution("torch", "1.13.0a0", "/env"), Distribution("numpy", "2.1.3", "/env")), others=("sympy==1.13.1",))
    seen = damaged(Damage("/env/x/core.py", DamageKind.MISSING, "gone", owner=owner, asked_by="/env/x/__init__.py"))
    found = only(msgspec.structs.replace(seen, packages=packages), RULE)
    assert found.fixes[0].command.endswith(f"--no-deps {pin}")
    assert "/env/x/core.py, which x/__init__.py needs, is missing" in found.message
    assert found.title.startswith("Files of a required package" if owner else "Files of the framework")


def test_a_build_of_another_index_is_reinstalled_from_there() -> None:
    """The default index has a build for another CUDA, whose libraries are not installed."""
    broken = (Damage("/env/torch/x.py", DamageKind.EMPTY, "empty"), Damage("/env/numpy/x.py", DamageKind.EMPTY, "empty", owner="numpy"))
    packages = Packages((Distribution("torch", "2.4.1+cu118", "/env"), Distribution("numpy", "2.1.3", "/env")))
    seen = damaged(*broken)
    changed = msgspec.structs.replace(seen, packages=packages, frameworks=(torch(version=Fact("2.4.1+cu118", "torch/version.py")),))
    of_torch, of_numpy = only(changed, RULE).fixes
    assert of_torch.command.endswith("--no-deps torch==2.4.1+cu118 --index-url https://download.pytorch.org/whl/cu118")
    assert of_numpy.command.endswith("--no-deps numpy==2.1.3")


@pytest.mark.parametrize(("path", "fix"), [("/other/3.12:/x", "unset PYTHONPATH"), ("", "python -m pip install --force-reinstall")])
def test_a_file_for_another_python_is_left_or_replaced(path: str, fix: str) -> None:
    seen = damaged(Damage("/other/3.12/numpy/c.so", DamageKind.ANOTHER_PYTHON, "compiled for Python 3.12", owner="numpy"))
    packages = Packages((Distribution("numpy", "2.1.3", "/other/3.12"),))
    changed = msgspec.structs.replace(seen, packages=packages, variables=Variables({"PYTHONPATH": path} if path else {}))
    found = only(changed, RULE)
    assert fix in found.fixes[0].command
    assert found.message.endswith("/other/3.12/numpy/c.so cannot be loaded (compiled for Python 3.12).")


def test_other_outcomes() -> None:
    assert outcome(environment(framework=torch()), RULE) is OutcomeKind.PASSED
    assert outcome(machine(1), RULE) is OutcomeKind.NOT_ASKED
    assert outcome(environment(libraries=Missing(Cause.TIMED_OUT, "did not respond")), RULE) is OutcomeKind.COULD_NOT_TELL
