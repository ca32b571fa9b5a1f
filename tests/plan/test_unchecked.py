"""Ready means checked: a rule reads everything stated or it is listed, and a listed package is never ready."""

from __future__ import annotations

import functools
import string
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.derive import EffectiveCode, MachineView
from gpudoctor.diagnose import diagnose
from gpudoctor.errors import UsageError
from gpudoctor.findings import Diagnosis, Policy, Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.matrix.table import Table
from gpudoctor.matrix.tables import ALL_TABLES, TABLE_OF, TORCH_BUILDS
from gpudoctor.plan import Combination
from gpudoctor.plan.assumed_snapshot import snapshot_of_combination
from gpudoctor.snapshot import Distribution, Packages
from tests.plan.samples import NOW, checked
from tests.seams.every import every
from tests.shipped import shared_matrix

GOOD = {Verdict.READY, Verdict.DEGRADED}
A100 = ("a100-sxm4-80gb",)


BUILD = ("platform", "accelerator", "built_with_cuda", "cudnn", "sass", "ptx", "numpy_abi", "builds", "unreachable")


@functools.cache
def releases() -> dict[str, list[str]]:
    """The releases of every distribution with rows in some table, of those with the same builds the newest."""
    found: dict[str, dict[str, list[object]]] = {}
    for table in ALL_TABLES:
        if {"distribution", "release"} <= set(table.columns):
            for row in shared_matrix().rows(table):
                found.setdefault(row.distribution, {}).setdefault(str(row.release), []).append([getattr(row, fact, None) for fact in BUILD])
    return {name: list({repr(builds): text for text, builds in texts.items()}.values()) for name, texts in found.items()}


def ask(*requirements: str, **options: object) -> Diagnosis:
    combination = Combination(requirements=requirements, gpus=A100, **options)  # type: ignore[arg-type]
    return diagnose(snapshot_of_combination(combination, shared_matrix(), NOW), shared_matrix(), Policy(level=None))


def listed(diagnosis: Diagnosis) -> list[str]:
    return [unchecked.what for unchecked in diagnosis.unchecked]


UNCHECKED = [
    (("torchscriptor==1.0",), {}, "torchscriptor 1.0", "no table lists this package"),
    (("torch==2.5.1", "tensroflow-nightly==2.16"), {}, "tensroflow-nightly 2.16", "did you mean tensorflow?"),
    (("torch==2.5.1", "some-kernels"), {}, "some-kernels", "no table lists this package"),
    (("torch==2.5.1", "acme-kernels==2.32.0"), {}, "acme-kernels 2.32.0", "no table lists this package"),
    (("torch==2.9.0+cu129",), {"os": "windows"}, "torch 2.9.0+cu129", "which GPUs"),
    (("torch==2.8.0+cu129",), {"arch": "aarch64"}, "torch 2.8.0+cu129", "which GPUs"),
    (("torch==2.8.0+cu777",), {}, "torch 2.8.0+cu777", "which GPUs"),
    (("torch==2.9.0+cu129",), {}, "torch 2.9.0+cu129", "which GPUs"),
    (("torch==2.5.1a0+abc",), {}, "torch 2.5.1a0+abc", "not a final release"),
    (("torch[fast]==2.5.1",), {}, "torch[fast]", "no table lists an extra fast of torch 2.5.1"),
    (("jax[cuda11-pip]==0.4.20", "nvidia-cudnn-cu11==8.9.6.50"), {}, "jax 0.4.20", "which GPUs"),
    (("nvidia-cusolver-cu12==11.6.1.9",), {}, "nvidia-cusolver-cu12 11.6.1.9", "no table lists this package"),
    (("torch==2.2.2", "numpy"), {}, "numpy", "torch 2.2.2 is compiled for NumPy 1, and this may install NumPy 2"),
    (("jax[cuda12]==0.4.35", "jaxlib==0.4.34"), {}, "jax-cuda12-plugin 0.4.35", "loads it without comparing versions"),
    (("torch==2.5.1", "triton==3.2.0"), {}, "triton 3.2.0", "requires triton==3.1.0 on some Python versions"),
    (("onnxruntime-gpu==1.22.0",), {}, "onnxruntime-gpu 1.22.0", "CUDA 12.2 and cuDNN 9 on the system or onnxruntime-gpu[cuda,cudnn]"),
    (("onnxruntime-gpu[cuda]==1.22.0",), {}, "onnxruntime-gpu 1.22.0", "needs cuDNN 9 on the system"),
    (("ctranslate2==4.6.0",), {"system_cuda": "12.4"}, "ctranslate2 4.6.0", "run `gpudoctor compat` with --system-cudnn"),
    (
        ("cupy-cuda13x==14.2.0",),
        {},
        "cupy-cuda13x 14.2.0",
        "CUDA 13 on the system or cupy-cuda13x[ctk]; to check that, run `gpudoctor compat` with --system-cuda",
    ),
    (("jax[cuda12-local]==0.6.0",), {}, "jax 0.6.0", "run `gpudoctor compat` with --system-cuda and --system-cudnn"),
]


@pytest.mark.parametrize(("requirements", "options", "what", "reason"), UNCHECKED)
def test_unchecked_packages_are_listed_and_make_the_answer_unknown(
    requirements: tuple[str, ...], options: dict[str, object], what: str, reason: str
) -> None:
    found = ask(*requirements, **options)
    assert (found.verdict, found.exit_code) == (Verdict.UNKNOWN, 3)
    (unchecked,) = [unchecked for unchecked in found.unchecked if unchecked.what == what]
    assert reason in unchecked.reason
    assert f"{what} was not checked: {unchecked.reason}" in found.because


@pytest.mark.parametrize("packages", range(1, 9))
def test_a_sentence_names_four_packages_at_most_and_counts_the_others(packages: int) -> None:
    names = [f"acme{letter}" for letter in string.ascii_lowercase[:packages]]
    found = ask("torch==2.5.1", *(f"{name}==1.0" for name in names))
    sentence = next(part for part in found.because.split("; ") if "acme" in part)
    counted = f"{packages - 3} more" if packages > 4 else ""
    said = [name for name in names if f"{name} 1.0" in sentence]
    assert said == names[: 3 if counted else 4]
    assert counted in sentence
    assert ("more" in sentence) is bool(counted)
    assert f"{'were' if packages > 1 else 'was'} not checked: no table lists " in sentence
    assert sentence.count(" and ") == (packages > 1)


def without_nvidia(table: Table[Any], distribution: str = "", platform: str = "", release: str = "") -> tuple[Any, ...]:
    """The shipped rows, without what PyTorch's other builds require of NVIDIA's packages."""
    rows = shared_matrix().rows(table, distribution, platform, release)
    return tuple(msgspec.structs.replace(row, nvidia=None) for row in rows) if table is TORCH_BUILDS else rows


UNLISTED = [
    (("torch==2.6.0+cu126", "tensorflow[and-cuda]==2.20.0"), "torch 2.6.0+cu126"),
    (("torch==2.6.0+cu126", "jax[cuda12]==0.6.0"), "torch 2.6.0+cu126"),
    (("torch==2.13.0+cu132", "jax[cuda13]==0.10.0"), "torch 2.13.0+cu132"),
    (("torch==2.6.0+cu118", "tensorflow[and-cuda]==2.20.0"), ""),
    (("torch==2.6.0+cu126",), ""),
    (("torch==2.6.0+cu126", "numpy==2.1.0"), ""),
    (("torch==2.6.0+cpu", "tensorflow[and-cuda]==2.20.0"), ""),
    (("torch==2.6.0", "tensorflow[and-cuda]==2.18.0"), ""),
]


@pytest.mark.parametrize(("requirements", "what"), UNLISTED)
def test_nvidia_packages_that_a_build_may_require_are_not_supposed_to_suit_those_of_another(
    requirements: tuple[str, ...], what: str
) -> None:
    matrix = Matrix(without_nvidia)
    found = diagnose(snapshot_of_combination(Combination(requirements=requirements, gpus=A100), matrix, NOW), matrix, Policy(level=None))
    said = {unchecked.what for unchecked in found.unchecked if "no table lists which releases of NVIDIA's packages" in unchecked.reason}
    assert said == ({what} if what else set())
    assert not what or found.verdict not in GOOD


CHECKED = [
    (("torch==2.5.1", "numpy==1.26.4"), {}),
    (("torch==2.2.0", "numpy<2"), {}),
    (("torch==2.2.0", "numpy>1.20,<2"), {}),
    (("torch==2.2.0", "numpy~=1.26"), {}),
    (("torch==2.5.1", "numpy>=1.24", "typing-extensions>=4"), {}),
    (("tensorflow[and-cuda]==2.18.0", "keras==3.5.0", "protobuf==5.28.3", "ml-dtypes==0.4.1"), {}),
    (("torch==2.5.1", "torchvision==0.20.1", "torchaudio==2.5.1", "nvidia-cudnn-cu12==9.1.0.70"), {}),
    (("jax[cuda12]==0.6.0", "jaxlib==0.6.0"), {}),
    (("jax[cuda12]==0.4.35",), {}),
    (("tensorflow[and-cuda]==2.18.0", "numpy", "protobuf"), {}),
    (("torch==2.5.1", "numpy"), {}),
    (("torch==2.5.1", "triton==3.1.0", "nvidia-nccl-cu12==2.21.5"), {}),
    (("cupy-cuda12x==13.6.0",), {"system_cuda": "12.4"}),
    (("cupy-cuda13x[ctk]==14.2.0",), {}),
    (("onnxruntime-gpu[cuda,cudnn]==1.22.0",), {}),
    (("onnxruntime-gpu==1.22.0", "torch==2.7.1"), {}),
    (("torch==1.8.0+cu111",), {}),
    (("torch==1.7.1+cu110",), {}),
    (("torch==1.7.1+cu110",), {"os": "windows"}),
    (("torch==2.8.0+cu128",), {"os": "windows"}),
    (("tensorflow-cpu==2.10.0", "tensorflow-directml-plugin==0.4.0.dev230202"), {"os": "windows"}),
]


@pytest.mark.parametrize(("requirements", "options"), CHECKED)
def test_checked_packages_are_not_listed(requirements: tuple[str, ...], options: dict[str, object]) -> None:
    found = ask(*requirements, **options)
    assert listed(found) == []
    assert found.verdict in GOOD


@pytest.mark.parametrize(
    ("requirements", "cause", "message"),
    [
        (("torch==2.2.2", "numpy>=2"), "numpy2-abi-mismatch", "torch 2.2.2 is compiled for NumPy 1, but NumPy >=2 is requested."),
        (
            ("tensorflow[and-cuda]==2.18.0", "numpy>=2.1"),
            "package-requirement-conflict",
            "you request numpy>=2.1; tensorflow 2.18.0 requires",
        ),
        (
            ("tensorflow[and-cuda]==2.18.0", "protobuf>=6"),
            "package-requirement-conflict",
            "you request protobuf>=6; tensorflow 2.18.0 requires",
        ),
    ],
)
def test_stated_bounds_are_compared_where_no_table_lists_releases(requirements: tuple[str, ...], cause: str, message: str) -> None:
    found = ask(*requirements)
    assert (found.verdict, found.root_causes[0].name) == (Verdict.BROKEN, cause)
    assert message in found.root_causes[0].message


@pytest.mark.parametrize("build", ["rocm6.4", "xpu", "cpu"])
def test_a_build_for_other_processors_cannot_use_an_nvidia_gpu(build: str) -> None:
    found = ask(f"torch==2.9.0+{build}")
    assert (found.verdict, found.root_causes[0].name) == (Verdict.BROKEN, "cpu-only-build")


def test_a_stated_package_is_blamed_before_what_it_brings() -> None:
    found = ask("vllm==0.6.3", "torch==2.5.1")
    assert [cause.name for cause in found.root_causes if cause.severity.value == "error"] == ["package-requirement-conflict"]


def test_packages_without_a_framework_are_not_ready() -> None:
    found = ask("jax-cuda12-plugin==0.6.0")
    assert found.verdict is Verdict.UNKNOWN
    assert "no framework is among the stated packages" in found.because


@pytest.mark.parametrize(
    ("build", "gpu", "cause"),
    [
        ("cupy-cuda13x==13.6.0", "Tesla V100-SXM2-16GB", "gpu-too-old-for-build"),
        ("cupy-cuda13x==13.6.0", "GTX 1080", "gpu-too-old-for-build"),
        ("cupy-cuda13x==13.6.0", "Tesla T4", ""),
        ("cupy-cuda12x==13.6.0", "GTX 1080", ""),
        ("onnxruntime-gpu==1.27.0", "GTX 1080", "gpu-too-old-for-build"),
        ("torch==2.9.0+cu130", "Tesla P100-PCIE-16GB", "gpu-too-old-for-build"),
        ("torch==2.9.0+cu129", "Tesla K80", "gpu-too-old-for-build"),
    ],
)
def test_the_cuda_compiler_bounds_a_builds_gpu_code(build: str, gpu: str, cause: str) -> None:
    system = build[len("cupy-cuda") :][:2] if build.startswith("cupy") else None
    found = checked(build, gpus=(gpu,), arch="aarch64" if build.endswith("cu130") else None, system_cuda=f"{system}.0" if system else None)
    errors = [finding.name for finding in found.root_causes if finding.severity.value == "error"]
    assert errors == ([cause] if cause else [])
    assert found.verdict is Verdict.BROKEN if cause else found.verdict in GOOD


@every("name", sorted(releases()))
def test_every_release_of_every_table_is_checked_or_listed(name: str) -> None:
    for text in releases()[name]:
        snapshot = snapshot_of_combination(Combination(requirements=(f"{name}=={text}",), gpus=A100), shared_matrix(), NOW)
        found, facts = diagnose(snapshot, shared_matrix(), Policy(level=None)), MachineView(snapshot, shared_matrix(), Policy(level=None))
        assert found.verdict not in GOOD or not found.unchecked, text
        if found.verdict in GOOD:
            assert facts.observed_frameworks, text
            codes = [
                framework.code_or_missing for framework in facts.frameworks if framework.observed.distribution != "tensorflow-directml"
            ]
            assert all(isinstance(code, EffectiveCode) and code.sass for code in codes) or "directml" in name, text


@every("name", sorted(releases()))
def test_unknown_releases_of_known_packages_are_never_ready(name: str) -> None:
    newest = releases()[name][-1]
    for combination in (f"{name}==9999.1", f"{name}==0.0.0.1", f"{name}=={newest}+local7", f"{name}[no-such-extra]=={newest}"):
        found = ask(combination)
        assert found.verdict not in GOOD, combination
        assert found.unchecked or found.verdict is Verdict.BROKEN, combination


NAMES = st.text(string.ascii_lowercase + string.digits + "-", min_size=1, max_size=24).filter(
    lambda name: name[0] != "-" and name[-1] != "-" and "--" not in name
)
BESIDE = st.sampled_from([(), ("torch==2.5.1",), ("tensorflow[and-cuda]==2.18.0",), ("jax[cuda12]==0.6.0", "torch==2.5.1")])


@given(name=NAMES, version=st.sampled_from(["", "==1.0", "==2.16.1", ">=3"]), beside=BESIDE)
@settings(max_examples=60, deadline=None)
def test_an_unknown_name_is_listed_or_refused(name: str, version: str, beside: tuple[str, ...]) -> None:
    known = {*releases(), *TABLE_OF, *(distribution.name for text in beside for distribution in _taken(text))}
    if name in known or shared_matrix().without_gpu_code(name):
        return
    try:
        found = ask(f"{name}{version}", *beside)
    except UsageError:
        return
    assert found.verdict not in GOOD
    assert any(what.split()[0] == name for what in listed(found))


def _taken(text: str) -> tuple[Distribution, ...]:
    packages = snapshot_of_combination(Combination(requirements=(text,)), shared_matrix(), NOW).packages
    assert isinstance(packages, Packages)
    return packages.distributions


def test_an_add_on_for_cuda_is_not_ready_on_a_machine_without_a_gpu() -> None:
    found = checked("vllm==0.33.0", gpus=("none",))
    assert (found.verdict, found.unchecked[0].what) == (Verdict.UNKNOWN, "vllm 0.33.0")


@pytest.mark.parametrize(
    ("requirements", "note"),
    [
        (("keras==3.9.0", "torch==2.6.0"), "keras 3.9.0 uses TensorFlow unless KERAS_BACKEND=torch is set"),
        (
            ("keras==3.9.0", "torch==2.6.0", "jax[cuda12]==0.5.3"),
            "keras 3.9.0 uses TensorFlow unless KERAS_BACKEND=torch or KERAS_BACKEND=jax is set",
        ),
        (("keras==3.9.0", "torch==2.6.0", "tensorflow[and-cuda]==2.19.0"), ""),
        (("keras==2.15.0", "torch==2.6.0"), ""),
        (("torch==2.6.0",), ""),
    ],
)
def test_the_setting_that_chooses_a_framework_is_named(requirements: tuple[str, ...], note: str) -> None:
    remarks = snapshot_of_combination(Combination(requirements=requirements), shared_matrix(), "").remarks
    assert [remark for remark in remarks if "unless" in remark] == ([note] if note else [])


@pytest.mark.parametrize("local", ["cu118", "cu999"])
def test_a_build_that_the_tables_lack_is_told_with_those_that_they_list(local: str) -> None:
    (unchecked,) = checked(f"torch==2.8.0+{local}", gpus=("A10",), driver="550.54.15").unchecked
    assert unchecked.reason.endswith("the tables list +cu126, +cu128 and +cu129 of torch 2.8.0")
