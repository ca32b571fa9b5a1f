from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import OutcomeKind, Policy, Severity
from gpudoctor.snapshot import Distribution, Fact, Framework, Host, Packages, Platform, Snapshot
from tests.builders import ABSENT, machine, tensorflow
from tests.diagnose.rules.asking import MATRIX
from tests.diagnose.rules.examined import findings
from tests.plan.samples import checked

SITE = "/env/lib/python3.9/site-packages"


def on(platform: Platform, *frameworks: Framework, installed: tuple[Distribution, ...], **changes: Any) -> Snapshot:
    host = Host(platform=platform, distribution="debian")
    return machine(1, frameworks=frameworks, packages=Packages(installed), host=host, **changes)


DIRECTML = Framework(
    name="tensorflow", distribution="tensorflow-directml", version=Fact("1.15.8", "dist-info"), location=f"{SITE}/tensorflow", cuda_build=False,
    built_with_cuda=ABSENT,
)  # fmt: skip


def test_directml_on_linux_is_named() -> None:
    own = Distribution("tensorflow-directml", "1.15.8", SITE)
    (found,) = findings(on(Platform.LINUX, DIRECTML, installed=(own,)), "cpu-only-build")
    assert found.severity is Severity.ERROR
    assert "tensorflow-directml needs DirectX" in found.message
    assert "WSL" in found.message


def test_directml_in_wsl_reaches_the_gpu() -> None:
    own = Distribution("tensorflow-directml", "1.15.8", SITE)
    assert findings(on(Platform.WSL2, DIRECTML, installed=(own,)), "cpu-only-build") == []


def test_the_directml_plugin_beside_tensorflow_for_the_cpu_is_named_too() -> None:
    cpu = msgspec.structs.replace(DIRECTML, distribution="tensorflow-cpu", version=Fact("2.10.0", "dist-info"))
    both = (Distribution("tensorflow-cpu", "2.10.0", SITE), Distribution("tensorflow-directml-plugin", "0.4.0", SITE))
    (found,) = findings(on(Platform.LINUX, cpu, installed=both), "cpu-only-build")
    assert "tensorflow-directml-plugin needs DirectX" in found.message


@pytest.mark.parametrize(
    ("names", "removed"),
    [
        (("tensorflow", "tensorflow-cpu"), ("tensorflow", "tensorflow-cpu")),
        (("tensorflow-cpu", "tensorflow"), ("tensorflow-cpu", "tensorflow")),
        (("tensorflow",), ()),
        (("tensorflow-cpu",), ("tensorflow-cpu",)),
    ],
)
def test_what_owns_the_files_together_is_removed_before_it_is_installed_again(names: tuple[str, ...], removed: tuple[str, ...]) -> None:
    """pip would take one of them for installed, and uninstalling the other takes the files away."""
    cpu = msgspec.structs.replace(DIRECTML, distribution=names[0], version=Fact("2.19.0", "dist-info"))
    installed = tuple(Distribution(name, "2.19.0", SITE) for name in names)
    (found,) = findings(on(Platform.LINUX, cpu, installed=installed), "cpu-only-build")
    assert found.fixes[0].removes == removed


JAX = Framework(
    name="jax", distribution="jax", version=Fact("0.4.8", "version.py"), location=f"{SITE}/jax", cuda_build=False, built_with_cuda=ABSENT
)


@pytest.mark.parametrize("line", ["jax (>=0.3.15)", "jax>=0.3.15"])
def test_jax_that_only_tensorflow_requires_degrades_nothing(line: str) -> None:
    asking = Distribution("tensorflow", "2.12.0", SITE, requires=(line,))
    mere = Distribution("jax", "0.4.8", SITE, requested=False)
    both = on(Platform.LINUX, tensorflow(version=Fact("2.12.0", "x")), JAX, installed=(asking, mere))
    assert findings(both, "cpu-only-build") == []
    (outcome,) = [one for one in diagnose(both, MATRIX, Policy(only=("cpu-only-build",))).outcomes if one.subject.key == "jax"]
    assert outcome.kind is OutcomeKind.NOT_APPLICABLE
    assert findings(both, "cpu-only-build", frameworks=("jax",)) != []


def test_jax_that_somebody_asked_for_is_judged() -> None:
    asking = Distribution("tensorflow", "2.12.0", SITE, requires=("jax (>=0.3.15)",))
    wanted = Distribution("jax", "0.4.8", SITE, requested=True)
    both = on(Platform.LINUX, tensorflow(version=Fact("2.12.0", "x")), JAX, installed=(asking, wanted))
    assert [finding.subject.key for finding in findings(both, "cpu-only-build")] == ["jax"]
    alone = msgspec.structs.replace(wanted, requested=False)
    assert findings(on(Platform.LINUX, JAX, installed=(alone,)), "cpu-only-build") != []


def debian(cuda: bool) -> Framework:
    return Framework(
        name="torch", distribution="torch", version=Fact("1.13.0a0", "torch/version.py"), location="/usr/lib/python3/dist-packages/torch",
        cuda_build=cuda, built_with_cuda=Fact("11.8", "torch/version.py") if cuda else ABSENT,
    )  # fmt: skip


def test_debians_own_torch_is_named_and_not_replaced_in_the_systems_python() -> None:
    own = Distribution("torch", "1.13.0a0+gitunknown", "/usr/lib/python3/dist-packages")
    snapshot = on(Platform.LINUX, debian(cuda=False), installed=(own,))
    python = msgspec.structs.replace(snapshot.python, executable="/usr/bin/python3", kind="system", managed=True)
    (found,) = findings(msgspec.structs.replace(snapshot, python=python), "cpu-only-build")
    assert "Debian package python3-torch" in found.message
    commands = [fix.command for fix in found.fixes if " install " in fix.command]
    assert commands
    assert all("-m venv" in command and "/usr/bin/python3 -m pip" not in command for command in commands)


def test_a_release_without_a_wheel_for_the_python_is_told_once() -> None:
    errors = [cause.name for cause in checked("jax==0.10.0", python="3.8").root_causes if cause.severity is Severity.ERROR]
    assert errors == ["python-version-unsupported"]
