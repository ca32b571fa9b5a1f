from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Cause, Distribution, Fact, FoundBy, Framework, FrameworkLibraries, Libraries, Missing, Packages, Place
from tests.builders import smoke, tensorflow, torch
from tests.diagnose.rules.examined import JAX, SITE, environment, findings, only, outcome, use

INDEX = "https://download.pytorch.org/whl"


def test_a_framework_whose_files_are_not_there_is_no_pass() -> None:
    gone = FrameworkLibraries(framework="tensorflow", code=Missing(Cause.ABSENT, "none of its files exists"), uses=())
    assert outcome(environment(libraries=Libraries(frameworks=(gone,))), "cuda-library-missing") is OutcomeKind.COULD_NOT_TELL


def test_another_release_on_disk_is_said() -> None:
    elsewhere = (Place(f"{SITE}/nvidia/cu13/lib/libcudart.so.13", "wheel", FoundBy.WHEEL),)
    found = only(environment(use("cudart", "libcudart.so.12", elsewhere=elsewhere)), "cuda-library-missing")
    assert "libcudart.so.13 is a different version" in found.message


@pytest.mark.parametrize(
    ("framework", "command"),
    [
        (tensorflow(), "'tensorflow[and-cuda]==2.18.0'"),
        (torch(), "nvidia-cublas-cu12=="),
        (JAX, "'jax[cuda12]==0.4.38'"),
    ],
)
def test_the_fix_is_the_frameworks_own(framework: Framework, command: str) -> None:
    found = only(environment(use("cudart", "libcudart.so.12"), framework=framework), "cuda-library-missing")
    assert found.fixes[0].command.startswith(f"/env/bin/python -m pip install {command}")


@pytest.mark.parametrize(
    ("requires", "pins"),
    [
        (("nvidia-cuda-runtime-cu12 (==12.4.127)", "sympy"), "nvidia-cuda-runtime-cu12==12.4.127"),
        (("nvidia-cuda-runtime-cu12==12", "nvidia-cufft-cu12==11"), "nvidia-cuda-runtime-cu12==12 nvidia-cufft-cu12==11"),
        (("nvidia-cuda-runtime<14,>=12",), "'nvidia-cuda-runtime<14,>=12'"),
        (("nvidia-cufft-cu12==11.2.1.3",), ""),
        (("nvidia-cuda-runtime-cu12==12.4.127; sys_platform == 'win32'",), ""),
    ],
)
def test_what_the_frameworks_metadata_requires_and_is_absent_is_installed(requires: tuple[str, ...], pins: str) -> None:
    seen = environment(use("cudart", "libcudart.so.12"), framework=torch())
    own = Distribution("torch", "2.6.0", SITE, requires=requires)
    found = only(msgspec.structs.replace(seen, packages=Packages((own,))), "cuda-library-missing")
    commands = [fix.command for fix in found.fixes]
    assert commands[-1].endswith("--force-reinstall torch==2.6.0")
    assert [command.partition(" install ")[2] for command in commands[:-1]] == ([pins] if pins else [])


def test_an_old_tensorflow_has_no_package_for_them() -> None:
    old = tensorflow(version=Fact("2.10.1", "dist-info"), built_with_cuda=Fact("11.2", "build_info.py"))
    found = only(environment(use("cudart", "libcudart.so.11.0"), framework=old), "cuda-library-missing")
    assert not found.fixes[0].command
    assert "libcudart.so.11.0" in found.fixes[0].title


def test_optional_libraries_may_be_missing() -> None:
    assert outcome(environment(use("cupti", "libcupti.so.12", vital=False)), "cuda-library-missing") is OutcomeKind.PASSED


def test_a_library_that_could_not_be_read_is_not_said_to_be_nowhere() -> None:
    failed = use("cudart", "libcudart.so.12", file=Missing(Cause.FAILED, "the search was given up"))
    assert findings(environment(failed), "cuda-library-missing") == []


def test_where_it_was_seen_to_train_it_is_a_note() -> None:
    snapshot = environment(use("cudart", "libcudart.so.12"), smoke=(smoke(1),))
    assert only(snapshot, "cuda-library-missing").severity is Severity.NOTE


@pytest.mark.parametrize(
    ("version", "packages", "pin"),
    [
        ("2.6.0+cu124", True, "torch==2.6.0"),
        ("2.6.0", True, "torch==2.6.0"),
        ("2.6.0+cu118", True, f"torch==2.6.0+cu118 --index-url {INDEX}/cu118"),
        ("2.6.0+cu124", False, f"torch==2.6.0+cu124 --index-url {INDEX}/cu124"),
        ("2.6.0+custom", True, "torch==2.6.0"),
        ("2.6.0+git7c1a", True, "torch==2.6.0"),
        ("9.9.9+cu124", True, f"torch==9.9.9+cu124 --index-url {INDEX}/cu124"),
    ],
)
def test_the_same_build_is_reinstalled_from_the_index_that_has_it(version: str, packages: bool, pin: str) -> None:
    changes: dict[str, Any] = {} if packages else {"packages": Missing(Cause.TIMED_OUT, "it took more than 60 s")}
    snapshot = environment(use("cudart", "libcudart.so.12"), framework=torch(version=Fact(version, "torch/version.py")), **changes)
    fix = only(snapshot, "cuda-library-missing").fixes[-1]
    assert fix.command == f"/env/bin/python -m pip install --force-reinstall {pin}"
