"""The rules on packages and platforms, over supposed environments and small tables; whole machines are recorded."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Confidence, Finding, Level, OutcomeKind, Policy, Severity
from gpudoctor.frameworks import framework_of
from gpudoctor.matrix_files import open_matrix
from gpudoctor.snapshot import (
    Cause,
    Distribution,
    Fact,
    Framework,
    Host,
    Missing,
    Nvml,
    NvmlGpu,
    Packages,
    Platform,
    Python,
    Snapshot,
    Toolkit,
)
from tests.builders import ABSENT, machine, tensorflow, torch
from tests.matrix.samples import matrix

UNSTATED = Missing(Cause.NOT_STATED, "it was not stated")
WINDOWS, MAC = Host(platform=Platform.WINDOWS, architecture="x86_64"), Host(platform=Platform.MACOS, architecture="arm64")
LINUX, ARM = Host(platform=Platform.LINUX, architecture="x86_64"), Host(platform=Platform.LINUX, architecture="aarch64")
GPU = Nvml(gpus=(NvmlGpu(0, address=UNSTATED, name="NVIDIA A100-SXM4-80GB", compute_capability="8.0"),))
TABLES = matrix(
    sources="wheels,Wheels,,2026-01-02",
    tensorflow="""
tensorflow,2.10.1,linux_x86_64,3.8 3.9 3.10,cuda,11.2,8.1,,,,,,,wheels,
tensorflow,2.10.1,win_amd64,3.8 3.9 3.10,cuda,11.2,8.1,,,,,,,wheels,
tensorflow,2.17.0,linux_aarch64,3.9 3.10 3.11 3.12,cpu,,,,,,1,,,wheels,
tensorflow,2.17.0,linux_x86_64,3.9 3.10 3.11 3.12,cuda,12.3,8.9,,,,1,,,wheels,
tensorflow,2.17.0,win_amd64,3.9 3.10 3.11 3.12,cpu,,,,,,1,,,wheels,
tensorflow,2.17.1,linux_x86_64,3.9 3.10 3.11 3.12,cuda,12.3,8.9,,,,1,,,wheels,
tensorflow,2.21.0,linux_x86_64,3.10 3.11 3.12 3.13,cuda,12.5,9.3,,,,2,,,wheels,
tensorflow-gpu,2.11.0,linux_x86_64,3.8 3.9 3.10,cuda,11.2,8.1,,,,,,,wheels,
tensorflow-gpu,2.12.0,any,,stub,,,,,,,,,wheels,
""",
    torch="""
torch,2.2.2,linux_x86_64,3.11,cuda,12.1,8.9,,,,1,,,wheels,
torch,2.2.2,macos_arm64,3.11,metal,,,,,,1,,,wheels,
torch,2.2.2,win_amd64,3.11,cpu,,,,,,1,,,wheels,
torch,2.8.0,linux_x86_64,3.11,cuda,12.8,9.10,,,,2,cpu cu126,,wheels,
""",
    jax="""
jax,0.8.0,any,3.11,none,,,,,,,,,wheels,
jax-cuda12-plugin,0.8.0,linux_x86_64,3.11,cuda,12.9,9.8,,,,2,,,wheels,
""",
    bounds="""
jaxlib,compares-plugins,0.5.3,wheels
tensorflow,no-cuda-on-windows,2.11,wheels
""",
)


def stated(name: str, version: str, *requires: str, **changes: Any) -> Distribution:
    whole = Distribution(name, version, f"stated: {name}", requirement=name, requires=requires or UNSTATED)
    return msgspec.structs.replace(whole, **changes)


def supposed(*distributions: Distribution, host: Host = LINUX, python: str = "3.11", **changes: Any) -> Snapshot:
    """A machine that is only stated: one A100 and these packages."""
    frameworks = tuple(
        Framework(name=name, distribution=one.name, version=Fact(one.version, one.where), cuda_build=UNSTATED, built_with_cuda=UNSTATED)
        for one in distributions
        if (name := framework_of(one.name))
    )
    whole = Snapshot(
        created="2026-01-02T03:04:05Z",
        origin="supposed",
        host=host,
        nvml=GPU,
        python=Python(f"python{python}", "--python-version", version=python),
        packages=Packages(distributions),
        frameworks=frameworks,
        toolkits=UNSTATED,
        variables=UNSTATED,
    )
    return msgspec.structs.replace(whole, **changes)


def found(snapshot: Snapshot, **policy: Any) -> list[Finding]:
    return list(diagnose(snapshot, TABLES, Policy(**{"level": None, **policy})).findings)


def roots(snapshot: Snapshot) -> list[tuple[str, str]]:
    return [(one.name, str(one.severity)) for one in found(snapshot) if not one.because_of]


def outcome(snapshot: Snapshot, name: str) -> OutcomeKind:
    diagnosis = diagnose(snapshot, TABLES, Policy(level=Level.LOOK))
    return next(one.kind for one in diagnosis.outcomes if one.name == name)


NUMPY_2 = stated("numpy", "2.0.2")


@pytest.mark.parametrize(
    ("packages", "expected"),
    [
        ((stated("torch", "2.2.2"), NUMPY_2), [("numpy2-abi-mismatch", "error")]),
        ((stated("torch", "2.2.2"), stated("numpy", "1.26.4")), []),
        ((stated("torch", "2.8.0"), NUMPY_2), []),
        ((stated("tensorflow", "2.17.0", "numpy<2.0.0,>=1.26.0"), NUMPY_2), [("numpy2-abi-mismatch", "error")]),
        ((stated("tensorflow", "2.21.0", "numpy<2.1.0,>=1.26"), stated("numpy", "2.1.0")), [("package-requirement-conflict", "error")]),
        ((stated("tensorflow", "2.21.0", "protobuf<8,>=6.31.1"), stated("protobuf", "5.29.5")), [("protobuf-mismatch", "error")]),
        ((stated("tensorflow", "2.21.0", "protobuf<8,>=6.31.1"), stated("protobuf", "8.0")), [("protobuf-mismatch", "error")]),
        ((stated("tensorflow", "2.17.0", "keras<2.16,>=2.15"), stated("keras", "3.0.0")), [("keras3-mismatch", "error")]),
        ((stated("tensorflow", "2.17.0", "keras>=3.2"), stated("keras", "2.15.0")), [("keras3-mismatch", "error")]),
        ((stated("tensorflow", "2.17.0", "keras>=3.2"), stated("keras", "3.0.0")), [("package-requirement-conflict", "error")]),
        ((stated("torch", "2.8.0"), stated("torchvision", "0.22.0", "torch==2.7.0")), [("torch-torchvision-mismatch", "error")]),
        ((stated("torch", "2.8.0"), stated("torchaudio", "2.7.0", "torch==2.7.0")), [("torch-torchaudio-mismatch", "error")]),
        ((stated("torch", "2.8.0"), stated("vllm", "0.9.0", "torch==2.7.0")), [("package-requirement-conflict", "error")]),
        (
            (stated("torch", "2.8.0", "nvidia-nccl-cu12==2.27.3"), stated("nvidia-nccl-cu12", "2.21")),
            [("nvidia-wheel-version-conflict", "error")],
        ),
    ],
)
def test_unmet_requirements_have_the_more_exact_name(packages: tuple[Distribution, ...], expected: list[tuple[str, str]]) -> None:
    assert roots(supposed(*packages)) == expected


def test_the_version_of_cudnn_is_another_rules_business() -> None:
    snapshot = supposed(stated("torch", "2.8.0", "nvidia-cudnn-cu12==9.10.2.21"), stated("nvidia-cudnn-cu12", "9.1.0.70"))
    assert not {name for name, _ in roots(snapshot)} & {"nvidia-wheel-version-conflict", "package-requirement-conflict"}


def test_pins_of_two_frameworks_that_cannot_hold_together_are_one_conflict() -> None:
    pins = ("nvidia-cublas-cu12==12.5.3.2", "nvidia-nccl-cu12==2.21.5", "protobuf<5")
    snapshot = supposed(
        stated("torch", "2.2.2", "nvidia-cublas-cu12==12.1.3.1", "nvidia-nccl-cu12==2.19.3"),
        stated("tensorflow", "2.17.0", *pins),
        stated("jax", "0.8.0", "protobuf>=5", extras=("cuda12",)),
    )
    assert roots(snapshot)[:2] == [("nvidia-wheel-version-conflict", "error"), ("package-requirement-conflict", "error")]
    (nvidia,) = (one for one in found(snapshot) if one.name == "nvidia-wheel-version-conflict")
    assert "torch 2.2.2 requires nvidia-cublas-cu12==12.1.3.1" in nvidia.message
    assert nvidia.message.endswith("The same holds for nvidia-nccl-cu12.")


@pytest.mark.parametrize(
    ("packages", "host", "expected"),
    [
        ((stated("tensorflow", "2.17.0"),), WINDOWS, [("windows-native-no-gpu", "error")]),
        ((stated("tensorflow", "2.10.1"),), WINDOWS, [("python-version-unsupported", "error")]),
        ((stated("tensorflow", "2.99.0"),), WINDOWS, [("windows-native-no-gpu", "error")]),
        ((stated("jax", "0.8.0", extras=("cuda12",)),), WINDOWS, [("windows-native-no-gpu", "error")]),
        ((stated("torch", "2.2.2"),), WINDOWS, [("no-cuda-wheel-for-platform", "error")]),
        ((stated("torch", "2.2.2"),), MAC, [("no-cuda-wheel-for-platform", "error")]),
        ((stated("tensorflow", "2.17.0"),), ARM, [("no-cuda-wheel-for-platform", "error")]),
        ((stated("tensorflow", "2.17.0"),), LINUX, []),
        ((stated("torch", "2.8.0"),), WINDOWS, [("package-not-installable", "error")]),
    ],
)
def test_the_platforms_name_comes_first(packages: tuple[Distribution, ...], host: Host, expected: list[tuple[str, str]]) -> None:
    assert roots(supposed(*packages, host=host)) == expected


def test_a_build_without_cuda_is_a_consequence_of_the_platform() -> None:
    findings = found(supposed(stated("torch", "2.2.2"), host=WINDOWS))
    assert [(one.name, bool(one.because_of)) for one in findings] == [("no-cuda-wheel-for-platform", False), ("cpu-only-build", True)]
    known = diagnose(supposed(stated("torch", "2.8.0"), host=WINDOWS), open_matrix(), Policy(level=None)).findings
    assert re.search(r"torch==([\d.]+)\+(cu\d+) --index-url https://download\.pytorch\.org/whl/\2$", known[0].fixes[0].command)
    assert "Windows (amd64) only without CUDA; its CUDA builds are for Linux (x86_64)" in findings[0].message


@pytest.mark.parametrize("host", [WINDOWS, MAC, ARM])
def test_without_a_gpu_a_build_without_cuda_is_no_fault(host: Host) -> None:
    packages = (stated("torch", "2.2.2"), stated("tensorflow", "2.17.0"))
    names = {name for name, _ in roots(supposed(*packages, host=host, nvml=UNSTATED))}
    assert not names & {"no-cuda-wheel-for-platform", "windows-native-no-gpu", "cpu-only-build"}


def test_directml_reaches_the_gpu_on_windows() -> None:
    packages = (stated("tensorflow-cpu", "2.12.0"), stated("tensorflow-directml-plugin", "0.4.0"))
    assert outcome(supposed(*packages, host=WINDOWS), "windows-native-no-gpu") is OutcomeKind.NOT_APPLICABLE


def test_the_plugin_that_windows_has_not_is_part_of_the_same() -> None:
    plugin = Distribution("jax-cuda12-plugin", "0.8.0", "jax[cuda12] 0.8.0")
    findings = found(supposed(stated("jax", "0.8.0", extras=("cuda12",)), plugin, host=WINDOWS))
    assert [(one.name, bool(one.because_of)) for one in findings] == [("windows-native-no-gpu", False), ("package-not-installable", True)]


@pytest.mark.parametrize(
    ("package", "python", "words"),
    [
        (stated("tensorflow", "2.21.0"), "3.9", "wheels for Python 3.10 to 3.13 on Linux (x86_64), but none for 3.9"),
        (stated("tensorflow", "2.21.0"), "3.14", "none for 3.14"),
        (stated("torch", "2.8.0"), "3.8", "wheels for Python 3.11 on"),
    ],
)
def test_a_python_without_a_wheel_is_named_with_one_that_has(package: Distribution, python: str, words: str) -> None:
    (finding,) = found(supposed(package, python=python))
    assert (finding.name, finding.severity) == ("python-version-unsupported", Severity.ERROR)
    assert words in finding.message
    assert re.match(r'python3\.\d+ -m venv "\$HOME"/training && "\$HOME"/training/bin/python -m pip install ', finding.fixes[0].command)


def test_the_newest_release_for_this_python_is_offered() -> None:
    findings = diagnose(supposed(stated("tensorflow", "2.21.0"), python="3.9"), open_matrix(), Policy(level=None)).findings
    assert [one.name for one in findings] == ["python-version-unsupported", "cuda-library-missing"]
    finding = findings[0]
    assert finding.fixes[1].command == "python3.9 -m pip install 'tensorflow[and-cuda]==2.20.0'"
    assert finding.fixes[0].command.startswith('python3.10 -m venv "$HOME"/training && ')


@pytest.mark.parametrize("version", ["2.10.1", "2.17.0"])
def test_pythons_at_the_bounds_have_a_wheel(version: str) -> None:
    assert roots(supposed(stated("tensorflow", version), python="3.9")) == []
    assert roots(supposed(stated("tensorflow", version), python="3.10")) == []


def test_an_installed_release_was_installable() -> None:
    live = machine(
        1, packages=Packages((Distribution("tensorflow", "2.21.0", "/site"),)), python=Python("python", "named", version="3.9.1")
    )
    assert outcome(live, "python-version-unsupported") is OutcomeKind.NOT_APPLICABLE
    assert outcome(live, "package-not-installable") is OutcomeKind.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("package", "words"),
    [
        (stated("tensorflow-gpu", "2.12.0"), "tensorflow-gpu 2.12.0 is a stub"),
        (stated("tensorflow", "2.17.7"), "tensorflow 2.17.7 does not exist; releases of 2.17: 2.17.0 2.17.1"),
    ],
)
def test_what_is_not_there_cannot_be_installed(package: Distribution, words: str) -> None:
    (finding,) = found(supposed(package))
    assert finding.name == "package-not-installable"
    assert words in finding.message


@pytest.mark.parametrize("version", ["2.22.0", "2.10.0", "2.15.0", "2.17.0rc1", "3.0.0.dev20260101", "2.17.0+mine"])
def test_what_the_tables_cannot_know_is_no_fault(version: str) -> None:
    assert roots(supposed(stated("tensorflow", version))) == []


@pytest.mark.parametrize("version", ["2.8.0+cu126", "2.8.0+cpu", "2.8.0+mine", "2.2.2+cu118", "2.9.0+cu129", "1.8.0+cu101", "2.8.0+cu118"])
def test_builds_that_are_official_or_not_known_are_no_fault(version: str) -> None:
    assert "package-not-installable" not in dict(roots(supposed(stated("torch", version))))


JAX = (stated("jax", "0.8.0"), stated("jaxlib", "0.8.0"))


@pytest.mark.parametrize(
    ("packages", "words"),
    [
        ((stated("jax", "0.4.38"), stated("jaxlib", "0.5.0")), "jaxlib 0.5.0 is newer than jax 0.4.38"),
        ((*JAX, stated("jax-cuda12-plugin", "0.7.2")), "jax-cuda12-plugin 0.7.2 does not match jaxlib 0.8.0"),
        ((stated("jax", "0.8.0", "jaxlib<=0.8.0,>=0.8.0"), stated("jaxlib", "0.7.0")), "jax 0.8.0 requires jaxlib<=0.8.0,>=0.8.0"),
    ],
)
def test_what_jax_refuses_at_import_is_said(packages: tuple[Distribution, ...], words: str) -> None:
    (finding,) = (one for one in found(supposed(*packages)) if one.name == "jax-plugin-version-mismatch")
    assert words in finding.message
    assert finding.severity is Severity.ERROR


@pytest.mark.parametrize(("jaxlib", "refused"), [("0.5.1", False), ("0.5.3", True)])
def test_a_jaxlib_before_0_5_3_does_not_compare_its_plugins_release(jaxlib: str, refused: bool) -> None:
    packages = (stated("jax", jaxlib), stated("jaxlib", jaxlib), stated("jax-cuda12-plugin", "0.5.0"))
    diagnosis = diagnose(supposed(*packages), TABLES, Policy(level=None))
    assert [one.name for one in diagnosis.findings if one.name == "jax-plugin-version-mismatch"] == [
        "jax-plugin-version-mismatch"
    ] * refused
    assert any("takes it without comparing" in one.reason for one in diagnosis.not_judged) is not refused


@pytest.mark.parametrize("packages", [JAX, (*JAX, stated("jax-cuda12-plugin", "0.8.0")), (stated("jax", "0.8.0"),)])
def test_parts_of_one_release_of_jax_fit(packages: tuple[Distribution, ...]) -> None:
    assert not [one for one in found(supposed(*packages)) if one.name == "jax-plugin-version-mismatch"]


@pytest.mark.parametrize(
    ("vision", "fits"),
    [("0.21.0+cu124", True), ("0.21.0", True), ("0.21.0+cu118", False), ("0.21.0+cpu", False)],
)
def test_torch_and_torchvision_must_be_built_for_one_cuda(vision: str, fits: bool) -> None:
    packages = Packages(
        (Distribution("torch", "2.6.0+cu124", "/site"), Distribution("torchvision", vision, "/site", requires=("torch==2.6.0",)))
    )
    live = machine(1, packages=packages, frameworks=(torch(),))
    assert outcome(live, "torch-torchvision-mismatch") is (OutcomeKind.PASSED if fits else OutcomeKind.FOUND)


def toolkit(version: str) -> tuple[Toolkit, ...]:
    return (Toolkit(path="/usr/local/cuda", toolkit_cuda=Fact(version, "version.json")),)


CUPY = Distribution("cupy-cuda12x", "13.6.0", "/site")


@pytest.mark.parametrize(
    ("packages", "toolkits", "kind"),
    [
        ((CUPY,), toolkit("12.4"), OutcomeKind.PASSED),
        ((CUPY,), toolkit("11.8"), OutcomeKind.FOUND),
        ((CUPY,), (*toolkit("11.8"), *toolkit("12.4")), OutcomeKind.PASSED),
        ((CUPY,), (), OutcomeKind.PASSED),
        ((CUPY,), UNSTATED, OutcomeKind.PASSED),
        ((CUPY, Distribution("nvidia-cuda-runtime-cu12", "12.4.127", "/site")), toolkit("11.8"), OutcomeKind.PASSED),
        ((Distribution("cupy", "13.6.0", "/site"),), toolkit("11.8"), OutcomeKind.PASSED),
        ((CUPY, Distribution("cupy-cuda11x", "13.6.0", "/site")), (), OutcomeKind.FOUND),
        ((), (), OutcomeKind.NOT_APPLICABLE),
    ],
)
def test_cupy_is_held_against_the_cuda_that_is_there(packages: tuple[Distribution, ...], toolkits: Any, kind: OutcomeKind) -> None:
    live = machine(1, packages=Packages(packages), toolkits=toolkits)
    assert outcome(live, "cupy-wheel-cuda-mismatch") is kind


def live(*packages: Distribution, **changes: Any) -> Snapshot:
    return machine(1, packages=Packages(packages), **changes)


@pytest.mark.parametrize(
    ("package", "requires", "version", "severity"),
    [
        ("protobuf", "protobuf<4,>=3.9.2", "4.25.0", Severity.ERROR),
        ("protobuf", "protobuf<5,>=3.20.3", "5.28.0", Severity.WARNING),
        ("protobuf", "protobuf>=6.31.1", "5.28.0", Severity.ERROR),
        ("keras", "keras<2.16,>=2.15", "3.1", Severity.ERROR),
        ("keras", "keras<2.16,>=2.15", "2.16", Severity.WARNING),
        ("numpy", "numpy<2", "2.0.1", Severity.ERROR),
        ("numpy", "numpy<2", "1.26.4", None),
        ("ml-dtypes", "ml-dtypes<0.5", "0.5.1", Severity.WARNING),
        ("nvidia-cublas-cu12", "nvidia-cublas-cu12==12.5.3.2;extra=='and-cuda'", "12.4.5.8", Severity.WARNING),
    ],
)
def test_what_is_only_outside_a_bound_is_milder_on_a_live_machine(
    package: str, requires: str, version: str, severity: Severity | None
) -> None:
    installed = live(Distribution("tensorflow", "2.18.0", "/site", requires=(requires,)), Distribution(package, version, "/site"))
    assert [one.severity for one in found(installed, level=Level.LOOK)] == ([severity] if severity else [])


def test_keras_2_beside_tf_keras_is_milder() -> None:
    wants = Distribution("tensorflow", "2.18.0", "/site", requires=("keras>=3.5",))
    keras, legacy = Distribution("keras", "2.15.0", "/site"), Distribution("tf-keras", "2.18.0", "/site")
    assert [one.severity for one in found(live(wants, keras), level=Level.LOOK)] == [Severity.ERROR]
    assert [one.severity for one in found(live(wants, keras, legacy), level=Level.LOOK)] == [Severity.WARNING]


def test_a_build_without_cuda_has_no_use_for_nvidias_packages() -> None:
    wants = Distribution("tensorflow-cpu", "2.18.0", "/site", requires=("nvidia-cublas-cu12==12.5.3.2;extra=='and-cuda'",))
    snapshot = live(
        wants,
        Distribution("nvidia-cublas-cu12", "12.4.5.8", "/site"),
        frameworks=(tensorflow(distribution="tensorflow-cpu", cuda_build=False),),
    )
    assert outcome(snapshot, "nvidia-wheel-version-conflict") is OutcomeKind.PASSED


CONDA = Python("/conda/bin/python", "the active conda environment", version="3.11.4", kind="conda", prefix="/conda")


def by(name: str, version: str, installer: str) -> Distribution:
    return Distribution(name, version, "/conda/site", installer=installer)


@pytest.mark.parametrize(
    ("packages", "condas", "kind"),
    [
        ((by("torch", "2.6.0", "pip"),), ("pytorch-2.5.1-py3.11_cuda12.4_cudnn9.1.0_0",), OutcomeKind.FOUND),
        ((by("torch", "2.6.0", "conda"), by("torchvision", "0.21.0", "pip")), ("pytorch-2.6.0-py3.11_0",), OutcomeKind.FOUND),
        ((by("numpy", "2.0.2", "uv"),), ("numpy-1.26.4-py311_0",), OutcomeKind.FOUND),
        (
            (by("torch", "2.6.0", "pip"), by("numpy", "1.26.4", "conda")),
            ("numpy-1.26.4-py311_0", "cudnn-8.9.2.26-cuda11_0"),
            OutcomeKind.PASSED,
        ),
        ((by("torch", "2.6.0", "conda"),), ("pytorch-2.6.0-py3.11_0",), OutcomeKind.PASSED),
    ],
)
def test_conda_and_pip_are_seen_by_who_installed_what(
    packages: tuple[Distribution, ...], condas: tuple[str, ...], kind: OutcomeKind
) -> None:
    mixed = machine(1, python=CONDA, packages=Packages(packages, conda=condas))
    assert outcome(mixed, "mixed-conda-pip") is kind


def test_outside_conda_nothing_is_mixed() -> None:
    assert outcome(live(by("torch", "2.6.0", "pip")), "mixed-conda-pip") is OutcomeKind.NOT_APPLICABLE
    unread = machine(1, python=CONDA, packages=Packages((), conda=Missing(Cause.DENIED, "conda-meta: Permission denied")))
    assert outcome(unread, "mixed-conda-pip") is OutcomeKind.COULD_NOT_TELL


ELSEWHERE = (Distribution("torch", "2.6.0", "/home/venv/lib/python3.11/site-packages"),)


@pytest.mark.parametrize(
    ("policy", "severity"),
    [
        ({"level": Level.LOOK}, Severity.NOTE),
        ({"level": Level.TRAIN}, Severity.WARNING),
        ({"level": Level.LOOK, "require": ("torch",)}, Severity.ERROR),
        ({"level": Level.TRAIN, "require": ("tensorflow",)}, Severity.WARNING),
    ],
)
def test_a_framework_in_another_environment_explains_that_none_is_here(policy: dict[str, Any], severity: Severity) -> None:
    empty = machine(1, frameworks=(), python=Python("/usr/bin/python3", "the first python3 on PATH", elsewhere=ELSEWHERE))
    findings = found(empty, **policy)
    (finding,) = (one for one in findings if one.name == "wrong-python-environment")
    assert (finding.severity, finding.confidence) == (severity, Confidence.LIKELY)
    assert finding.fixes[0].command == 'export PATH=/home/venv/bin:"$PATH"'
    if severity is not Severity.WARNING or "require" not in policy:
        assert all(one.because_of == (finding.id,) for one in findings if one.name == "framework-missing")


def test_no_other_environment_is_no_wrong_one() -> None:
    empty = machine(1, frameworks=(), python=Python("/usr/bin/python3", "named", elsewhere=()))
    assert outcome(empty, "wrong-python-environment") is OutcomeKind.PASSED
    assert outcome(machine(1, frameworks=()), "wrong-python-environment") is OutcomeKind.NOT_ASKED
    assert outcome(machine(1), "wrong-python-environment") is OutcomeKind.PASSED


@pytest.mark.parametrize(
    ("copies", "words"),
    [
        ([("tensorflow", "2.18.0", "/site"), ("tensorflow-cpu", "2.18.0", "/site")], "they own the same files"),
        ([("tensorflow", "2.17.0", "/home/user"), ("tensorflow", "2.18.0", "/site")], "an import uses the one in /home/user/tensorflow"),
        ([("tensorflow", "2.17.0", "/site"), ("tensorflow", "2.18.0", "/site")], "they own the same files"),
        ([("tensorflow", "2.18.0", "/site"), ("tensorflow-intel", "2.18.0", "/site")], ""),
        ([("tensorflow", "2.18.0", "/site"), ("tensorflow", "2.18.0", "/site")], ""),
        ([("tensorflow", "2.18.0", "/site"), ("keras", "3.0", "/home/user")], ""),
    ],
)
def test_copies_of_a_framework_are_counted(copies: list[tuple[str, str, str]], words: str) -> None:
    snapshot = live(*(Distribution(*copy) for copy in copies), frameworks=(tensorflow(location="/home/user/tensorflow"),))
    findings = [one for one in found(snapshot, level=Level.LOOK) if one.name == "two-copies-of-framework"]
    assert [words in one.message for one in findings] == ([True] if words else [])
    assert all(one.severity is Severity.WARNING for one in findings)


def test_a_file_of_the_frameworks_name_hides_it() -> None:
    snapshot = live(frameworks=(torch(shadow="/project/torch.py"),))
    (finding,) = found(snapshot, level=Level.LOOK)
    assert (finding.name, finding.severity) == ("two-copies-of-framework", Severity.ERROR)
    assert "/project/torch.py is before the package torch" in finding.message
    assert not found(live(frameworks=(torch(shadow=ABSENT),)), level=Level.LOOK)


@pytest.mark.parametrize(("protobuf", "names"), [("4.21.0", ["protobuf-mismatch"]), ("3.20.1", []), ("3.19.6", [])])
def test_a_release_without_an_upper_bound_is_bound_by_the_next_that_has_one(protobuf: str, names: list[str]) -> None:
    rows = """
tensorflow,2.9.0,linux_x86_64,3.9,cuda,11.2,8.1,,,protobuf>=3.9.2,1,,,wheels,
tensorflow,2.9.1,linux_x86_64,3.9,cuda,11.2,8.1,,,"protobuf<3.20,>=3.9.2",1,,,wheels,
"""
    packages = (stated("tensorflow", "2.9.0", "protobuf>=3.9.2"), stated("protobuf", protobuf))
    tables = matrix(sources="wheels,Wheels,,2026-01-02", tensorflow=rows)
    diagnosis = diagnose(supposed(*packages, python="3.9"), tables, Policy(level=None))
    likely = [one for one in diagnosis.findings if one.confidence is Confidence.LIKELY]
    assert [one.name for one in likely] == names
