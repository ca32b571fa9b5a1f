from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from gpudoctor.errors import UsageError
from gpudoctor.requirement_files import reading
from gpudoctor.requirement_files.model import RequestedPackages
from gpudoctor.requirement_files.reading import read_requirement_files

CU128 = "https://download.pytorch.org/whl/cu128"


def read(folder: Path, name: str, text: str, **asked: tuple[str, ...]) -> RequestedPackages:
    (folder / name).write_text(text)
    return read_requirement_files([str(folder / name)], **asked)


def wanted(asked: RequestedPackages) -> list[str]:
    return [str(stated.requirement) for stated in asked.requirements]


REQUIREMENTS = f"""
https://example.org/exllama-0.0.10+cu117-cp310-cp310-win_amd64.whl; platform_system == "Windows"
--extra-index-url {CU128}  # PyTorch's own
-c pins.txt
torch==2.8.0 \\
    --hash=sha256:aa
numpy<3; python_version >= "3.10"
vllm @ https://example.org/vllm-0.11.0+cu129-cp38-abi3-manylinux1_x86_64.whl#sha256=bb
git+https://example.org/repository#egg=apex
-e .
torch == 2.8.0
"""


def test_a_requirements_file_states_packages_constraints_and_indexes(tmp_path: Path) -> None:
    (tmp_path / "pins.txt").write_text("triton<4\n")
    asked = read(tmp_path, "requirements.txt", REQUIREMENTS)
    windows = 'exllama==0.0.10+cu117; platform_system == "Windows"'
    assert wanted(asked) == [windows, "torch==2.8.0", 'numpy<3; python_version >= "3.10"', "vllm==0.11.0+cu129"]
    assert [place.line for place in asked.requirements[1].places] == [5, 11]
    assert [str(stated.requirement) for stated in asked.constraints] == ["triton<4"]
    assert [(index.url, index.only) for index in asked.indexes] == [(CU128, False)]
    assert [(not_read.name, not_read.place.line) for not_read in asked.not_read] == [("apex", 9), ("", 10)]


def test_what_only_poetry_writes_is_told(tmp_path: Path) -> None:
    written = {"python": "^3.9 || ^3.11", "torch": "^2.0 || ^1.13", "jax": "^"}
    lines = "\n".join(f'{name} = "{version}"' for name, version in written.items())
    asked = read(tmp_path, "pyproject.toml", f"[tool.poetry.dependencies]\n{lines}")
    assert {not_read.reason for not_read in asked.not_read} == {"its version is written as only Poetry writes it"}
    assert [(not_read.text, not_read.package) for not_read in asked.not_read] == [
        (f"{name} = {version}", name != "python") for name, version in written.items()
    ]


def test_what_pip_says_beside_its_list_is_no_package(tmp_path: Path) -> None:
    said = ("WARNING: Ignoring invalid distribution -umpy", "[notice] A new release of pip is available: 24.0 -> 25.1")
    asked = read(tmp_path, "packages.txt", f"{said[0]}\nPackage Version\n------- -------\ntorch   2.5.1\n\n{said[1]}\n")
    assert wanted(asked) == ["torch==2.5.1"]
    assert [(not_read.text, not_read.package) for not_read in asked.not_read] == [(text, False) for text in said]
    frozen = read(tmp_path, "requirements.txt", f"{said[0]}\ntorch==2.5.1\n{said[1]}\n")
    assert (wanted(frozen), [not_read.package for not_read in frozen.not_read]) == (["torch==2.5.1"], [False, False])


@pytest.mark.parametrize("image", ["", '""', "${BASE}"])
def test_an_image_without_a_name_is_told(tmp_path: Path, image: str) -> None:
    asked = read(tmp_path, "Dockerfile", f'ARG BASE=""\nFROM {image}\nRUN pip install torch\n')
    assert ["what this image holds is not known" in not_read.reason for not_read in asked.not_read] == [True]


PROJECT = f"""
[project]
requires-python = ">=3.11,<3.13"
dependencies = ["torch>=2.6", "numpy"]
[project.optional-dependencies]
fast = ["flash-attn"]
[dependency-groups]
dev = ["pytest", {{ include-group = "lint" }}]
lint = ["ruff"]
[tool.uv.sources]
torch = [{{ index = "own", marker = "sys_platform == 'linux'" }}]
[[tool.uv.index]]
name = "own"
url = "{CU128}"
explicit = true
"""


def test_extras_and_groups_of_a_project_are_read_if_named(tmp_path: Path) -> None:
    asked = read(tmp_path, "pyproject.toml", PROJECT)
    assert wanted(asked) == ['torch>=2.6; sys_platform == "linux"', "numpy"]
    assert (asked.requirements[0].index, asked.indexes, asked.python[0].specifier) == (CU128, (), ">=3.11,<3.13")
    assert [not_read.text for not_read in asked.not_read] == ["--extra fast", "--group dev", "--group lint"]
    everything = read(tmp_path, "pyproject.toml", PROJECT, extras=("fast",), groups=("dev",))
    assert wanted(everything)[2:] == ["flash-attn", "pytest", "ruff"]


def test_an_extra_that_no_file_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--extra quick: no file has it; the files have --extra fast"):
        read(tmp_path, "pyproject.toml", PROJECT, extras=("quick",))


POETRY = """
[tool.poetry.dependencies]
python = "^3.10"
torch = { version = "~2.5", source = "own" }
numpy = "^1.26.1"
apex = { git = "https://example.org/apex" }
[[tool.poetry.source]]
name = "own"
url = "https://download.pytorch.org/whl/cu124"
"""


def test_versions_of_poetry_become_ranges(tmp_path: Path) -> None:
    asked = read(tmp_path, "pyproject.toml", POETRY)
    assert wanted(asked) == ["torch<2.6,>=2.5", "numpy<2,>=1.26.1"]
    assert asked.requirements[0].index.endswith("cu124")
    assert (asked.python[0].specifier, [not_read.name for not_read in asked.not_read]) == (">=3.10,<4", ["apex"])


UV_LOCK = f"""
version = 1
requires-python = ">=3.11"
[[package]]
name = "project"
version = "1"
source = {{ virtual = "." }}
dependencies = [{{ name = "torch", marker = "sys_platform == 'linux'" }}, {{ name = "six" }}]
[package.optional-dependencies]
more = [{{ name = "extra" }}]
[[package]]
name = "extra"
version = "1.0"
source = {{ registry = "https://example.org/simple" }}
[[package]]
name = "six"
version = "1.17.0"
source = {{ registry = "https://example.org/simple" }}
wheels = [{{ url = "https://example.org/six-1.17.0-py2.py3-none-any.whl" }}]
[[package]]
name = "torch"
version = "2.9.0+cu128"
source = {{ registry = "{CU128}" }}
dependencies = [{{ name = "nccl" }}]
wheels = [{{ url = "https://example.org/torch-2.9.0-cp312-cp312-manylinux_2_28_x86_64.whl" }}]
[[package]]
name = "nccl"
version = "2.27.5"
source = {{ git = "https://example.org/nccl" }}
"""


def test_a_lock_of_uv_states_what_is_installed_without_extras(tmp_path: Path) -> None:
    asked = read(tmp_path, "uv.lock", UV_LOCK)
    assert wanted(asked) == ["six==1.17.0", 'torch==2.9.0+cu128; sys_platform == "linux"']
    assert [(stated.without_gpu_code, stated.index) for stated in asked.requirements] == [
        (True, "https://example.org/simple"),
        (False, CU128),
    ]
    assert [(not_read.text, not_read.name) for not_read in asked.not_read] == [("--extra more", ""), ("project", ""), ("nccl", "nccl")]
    assert "extra==1.0" in wanted(read(tmp_path, "uv.lock", UV_LOCK, extras=("more",)))


PYLOCK = """
lock-version = "1.0"
requires-python = ">=3.10"
[[packages]]
name = "torch"
version = "2.8.0"
marker = "'gpu' in extras"
index = "https://download.pytorch.org/whl/cu128"
[[packages]]
name = "numpy"
version = "2.3.0"
[[packages.wheels]]
name = "numpy-2.3.0-cp312-cp312-manylinux_2_28_x86_64.whl"
"""


def test_markers_of_pylock_follow_the_named_extras(tmp_path: Path) -> None:
    without, named = read(tmp_path, "pylock.toml", PYLOCK), read(tmp_path, "pylock.toml", PYLOCK, extras=("gpu",))
    assert [str(stated.requirement.marker) for stated in (without.requirements[0], named.requirements[0])] == [
        'python_version < "2"',
        'python_version >= "2"',
    ]
    assert without.requirements[1].requirement.marker is None


POETRY_LOCK = """
[[package]]
name = "jax"
version = "0.6.0"
optional = false
python-versions = ">=3.10"
groups = ["main"]
markers = 'sys_platform == "linux"'
files = [{ file = "jax-0.6.0-py3-none-any.whl", hash = "" }]
[[package]]
name = "pytest"
version = "8.0"
optional = false
python-versions = "*"
groups = ["dev"]
files = []
[metadata]
python-versions = "^3.11"
"""


def test_a_lock_of_poetry_states_its_main_group(tmp_path: Path) -> None:
    asked = read(tmp_path, "poetry.lock", POETRY_LOCK)
    assert wanted(asked) == ['jax==0.6.0; sys_platform == "linux"']
    assert asked.python[0].specifier == ">=3.11,<4"
    assert "pytest==8.0" in wanted(read(tmp_path, "poetry.lock", POETRY_LOCK, groups=("dev",)))


def test_a_lock_of_pipenv_states_its_default_packages(tmp_path: Path) -> None:
    lock = {
        "_meta": {"requires": {"python_version": "3.11"}, "sources": [{"name": "own", "url": CU128}]},
        "default": {"torch": {"version": "==2.8.0", "index": "own", "markers": "python_version >= '3.9'"}, "mine": {"path": "."}},
        "develop": {"pytest": {"version": "==8.0"}},
    }
    asked = read(tmp_path, "Pipfile.lock", json.dumps(lock))
    assert wanted(asked) == ['torch==2.8.0; python_version >= "3.9"']
    assert (asked.requirements[0].index, asked.python[0].specifier) == (CU128, "==3.11.*")
    assert [not_read.text for not_read in asked.not_read] == ["--group dev", "mine"]


ENVIRONMENT = """
name: training
channels: [pytorch, nvidia]
dependencies:
  - python=3.11
  - pytorch=2.4
  - pytorch::pytorch-cuda=12.4
  - cuda-version>=12,<13
  - jaxlib=*=*cuda12*
  - tensorflow==2.16.1=cuda120py311*
  - "numpy[version='>=1.26', build=py311*]"
  - scipy 1.11.4
  - _libgcc_mutex=0.1=main
  - pip:
      - bitsandbytes==0.43.0
"""


def test_an_environment_of_conda_states_versions_and_builds(tmp_path: Path) -> None:
    asked = read(tmp_path, "environment.yml", ENVIRONMENT)
    assert [(str(stated.requirement), stated.build, stated.conda) for stated in asked.requirements] == [
        ("torch==2.4.*", "", True),
        ("pytorch-cuda==12.4.*", "", True),
        ("cuda-version<13,>=12", "", True),
        ("jaxlib", "*cuda12*", True),
        ("tensorflow==2.16.1", "cuda120py311*", True),
        ("numpy>=1.26", "py311*", True),
        ("scipy==1.11.4", "", True),
        ("bitsandbytes==0.43.0", "", False),
    ]
    assert asked.python[0].specifier == "==3.11.*"
    assert [str(not_read.place) for not_read in asked.not_read] == [f"{tmp_path}/environment.yml:13"]


LISTINGS = {
    "conda list": "# packages in environment at /opt/e:\n#\n# Name  Version  Build  Channel\npytorch  2.5.1  py3.12_cuda12.4_cudnn9.1.0_0  pytorch\nvllm 0.6.0 pypi_0 pypi\n",
    "conda list --export": "# This file may be used to create an environment using:\n# platform: linux-64\npytorch=2.5.1=py3.12_cuda12.4_cudnn9.1.0_0\nvllm=0.6.0=pypi_0\n",
    "conda list --explicit": "# platform: linux-64\n@EXPLICIT\nhttps://conda.anaconda.org/pytorch/linux-64/pytorch-2.5.1-py3.12_cuda12.4_cudnn9.1.0_0.tar.bz2\n"
    "https://conda.anaconda.org/x/noarch/vllm-0.6.0-py_0.conda#ab\n",
    "pip list": "Package Version\n------- -------\ntorch   2.5.1\nvllm    0.6.0\n",
    "pip freeze": "torch==2.5.1\nvllm==0.6.0\n",
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listings_are_known_by_how_they_begin(tmp_path: Path, name: str) -> None:
    asked = read(tmp_path, "listed.txt", LISTINGS[name])
    assert wanted(asked) == ["torch==2.5.1", "vllm==0.6.0"]
    assert asked.not_read == ()


DOCKERFILE = """
ARG CUDA=12.4.1
FROM python:3.12 AS tools
RUN pip install build
FROM nvidia/cuda:${CUDA}-cudnn-devel-ubuntu22.04 AS base
ENV RELEASE=2.6.0
RUN apt-get install -y git \\
    # a comment between continuation lines
    && python3 -m pip install --no-cache-dir torch==${RELEASE} --index-url https://download.pytorch.org/whl/cu124 \\
    && uv pip install --system 'flash-attn>=2.7' -r /src/more.txt
FROM base
RUN <<END
pip install vllm==0.8.0 > /dev/null
conda install -y -c nvidia cuda-version=12.4
END
RUN ["pip", "install", "triton"]
RUN uv sync --frozen
"""


def test_a_dockerfile_states_its_image_and_what_the_last_stage_installs(tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("deepspeed\n")
    asked = read(tmp_path, "Dockerfile", DOCKERFILE)
    assert wanted(asked) == ["torch==2.6.0", "deepspeed", "flash-attn>=2.7", "vllm==0.8.0", "cuda-version==12.4.*", "triton"]
    assert asked.requirements[0].index.endswith("/cu124")
    assert asked.image is not None
    assert asked.image.cuda == "12.4.1"
    assert [(not_read.text, not_read.package) for not_read in asked.not_read] == [
        ("FROM python:3.12 AS tools", False),
        ("uv sync --frozen", True),
    ]


SHELL = """FROM ubuntu
RUN if [ "$TARGETPLATFORM" = "linux/arm64" ]; then pip install torch==2.7.1; fi && pip install vllm==0.8.0
RUN pip install --extra-index-url https://download.pytorch.org/whl/cu$(echo $CUDA | tr -d .) torch==2.8.0
"""


def test_what_only_a_shell_could_tell_is_not_read(tmp_path: Path) -> None:
    asked = read(tmp_path, "Dockerfile", SHELL)
    assert wanted(asked) == ["vllm==0.8.0", "torch==2.8.0"]
    assert [(not_read.text, not_read.place.line) for not_read in asked.not_read] == [
        ("pip install torch==2.7.1", 2),
        ("https://download.pytorch.org/whl/cu$COMPUTED", 3),
    ]


IMAGES = {
    "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime": (["torch==2.5.1+cu124"], []),
    "tensorflow/tensorflow:2.15.0-gpu-jupyter": (["tensorflow==2.15.0"], []),
    "docker.io/tensorflow/tensorflow:latest-gpu": ([], ["tensorflow"]),
    "nvcr.io/nvidia/pytorch:24.05-py3": ([], ["torch"]),
    "registry.example.org/team/base:7": ([], [""]),
    "ubuntu:24.04": ([], []),
}


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_states_its_framework_by_its_tag(tmp_path: Path, image: str) -> None:
    asked = read(tmp_path, "Dockerfile", f"FROM {image}\n")
    assert (wanted(asked), [not_read.name for not_read in asked.not_read]) == IMAGES[image]


REFUSED = {
    "cycle": ("a.txt", "-r a.txt\n", "includes itself"),
    "missing": ("a.txt", "-r b.txt\n", r"b\.txt \(included by .*a\.txt:1\) cannot be read: No such file"),
    "bytes": ("a.txt", "\udcff", "is not a text file"),
    "toml": ("pyproject.toml", "[project\n", "is not valid TOML"),
    "group": ("pyproject.toml", '[dependency-groups]\na = [{include-group = "a"}]\n', "the dependency group a includes itself"),
    "json": ("Pipfile.lock", "{", "is not valid JSON"),
    "deep json": ("Pipfile.lock", "[" * 100_000, "is not valid JSON"),
    "yaml": ("environment.yml", "dependencies: [", r"environment\.yml:1 is not valid YAML"),
    "deep yaml": ("environment.yml", "[" * 100_000, "nested too deeply"),
    "long yaml": ("environment.yml", "- a\n" * 100_000, "larger than 256 KiB"),
    "long Dockerfile": ("Dockerfile", "FROM a\n" + "RUN a\n" * 100_000, "larger than 256 KiB"),
    "many": ("a.txt", "".join(f"p{number}\n" for number in range(20_001)), "more than 20000 packages"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_cannot_be_used_is_refused_in_a_sentence(tmp_path: Path, case: str) -> None:
    name, text, sentence = REFUSED[case]
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    groups = ("a",) if case == "group" else ()
    with pytest.raises(UsageError, match=sentence):
        read_requirement_files([str(tmp_path / name)], groups=groups)


@pytest.mark.parametrize(
    "text", [REQUIREMENTS.replace("-c pins.txt\n", ""), PROJECT, POETRY, UV_LOCK, POETRY_LOCK, ENVIRONMENT, DOCKERFILE]
)
def test_a_pipe_is_read_as_a_file_without_a_telling_name_is(text: str, tmp_path: Path) -> None:
    pipe, file = tmp_path / "63", tmp_path / "file"
    file.write_text(text)
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"cat {file} > {pipe}"]):
        asked = read_requirement_files([str(pipe)])
    assert wanted(asked) == wanted(read_requirement_files([str(file)]))


def test_a_pipe_that_does_not_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PATIENCE_SECONDS", 0.05)
    file = tmp_path / "requirements.txt"
    os.mkfifo(file)
    with pytest.raises(UsageError, match="does not end"):
        read_requirement_files([str(file)])
    writer = os.open(file, os.O_RDWR)
    try:
        os.write(writer, b"torch==2.8.0\n")
        with pytest.raises(UsageError, match="does not end"):
            read_requirement_files([str(file)])
    finally:
        os.close(writer)


def test_a_pipe_that_a_file_includes_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "more.txt")
    (tmp_path / "requirements.txt").write_text("-r more.txt\n")
    with pytest.raises(UsageError, match="Not a regular file"):
        read_requirement_files([str(tmp_path / "requirements.txt")])


def test_aliases_of_yaml_do_not_grow(tmp_path: Path) -> None:
    layers = "".join(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]\n" for n in range(1, 30))
    asked = read(tmp_path, "environment.yml", f"x0: &x0 [a]\n{layers}dependencies: *x29\n")
    assert asked.requirements == ()


def test_a_text_from_powershell_is_read(tmp_path: Path) -> None:
    (tmp_path / "frozen.txt").write_bytes("torch==2.8.0\r\n".encode("utf-16"))
    assert wanted(read_requirement_files([str(tmp_path / "frozen.txt")])) == ["torch==2.8.0"]


PIXI = """
[workspace]
channels = ["conda-forge"]
platforms = ["linux-64"]
[dependencies]
python = ">=3.11,<3.13"
pytorch-gpu = { version = "2.7.*", build = "cuda126*" }
pytorch = "2.7.*"
[pypi-dependencies]
vllm = "==0.9.0"
jax = { version = "*", extras = ["cuda12"] }
apex = { git = "https://example.org/apex" }
[feature.test.dependencies]
pytest = "*"
[feature.cuda.dependencies]
cuda-version = "12.6.*"
[environments]
default = ["cuda"]
[target.osx-arm64.dependencies]
tensorflow = "*"
"""


@pytest.mark.parametrize("name", ["pixi.toml", "pyproject.toml"])
def test_pixi_states_packages_of_conda_and_of_the_index(tmp_path: Path, name: str) -> None:
    text = PIXI if name == "pixi.toml" else re.sub(r"^\[", "[tool.pixi.", PIXI, flags=re.MULTILINE)
    asked = read(tmp_path, name, text)
    assert [(str(stated.requirement), stated.conda) for stated in asked.requirements] == [
        ("pytorch-gpu==2.7.*", True),
        ("torch==2.7.*", True),
        ("vllm==0.9.0", False),
        ("jax[cuda12]", False),
        ("cuda-version==12.6.*", True),
    ]
    assert asked.requirements[0].build == "cuda126*"
    assert [stated.specifier for stated in asked.python] == [">=3.11,<3.13"]
    assert [not_read.text for not_read in asked.not_read if not not_read.package] == ["--group test", "target.osx-arm64"]
    assert [not_read.name for not_read in asked.not_read if not_read.package] == ["apex"]
    assert "pytest" in wanted(read_requirement_files([str(tmp_path / name)], groups=("test",)))


def test_an_override_of_uv_replaces_a_requirement_and_bounds_what_others_require(tmp_path: Path) -> None:
    text = '[project]\ndependencies = ["torch>=2.8", "vllm"]\n[tool.uv]\noverride-dependencies = ["torch==2.7.1", "nvidia-nccl-cu12==2.26.2"]\n'
    asked = read(tmp_path, "pyproject.toml", text)
    assert wanted(asked) == ["torch==2.7.1", "vllm"]
    assert [str(stated.requirement) for stated in asked.constraints] == ["torch==2.7.1", "nvidia-nccl-cu12==2.26.2"]
