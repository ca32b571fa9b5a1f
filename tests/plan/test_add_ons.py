"""Packages that compute on the GPU for a framework, or beside one: what the shipped tables say of combinations with a known outcome."""

from __future__ import annotations

import pytest

from gpudoctor.derive.gpu_code import RUNTIME_COMPILED_PREFIXES
from gpudoctor.findings import Verdict
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.matrix.tables import OTHER_RELEASES
from tests.plan.samples import checked, tables, torch
from tests.plan.test_package_selection import taken
from tests.shipped import shared_matrix

OLD, NEW = "535.104.05", "580.65.06"


def unknown_builds() -> list[FrameworkRelease]:
    """The newest such release of each package and platform: its GPU code is unknown, or no rule reads such builds."""
    rows = [
        row
        for row in shared_matrix().rows(OTHER_RELEASES)
        if row.accelerator in {"sdist", "opencl"}
        or (row.accelerator == "cuda" and row.sass is None and not row.distribution.startswith(RUNTIME_COMPILED_PREFIXES))
    ]
    return list(
        {(row.distribution, row.platform): row for row in rows if row.platform in {"linux_x86_64", "linux_aarch64", "any"}}.values()
    )


@pytest.mark.parametrize("row", unknown_builds(), ids=lambda row: f"{row.distribution}-{row.platform}")
def test_a_build_whose_gpu_code_is_unknown_is_never_ready(row: FrameworkRelease) -> None:
    arch = "aarch64" if row.platform == "linux_aarch64" else "x86_64"
    verdict = checked(f"{row.distribution}=={row.release}", gpus=("H100",), driver=NEW, arch=arch).verdict
    assert verdict in {Verdict.UNKNOWN, Verdict.BROKEN}


@pytest.mark.parametrize("beside", [(), ("torch==2.8.0",)])
def test_a_package_that_no_table_has_is_never_ready(beside: tuple[str, ...]) -> None:
    found = checked("detectron2==0.6", *beside, gpus=("H100",), driver=NEW)
    assert found.verdict is Verdict.UNKNOWN
    assert found.unchecked[0].what == "detectron2 0.6"


@pytest.mark.parametrize(
    ("requirements", "gpu", "driver", "cause"),
    [
        (("vllm==0.11.0",), "L4", OLD, ""),
        (("vllm==0.33.0",), "L4", OLD, "driver-too-old"),
        (("vllm==0.11.0", "torch==2.9.0"), "L4", NEW, "package-requirement-conflict"),
        (("xformers==0.0.32.post2", "torch==2.9.0"), "L4", NEW, "package-requirement-conflict"),
        (("xformers==0.0.35", "torch==2.12.0"), "L4", NEW, "extension-built-for-other-cuda"),
        (("bitsandbytes==0.45.0", "torch==2.9.0+cu130"), "L4", NEW, "extension-built-for-other-cuda"),
        (("bitsandbytes==0.48.2", "torch==2.9.0+cu130"), "L4", NEW, ""),
        (("bitsandbytes==0.49.2", "torch==2.8.0+cu129"), "L4", NEW, ""),
        (("bitsandbytes==0.50.2", "torch==2.8.0+cu129"), "L4", NEW, ""),
        (("flash-attn==2.8.3", "torch==2.8.0"), "T4", NEW, "gpu-below-framework-minimum"),
        (("onnxruntime-gpu==1.16.0", "numpy==2.0.0"), "L4", NEW, "numpy2-abi-mismatch"),
        (("onnxruntime-gpu==1.19.2", "numpy==2.0.0", "torch==2.7.1"), "L4", NEW, ""),
        (("sglang[all]==0.4.9",), "L4", "470.57.02", "driver-too-old"),
        (("faiss-gpu==1.7.2",), "RTX 3090", OLD, "gpu-too-new-for-build"),
        (("cupy-cuda12x==13.3.0", "torch==2.4.0"), "A100", OLD, ""),
    ],
)
def test_combinations_with_a_known_outcome(requirements: tuple[str, ...], gpu: str, driver: str, cause: str) -> None:
    found = checked(*requirements, gpus=(gpu,), driver=driver)
    roots = [finding.name for finding in found.findings if finding.severity.value == "error" and not finding.because_of]
    assert roots[:1] == [cause][: bool(cause)]
    assert found.verdict is (Verdict.BROKEN if cause else Verdict.READY)


def test_an_add_on_names_its_release_for_the_framework_and_the_framework_for_its_cuda() -> None:
    found = checked("bitsandbytes==0.45.0", "torch==2.9.0+cu130", gpus=("L4",), driver=NEW).findings[0]
    commands = [fix.command for fix in found.fixes]
    assert "bitsandbytes==0.50" in commands[0]
    assert "torch==2.9.0+cu126" in commands[1]


@pytest.mark.parametrize(
    ("requirement", "gpu", "driver"), [("vllm==0.33.0", "V100", NEW), ("vllm==0.33.0", "L4", OLD), ("vllm==0.6.4", "5090", NEW)]
)
def test_a_fix_names_a_release_of_what_was_asked_for_that_works_here(requirement: str, gpu: str, driver: str) -> None:
    commands = [fix.command for fix in checked(requirement, gpus=(gpu,), driver=driver).findings[0].fixes if "pip install" in fix.command]
    (found,) = {command.rpartition(" ")[2] for command in commands}
    assert found.startswith("vllm==")
    assert checked(found, gpus=(gpu,), driver=driver).verdict in {Verdict.READY, Verdict.DEGRADED}


def test_a_fix_says_so_if_no_release_of_what_was_asked_for_works_here() -> None:
    fixes = checked("vllm==0.11.0", gpus=("GTX 1080",), driver=OLD).findings[0].fixes
    assert [fix.title for fix in fixes] == ["Use another GPU: no release of vllm in the tables is known to work on this machine."]


def test_a_fix_names_the_system_where_what_was_asked_for_has_a_wheel() -> None:
    fixes = checked("vllm==0.10.0", gpus=("RTX 4090",), os="windows").findings[0].fixes
    assert [fix.title for fix in fixes] == ["Use WSL 2: no release of vllm has a wheel for Windows (amd64)."]


def test_a_package_that_leaves_the_framework_open_keeps_its_release() -> None:
    (fix,) = checked("lightning==2.5.0", gpus=("RTX 4090",), os="windows").findings[0].fixes
    assert "torch==" in fix.command
    assert "+cu" in fix.command


@pytest.mark.parametrize(("cudnn", "verdict"), [("8.9", Verdict.READY), ("9.1", Verdict.BROKEN)])
def test_ctranslate2_needs_the_cudnn_that_its_library_names(cudnn: str, verdict: Verdict) -> None:
    assert checked("ctranslate2==4.4.0", gpus=("L4",), driver=NEW, system_cuda="12.4", system_cudnn=cudnn).verdict is verdict


def test_an_extra_that_includes_others_of_its_own_package() -> None:
    rows = ('torch[all];extra=="whole"', 'torch[part];extra=="all"', 'torch[none];extra=="all"', 'numpy==2.0;extra=="part"')
    assert taken(tables(torch("2.5.1", *rows)), "torch[whole]==2.5.1")["numpy"].version == "2.0"


@pytest.mark.parametrize("requirements", [("vllm==0.10.2",), ("vllm==0.10.2", "transformers==4.57.1")])
def test_what_computes_for_a_framework_fails_with_it(requirements: tuple[str, ...]) -> None:
    found = checked(*requirements, gpus=("GH200 480GB",), driver=NEW, python="3.12", arch="aarch64")
    assert found.verdict is Verdict.BROKEN, "it pins torch 2.8.0, which has no wheel with CUDA for aarch64"
    assert found.root_causes[0].name == "no-cuda-wheel-for-platform"


@pytest.mark.parametrize(
    ("requirement", "gpu", "driver", "sibling"),
    [
        ("cupy-cuda12x==12.3.0", "K80", "470.256.02", "cupy-cuda11x"),
        ("cupy-cuda13x==13.6.0", "V100", NEW, "cupy-cuda12x"),
        ("nvidia-dali-cuda130==2.4.0", "V100", NEW, "nvidia-dali-cuda120"),
        ("cudf-cu13==26.8.0", "V100", NEW, "cudf-cu12"),
        ("xgboost-cpu==3.1.1", "L4", NEW, "xgboost"),
    ],
)
def test_the_same_package_for_another_cuda_is_offered(requirement: str, gpu: str, driver: str, sibling: str) -> None:
    (fix, *_) = checked(requirement, gpus=(gpu,), driver=driver, python="3.11").root_causes[0].fixes
    assert fix.installs[0].startswith(f"{sibling}=="), fix.title
    assert fix.removes == (requirement.partition("==")[0],)
    assert checked(*fix.installs, gpus=(gpu,), driver=driver, python="3.11").verdict is not Verdict.BROKEN


def test_a_package_whose_wheels_have_no_cuda_cannot_use_the_gpu() -> None:
    for beside in ((), ("torch==2.2.1",)):
        found = checked("dgl==2.1.0", *beside, gpus=("L4",), driver=NEW, python="3.10")
        assert (found.verdict, found.root_causes[0].name) == (Verdict.BROKEN, "cpu-only-build")
        assert "Use another GPU" not in found.root_causes[0].fixes[0].title
    assert checked("xgboost-cpu==3.1.1", "torch==2.8.0", gpus=("L4",), driver=NEW, python="3.10").verdict is Verdict.READY, (
        "its name says so"
    )
    assert checked("dgl==2.1.0", python="3.10", os="macos").verdict is not Verdict.BROKEN
