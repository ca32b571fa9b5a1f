"""DirectML on Linux, JAX as a mere requirement, parts of add-ons, and a framework of the distribution's."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Finding, Level, OutcomeKind, Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import (
    Damage,
    DamageKind,
    Distribution,
    Extension,
    Fact,
    Framework,
    FrameworkLibraries,
    GpuCode,
    Host,
    Libraries,
    Packages,
    Platform,
    Snapshot,
)
from tests.builders import ABSENT, machine, tensorflow, torch

SITE = "/env/lib/python3.9/site-packages"


def on(platform: Platform, *frameworks: Framework, installed: tuple[Distribution, ...], **changes: Any) -> Snapshot:
    host = Host(platform=platform, distribution="debian")
    return machine(1, frameworks=frameworks, packages=Packages(installed), host=host, **changes)


def findings(snapshot: Snapshot, matrix: Matrix, name: str, **policy: Any) -> list[Finding]:
    return list(diagnose(snapshot, matrix, Policy(level=Level.LOOK, only=(name,), **policy)).findings)


DIRECTML = Framework(
    name="tensorflow", distribution="tensorflow-directml", version=Fact("1.15.8", "dist-info"), location=f"{SITE}/tensorflow", cuda_build=False,
    built_with_cuda=ABSENT,
)  # fmt: skip


def test_directml_on_linux_is_named(matrix: Matrix) -> None:
    own = Distribution("tensorflow-directml", "1.15.8", SITE)
    (found,) = findings(on(Platform.LINUX, DIRECTML, installed=(own,)), matrix, "cpu-only-build")
    assert found.severity is Severity.ERROR
    assert "tensorflow-directml uses DirectX" in found.message
    assert "WSL" in found.message


def test_directml_in_wsl_reaches_the_gpu(matrix: Matrix) -> None:
    own = Distribution("tensorflow-directml", "1.15.8", SITE)
    assert findings(on(Platform.WSL2, DIRECTML, installed=(own,)), matrix, "cpu-only-build") == []


def test_the_directml_plugin_beside_tensorflow_for_the_cpu_is_named_too(matrix: Matrix) -> None:
    cpu = msgspec.structs.replace(DIRECTML, distribution="tensorflow-cpu", version=Fact("2.10.0", "dist-info"))
    both = (Distribution("tensorflow-cpu", "2.10.0", SITE), Distribution("tensorflow-directml-plugin", "0.4.0", SITE))
    (found,) = findings(on(Platform.LINUX, cpu, installed=both), matrix, "cpu-only-build")
    assert "tensorflow-directml-plugin uses DirectX" in found.message


JAX = Framework(
    name="jax", distribution="jax", version=Fact("0.4.8", "version.py"), location=f"{SITE}/jax", cuda_build=False, built_with_cuda=ABSENT
)


@pytest.mark.parametrize("line", ["jax (>=0.3.15)", "jax>=0.3.15"])
def test_jax_that_only_tensorflow_requires_degrades_nothing(matrix: Matrix, line: str) -> None:
    asking = Distribution("tensorflow", "2.12.0", SITE, requires=(line,))
    mere = Distribution("jax", "0.4.8", SITE, requested=False)
    both = on(Platform.LINUX, tensorflow(version=Fact("2.12.0", "x")), JAX, installed=(asking, mere))
    assert findings(both, matrix, "cpu-only-build") == []
    (outcome,) = [one for one in diagnose(both, matrix, Policy(only=("cpu-only-build",))).outcomes if one.subject.key == "jax"]
    assert outcome.kind is OutcomeKind.NOT_APPLICABLE
    assert findings(both, matrix, "cpu-only-build", frameworks=("jax",)) != []


def test_jax_that_somebody_asked_for_is_judged(matrix: Matrix) -> None:
    asking = Distribution("tensorflow", "2.12.0", SITE, requires=("jax (>=0.3.15)",))
    wanted = Distribution("jax", "0.4.8", SITE, requested=True)
    both = on(Platform.LINUX, tensorflow(version=Fact("2.12.0", "x")), JAX, installed=(asking, wanted))
    assert [one.subject.key for one in findings(both, matrix, "cpu-only-build")] == ["jax"]
    alone = msgspec.structs.replace(wanted, requested=False)
    assert findings(on(Platform.LINUX, JAX, installed=(alone,)), matrix, "cpu-only-build") != []


def vllm(*parts: tuple[str, GpuCode]) -> Snapshot:
    extensions = tuple(
        Extension("vllm", "0.11.0", "torch", f"{SITE}/vllm/{file}", code=code, wanted=(), undefined=()) for file, code in parts
    )
    seen = Libraries(frameworks=(FrameworkLibraries("torch", uses=(), code=GpuCode(("sm_80",), ())),), extensions=extensions)
    return machine(1, frameworks=(torch(),), libraries=seen, packages=Packages((Distribution("vllm", "0.11.0", SITE),)))


HOPPER, ALL = GpuCode(("sm_90a",), ()), GpuCode(("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_120"), ("compute_120",))


def test_a_library_for_one_kind_of_gpu_does_not_stand_for_the_add_on(matrix: Matrix) -> None:
    (found,) = findings(vllm(("_C.abi3.so", ALL), ("_flashmla_C.abi3.so", HOPPER)), matrix, "extension-missing-arch")
    assert found.severity is Severity.NOTE
    assert "_flashmla_C.abi3.so" in found.message


def test_the_main_library_does(matrix: Matrix) -> None:
    (found,) = findings(vllm(("_C.abi3.so", HOPPER), ("_flashmla_C.abi3.so", HOPPER)), matrix, "extension-missing-arch")
    assert found.severity is Severity.WARNING
    assert "vllm 0.11.0 has no kernels for" in found.message


def debian(cuda: bool) -> Framework:
    return Framework(
        name="torch", distribution="torch", version=Fact("1.13.0a0", "torch/version.py"), location="/usr/lib/python3/dist-packages/torch",
        cuda_build=cuda, built_with_cuda=Fact("11.8", "torch/version.py") if cuda else ABSENT,
    )  # fmt: skip


def test_debians_own_torch_is_named_and_not_replaced_in_the_systems_python(matrix: Matrix) -> None:
    own = Distribution("torch", "1.13.0a0+gitunknown", "/usr/lib/python3/dist-packages")
    snapshot = on(Platform.LINUX, debian(cuda=False), installed=(own,))
    python = msgspec.structs.replace(snapshot.python, executable="/usr/bin/python3", kind="system", managed=True)
    (found,) = findings(msgspec.structs.replace(snapshot, python=python), matrix, "cpu-only-build")
    assert "Debian's package python3-torch" in found.message
    commands = [fix.command for fix in found.fixes if " install " in fix.command]
    assert commands
    assert all("-m venv" in command and "/usr/bin/python3 -m pip" not in command for command in commands)


def test_debians_own_torch_is_reinstalled_by_apt(matrix: Matrix) -> None:
    broken = (Damage("/usr/lib/python3/dist-packages/torch/lib/libtorch_cuda.so", DamageKind.EMPTY, "an empty file"),)
    seen = Libraries(frameworks=(FrameworkLibraries("torch", uses=(), broken=broken),))
    own = Distribution("torch", "1.13.0a0+gitunknown", "/usr/lib/python3/dist-packages")
    (found,) = findings(on(Platform.LINUX, debian(cuda=True), installed=(own,), libraries=seen), matrix, "framework-files-damaged")
    assert found.fixes[0].command == "sudo apt-get install --reinstall python3-torch-cuda"
