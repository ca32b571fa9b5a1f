"""What files of requirements state, checked as `gpudoctor compat -r` does."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.errors import UsageError
from gpudoctor.examination import Examination
from gpudoctor.findings import Policy, Verdict
from gpudoctor.plan import Combination, check_combination
from gpudoctor.requirement_files.reading import read_requirement_files
from gpudoctor.snapshot import Framework, Missing, Snapshot, Supposed

T4 = Combination(requirements=(), gpus=("T4",), driver="580.95.05")
WHEELS = "https://download.pytorch.org/whl"


def checked(folder: Path, name: str, text: str, machine: Combination = T4) -> Examination:
    (folder / name).write_text(text)
    return check_combination(machine, Policy(level=None), asked=read_requirement_files([str(folder / name)]))


def versions(found: Examination) -> dict[str, str]:
    assert not isinstance(found.snapshot.packages, Missing)
    return {distribution.name: distribution.version for distribution in found.snapshot.packages.distributions}


def framework(found: Examination) -> Framework:
    assert not isinstance(found.snapshot.frameworks, Missing)
    return found.snapshot.frameworks[0]


BUILDS = {
    "an index that replaces PyPI": ("requirements.txt", f"--index-url {WHEELS}/cu126\ntorch==2.9.0\n", "2.9.0+cu126"),
    "an index beside PyPI with this release": ("requirements.txt", f"--extra-index-url {WHEELS}/cu126\ntorch==2.9.0\n", "2.9.0+cu126"),
    "an index beside PyPI without it": ("requirements.txt", f"--extra-index-url {WHEELS}/cu118\ntorch==2.9.0\n", "2.9.0"),
    "a local version": ("requirements.txt", "torch==2.9.0+cu126\n", "2.9.0+cu126"),
    "a command's own index": ("Dockerfile", f"FROM ubuntu\nRUN pip install torch==2.9.0 -i {WHEELS}/cu126\n", "2.9.0+cu126"),
    "uv's word for it": ("Dockerfile", "FROM ubuntu\nRUN uv pip install torch==2.9.0 --torch-backend=cu126\n", "2.9.0+cu126"),
    "an image": ("Dockerfile", "FROM pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime\n", "2.4.0+cu124"),
    "conda's cpuonly": ("environment.yml", "dependencies:\n- pytorch=2.4.0\n- cpuonly\n", "2.4.0+cpu"),
    "conda's pytorch-cuda": ("environment.yml", "dependencies:\n- pytorch=2.4.0\n- pytorch-cuda=12.4\n", "2.4.0+cu124"),
    "PyTorch's build for conda": ("environment.yml", "dependencies:\n- pytorch=2.4.0=py3.11_cuda12.1_cudnn9.1.0_0\n", "2.4.0+cu121"),
    "conda-forge's build": ("environment.yml", "dependencies:\n- pytorch=2.6.0=cuda126_mkl_py312\n", "2.6.0+conda"),
}


@pytest.mark.parametrize("case", BUILDS)
def test_the_build_of_torch_is_that_of_its_source(tmp_path: Path, case: str) -> None:
    name, text, version = BUILDS[case]
    assert versions(checked(tmp_path, name, text))["torch"] == version


def test_what_is_published_with_a_framework_comes_from_the_same_channel(tmp_path: Path) -> None:
    text = "dependencies:\n- pytorch=2.4.0\n- torchvision=0.19.0\n- pytorch-cuda=12.4\n"
    assert versions(checked(tmp_path, "environment.yml", text))["torchvision"] == "0.19.0+cu124"


def test_a_range_takes_the_newest_release_with_the_build(tmp_path: Path) -> None:
    found = checked(tmp_path, "requirements.txt", f"--index-url {WHEELS}/cu121\ntorch>=2.1\n")
    assert versions(found)["torch"] == "2.5.1+cu121"


def test_a_build_that_no_table_lists_is_never_ready(tmp_path: Path) -> None:
    found = checked(tmp_path, "environment.yml", "dependencies:\n- pytorch=2.6.0=cuda126_mkl_py312\n")
    assert found.diagnosis.verdict is Verdict.UNKNOWN
    assert [unchecked.what for unchecked in found.diagnosis.unchecked] == ["torch 2.6.0+conda"]


def test_the_cuda_of_a_build_of_conda_is_compared_with_the_driver(tmp_path: Path) -> None:
    text = "dependencies:\n- jaxlib=0.4.35=*cuda12*\n- jax=0.4.35\n- cuda-version=12.6\n"
    old = Combination(requirements=(), gpus=("T4",), driver="470.256.02")
    found = checked(tmp_path, "environment.yml", text, old)
    assert framework(found).cuda_build is True
    assert [finding.name for finding in found.diagnosis.findings] == ["driver-too-old", "gpu-lacks-bf16"]


def test_what_no_table_knows_is_named_and_what_has_no_gpu_code_is_not(tmp_path: Path) -> None:
    found = checked(tmp_path, "requirements.txt", "torch==2.9.0\ntqdm\nmatplotlib==3.9.0\nacme-kernels==1.0\n")
    assert found.diagnosis.verdict is Verdict.UNKNOWN
    assert [unchecked.what for unchecked in found.diagnosis.unchecked] == ["acme-kernels 1.0"]
    assert "2 packages without GPU code not compared: tqdm, matplotlib" in found.snapshot.remarks


def test_two_hundred_known_packages_leave_the_answer_ready(tmp_path: Path) -> None:
    table = (Path(__file__).parents[2] / "compat" / "no_gpu_code.csv").read_text().splitlines()
    names = [row.split(",")[0] for row in table[1:]][:200]
    found = checked(tmp_path, "requirements.txt", "torch==2.9.0\n" + "\n".join(names))
    assert found.diagnosis.verdict is Verdict.READY


LOCK = """
requires-python = ">=3.11"
[[package]]
name = "project"
source = { virtual = "." }
dependencies = [{ name = "torch" }, { name = "mine" }, { name = "fast" }]
[[package]]
name = "torch"
version = "2.9.0"
source = { registry = "https://example.org/simple" }
[[package]]
name = "mine"
version = "1"
source = { registry = "https://example.org/simple" }
wheels = [
    { url = "https://example.org/mine-1-cp312-cp312-macosx_11_0_arm64.whl", size = 1000 },
    { url = "https://example.org/mine-1-cp312-cp312-manylinux_2_28_x86_64.whl", size = 1100 },
]
[[package]]
name = "fast"
version = "1"
source = { registry = "https://example.org/simple" }
wheels = [
    { url = "https://example.org/fast-1-cp312-cp312-macosx_11_0_arm64.whl", size = 1000 },
    { url = "https://example.org/fast-1-cp312-cp312-manylinux_2_28_x86_64.whl", size = 90000 },
]
"""


def test_a_lock_file_shows_which_packages_have_no_gpu_code(tmp_path: Path) -> None:
    found = checked(tmp_path, "uv.lock", LOCK)
    assert [unchecked.what for unchecked in found.diagnosis.unchecked] == ["fast 1"]


def test_a_lock_file_with_releases_for_several_pythons_is_read_for_the_oldest(tmp_path: Path) -> None:
    edges = "{ name = 'torch', version = '2.8.0', marker = \"python_version < '3.10'\" }, { name = 'torch', version = '2.9.0', marker = \"python_version >= '3.10'\" }"
    packages = "".join(f'[[package]]\nname = "torch"\nversion = "{one}"\nsource = {{ registry = "" }}\n' for one in ("2.8.0", "2.9.0"))
    root = f'[[package]]\nname = "p"\nsource = {{ virtual = "." }}\ndependencies = [{edges}]\n'
    found = checked(tmp_path, "uv.lock", f'requires-python = ">=3.9"\n{root}{packages}')
    assert versions(found)["torch"] == "2.8.0"


def test_a_source_without_a_release_is_never_ready(tmp_path: Path) -> None:
    found = checked(tmp_path, "requirements.txt", "torch==2.9.0\nflash-attn @ git+https://example.org/flash-attention\n")
    assert found.diagnosis.verdict is Verdict.UNKNOWN
    assert [unchecked.what for unchecked in found.diagnosis.unchecked] == ["flash-attn"]


def test_an_image_of_nvidia_s_own_build_is_never_ready(tmp_path: Path) -> None:
    found = checked(tmp_path, "Dockerfile", "FROM nvcr.io/nvidia/pytorch:24.05-py3\n")
    assert [unchecked.what for unchecked in found.diagnosis.unchecked] == ["torch"]


@pytest.mark.parametrize(
    ("image", "package", "framework"),
    [("tensorflow:24.03-tf2-py3", "tensorflow-hub", "tensorflow"), ("pytorch:24.05-py3", "torchaudio", "torch")],
)
def test_what_is_installed_into_such_an_image_brings_no_framework(image: str, package: str, framework: str, tmp_path: Path) -> None:
    lines = f"FROM nvcr.io/nvidia/{image}\nRUN pip install {package}"
    assert [unchecked.what for unchecked in checked(tmp_path, "Dockerfile", lines).diagnosis.unchecked] == [framework, package]
    assert framework in versions(checked(tmp_path, "Dockerfile", f"{lines} {framework}\n"))


@pytest.mark.parametrize("folder", ["wheels/cu117", "whl/cu117"])
def test_a_build_from_a_page_of_its_own_is_not_the_index_s(folder: str, tmp_path: Path) -> None:
    line = f"FROM ubuntu\nRUN pip install torch==1.13.1\nRUN pip install dgl==1.0.1 -f https://example.org/{folder}/repo.html\n"
    found = checked(tmp_path, "Dockerfile", line)
    assert versions(found)["dgl"] == "1.0.1+cu117"
    assert "cpu-only-build" not in {finding.name for finding in found.diagnosis.findings}
    assert found.diagnosis.verdict is Verdict.UNKNOWN


def test_an_image_gives_its_cuda_to_a_framework_that_needs_the_system_s(tmp_path: Path) -> None:
    image = checked(tmp_path, "Dockerfile", "FROM nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04\nRUN pip install tensorflow==2.15.1\n")
    assert not isinstance(image.snapshot.supposed, Missing)
    assert {supposed.what: supposed.value for supposed in image.snapshot.supposed} | {"system CUDA": "12.2.2", "system cuDNN": "8"} == {
        supposed.what: supposed.value for supposed in image.snapshot.supposed
    }
    assert next(supposed.where for supposed in image.snapshot.supposed if supposed.what == "system CUDA").startswith("nvidia/cuda:12.2.2")


def test_the_python_of_a_file_counts_unless_one_is_stated(tmp_path: Path) -> None:
    project = '[project]\nrequires-python = "==3.9.*"\ndependencies = ["torch"]\n'
    assert versions(checked(tmp_path, "pyproject.toml", project))["torch"].startswith("2.8")
    stated = Combination(requirements=(), gpus=("T4",), python="3.12")
    assert not versions(checked(tmp_path, "pyproject.toml", project, stated))["torch"].startswith("2.8")


def test_constraints_limit_what_is_installed(tmp_path: Path) -> None:
    (tmp_path / "pins.txt").write_text("torch<2.6\n")
    found = checked(tmp_path, "requirements.txt", "-c pins.txt\ntorchvision\n")
    assert versions(found)["torch"].startswith("2.5")


def test_contradictory_lines_are_named_with_their_places(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"requirements\.txt:1\) and 'torch>=2\.9' \(.*requirements\.txt:2\) contradict each other"):
        checked(tmp_path, "requirements.txt", "torch==2.8.0\ntorch>=2.9\n")


def c_library(snapshot: Snapshot) -> list[Supposed]:
    assert not isinstance(snapshot.supposed, Missing)
    return [supposed for supposed in snapshot.supposed if supposed.what == "C library"]


IMAGES = {
    "ubuntu:18.04": "glibc 2.27",
    "docker.io/library/ubuntu:jammy": "glibc 2.35",
    "nvidia/cuda:12.4.1-devel-rockylinux8": "glibc 2.28",
    "nvidia/cuda:11.8.0-base-centos7": "glibc 2.17",
    "python:3.12-slim-bookworm": "glibc 2.36",
    "python:3.12-alpine3.20": "musl",
    "alpine": "musl",
    "alpine:latest": "musl",
    "registry.access.redhat.com/ubi9/ubi:9.4": "glibc 2.34",
    "amazonlinux:2023": "glibc 2.34",
    "python:3.12": "",
    "ubuntu:latest": "",
}


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_states_the_c_library_of_its_distribution(tmp_path: Path, image: str) -> None:
    found = checked(tmp_path, "Dockerfile", f"FROM {image}\nRUN pip install torch==2.8.0\n")
    said = c_library(found.snapshot)
    assert [supposed.value for supposed in said] == [text for text in [IMAGES[image]] if text]
    assert all(image in supposed.where for supposed in said)
    too_old = IMAGES[image] in {"musl", "glibc 2.17", "glibc 2.27"}
    assert ("glibc-too-old" in [finding.name for finding in found.diagnosis.findings]) == too_old


def test_an_image_for_linux_says_nothing_of_another_system_and_the_option_comes_first(tmp_path: Path) -> None:
    text = "FROM ubuntu:18.04\nRUN pip install torch==2.8.0\n"
    for machine, libc in ((Combination(requirements=(), os="windows"), []), (Combination(requirements=(), libc="musl"), ["musl"])):
        found = checked(tmp_path, "Dockerfile", text, machine)
        assert [supposed.value for supposed in c_library(found.snapshot)] == libc


EXACT = {
    "conda list": (
        "listed.txt",
        (
            "# packages in environment at /opt/conda/envs/a:\n#\n# Name                    Version                   Build  Channel\n"
            "_libgcc_mutex             0.1                 conda_forge    conda-forge\n_openmp_mutex             4.5                       2_gnu    conda-forge\n"
            "ca-certificates           2024.2.2             hbcca054_0    conda-forge\nlibcublas                 11.11.3.6                     0    nvidia\n"
            "numpy                     1.26.4          py310hb13e2d6_0    conda-forge\npip                       24.0               pyhd8ed1ab_0    conda-forge\n"
            "python                    3.10.13         hd12c33a_1_cpython    conda-forge\npython_abi                3.10                    4_cp310    conda-forge\n"
            "pytorch                   2.1.2           py3.10_cuda11.8_cudnn8.7.0_0    pytorch\npytorch-cuda              11.8                 h7e8668a_5    pytorch\n"
            "pytorch-mutex             1.0                        cuda    pytorch\ntqdm                      4.66.2                   pypi_0    pypi\n"
        ),
    ),
    "conda env export": (
        "environment.yml",
        (
            "name: a\nchannels:\n  - pytorch\n  - nvidia\n  - conda-forge\ndependencies:\n  - _libgcc_mutex=0.1=conda_forge\n  - numpy=1.26.4=py310hb13e2d6_0\n"
            "  - pip=24.0=pyhd8ed1ab_0\n  - python=3.10.13=hd12c33a_1_cpython\n  - pytorch=2.1.2=py3.10_cuda11.8_cudnn8.7.0_0\n  - pytorch-cuda=11.8=h7e8668a_5\n"
            "  - pip:\n      - tqdm==4.66.2\nprefix: /opt/conda/envs/a\n"
        ),
    ),
    "conda env export --from-history": (
        "environment.yml",
        "name: a\ndependencies:\n  - python=3.10.13\n  - pytorch=2.1.2\n  - pytorch-cuda=11.8\n",
    ),
    "conda list --export": (
        "listed.txt",
        (
            "# This file may be used to create an environment using:\n# $ conda create --name <env> --file <this file>\n# platform: linux-64\n"
            "python=3.10.13=hd12c33a_1_cpython\npytorch=2.1.2=py3.10_cuda11.8_cudnn8.7.0_0\n"
        ),
    ),
    "its table alone": (
        "listed.txt",
        "# Name Version Build Channel\npython 3.10.13 hd12c33a_0_cpython conda-forge\npytorch 2.1.2 py3.10_cuda11.8_cudnn8.7.0_0 pytorch\n",
    ),
    "a project": (
        "pyproject.toml",
        '[project]\nname = "a"\nversion = "1"\nrequires-python = "==3.10.13"\ndependencies = ["torch==2.1.2+cu118"]\n',
    ),
    "Poetry's lock file": (
        "poetry.lock",
        (
            '[[package]]\nname = "torch"\nversion = "2.1.2+cu118"\noptional = false\npython-versions = ">=3.8.0"\nfiles = []\n\n'
            '[metadata]\nlock-version = "2.0"\npython-versions = "3.10.13"\ncontent-hash = "ab"\n'
        ),
    ),
    "uv's lock file": (
        "uv.lock",
        (
            'version = 1\nrequires-python = "==3.10.13"\n\n[[package]]\nname = "a"\nversion = "1"\nsource = { virtual = "." }\ndependencies = [{ name = "torch" }]\n\n'
            '[[package]]\nname = "torch"\nversion = "2.1.2+cu118"\nsource = { registry = "https://download.pytorch.org/whl/cu118" }\n'
        ),
    ),
}


@pytest.mark.parametrize("case", EXACT)
def test_an_exact_python_is_taken_with_its_patch_release(tmp_path: Path, case: str) -> None:
    found = checked(tmp_path, *EXACT[case])
    assert versions(found)["torch"] == "2.1.2+cu118"
    assert not isinstance(found.snapshot.python, Missing)
    assert found.snapshot.python.version == "3.10.13"
    assert found.diagnosis.verdict is not Verdict.BROKEN


RANGES = {
    ">=3.12": False,
    ">=3.12,<3.14": False,
    ">=3.14": False,
    "<3.9": False,
    ">=3.9": True,
    ">=3.11,<3.13": True,
    "~=3.11.4": True,
    "!=3.10.*": True,
    "==3.11.9": True,
    "==3.12.1": False,
}
PROJECTS = {
    "pyproject.toml": '[project]\nname = "a"\nversion = "1"\nrequires-python = "{}"\ndependencies = ["tensorflow[and-cuda]==2.15.1"]\n',
    "uv.lock": 'version = 1\nrequires-python = "{}"\n[[package]]\nname = "a"\nversion = "1"\nsource = {{ virtual = "." }}\n'
    'dependencies = [{{ name = "tensorflow" }}]\n[[package]]\nname = "tensorflow"\nversion = "2.15.1"\nsource = {{ registry = "https://example.org/simple" }}\n',
    "poetry.lock": '[[package]]\nname = "tensorflow"\nversion = "2.15.1"\noptional = false\npython-versions = ">=3.9"\nfiles = []\n\n'
    '[metadata]\npython-versions = "{}"\n',
}


@pytest.mark.parametrize("file", PROJECTS)
@pytest.mark.parametrize("specifier", RANGES)
def test_a_release_needs_a_wheel_for_a_python_that_the_file_allows(tmp_path: Path, file: str, specifier: str) -> None:
    found = checked(tmp_path, file, PROJECTS[file].format(specifier))
    named = [cause for cause in found.diagnosis.root_causes if cause.name == "python-version-unsupported"]
    assert bool(named) is not RANGES[specifier]
    assert isinstance(found.snapshot.supposed, tuple)
    assert [supposed.where.startswith(str(tmp_path / file)) for supposed in found.snapshot.supposed if supposed.what == "Python"] == [True]


def test_the_python_that_is_assumed_is_one_that_the_file_allows(tmp_path: Path) -> None:
    found = checked(tmp_path, "pyproject.toml", PROJECTS["pyproject.toml"].format(">=3.10"))
    assert isinstance(found.snapshot.supposed, tuple)
    assert [supposed.value for supposed in found.snapshot.supposed if supposed.what == "Python"] == [
        "3.10 to 3.11, as >=3.10 and the wheels allow"
    ]


def test_a_fix_stays_within_the_pythons_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECTS["pyproject.toml"].format(">=3.12"))
    asked = read_requirement_files([str(tmp_path / "pyproject.toml")])
    found = check_combination(T4, Policy(level=None), asked=asked, fixes=True)
    assert found.diagnosis.root_causes[0].fixes[0].python == "3.12"


@pytest.mark.parametrize("local", ["cpu", "cu118", "cu121"])
@pytest.mark.parametrize("release", ["2.1.2", "2.3.1", "2.4.1", "2.5.1"])
def test_a_companion_on_the_only_index_is_that_of_the_stated_torch(tmp_path: Path, release: str, local: str) -> None:
    text = f"--index-url {WHEELS}/{local}\ntorch=={release}\ntorchvision\ntorchaudio\n"
    found = checked(tmp_path, "requirements.txt", text)
    assert versions(found)["torchaudio"] == f"{release}+{local}"
    assert not {cause.name for cause in found.diagnosis.root_causes} & {"torch-torchvision-mismatch", "torch-torchaudio-mismatch"}


def test_a_bare_torch_on_the_index_without_cuda_is_the_newest_release(tmp_path: Path) -> None:
    found = checked(tmp_path, "requirements.txt", f"--index-url {WHEELS}/cpu\ntorch\n")
    usual = checked(tmp_path, "requirements.txt", "torch\n")
    assert versions(found)["torch"] == f"{versions(usual)['torch']}+cpu"
