from __future__ import annotations

import json

import pytest
from refresh_common import group_releases, merged_row, nvidia_pins
from refresh_index import IndexFile, parse_index, parse_wheel_name

from gpudoctor.versions import Version
from tests.matrix.samples import release, version

BASE = "https://index.example/simple/torch/"
HTML = """<!DOCTYPE html><html><body>
<a href="../../files/torch-2.0.0-cp311-cp311-manylinux1_x86_64.whl#sha256=00" data-requires-python="&gt;=3.8">torch-2.0.0…</a><br/>
<a href="https://files.example/torch-2.0.0%2Bcpu-cp311-cp311-linux_x86_64.whl">x</a>
<a>no link</a>
</body></html>"""


def test_an_index_page_in_html() -> None:
    assert parse_index(HTML, "text/html; charset=utf-8", BASE) == [
        IndexFile(
            "torch-2.0.0-cp311-cp311-manylinux1_x86_64.whl", "https://index.example/files/torch-2.0.0-cp311-cp311-manylinux1_x86_64.whl"
        ),
        IndexFile("torch-2.0.0+cpu-cp311-cp311-linux_x86_64.whl", "https://files.example/torch-2.0.0%2Bcpu-cp311-cp311-linux_x86_64.whl"),
    ]


def test_an_index_page_in_json() -> None:
    page = json.dumps(
        {"meta": {"api-version": "1.1"}, "files": [{"filename": "a-1-cp39-cp39-win_amd64.whl", "url": "a.whl", "hashes": {}}]}
    )
    assert parse_index(page, "application/vnd.pypi.simple.v1+json", BASE) == [IndexFile("a-1-cp39-cp39-win_amd64.whl", BASE + "a.whl")]


@pytest.mark.parametrize(
    ("filename", "release", "python", "platforms"),
    [
        ("tensorflow-2.12.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", "2.12.0", "3.11", frozenset({"linux_x86_64"})),
        ("torch-2.0.0-1-cp38-cp38-manylinux2014_aarch64.whl", "2.0.0", "3.8", frozenset({"linux_aarch64"})),
        ("torch-2.15.0-cp314-cp314t-manylinux_2_28_x86_64.whl", "2.15.0", "3.14t", frozenset({"linux_x86_64"})),
        ("tensorflow_gpu-1.14.0-cp27-cp27mu-manylinux1_x86_64.whl", "1.14.0", "2.7", frozenset({"linux_x86_64"})),
        ("torch-2.0.0-cp310-none-macosx_11_0_arm64.whl", "2.0.0", "3.10", frozenset({"macosx_11_0_arm64"})),
        ("torch-2.0.0-cp310-cp310-win_amd64.whl", "2.0.0", "3.10", frozenset({"win_amd64"})),
    ],
)
def test_a_wheel_name(filename: str, release: str, python: str, platforms: frozenset[str]) -> None:
    wheel = parse_wheel_name(filename)
    assert wheel is not None
    assert (wheel.release, wheel.python, wheel.platforms) == (release, python, platforms)


@pytest.mark.parametrize("filename", ["torch-2.0.0.tar.gz", "torch-2.0.0.whl", "pkg-1.0-py3-none-any.whl", "", "a-b-c-d-e-f-g.whl"])
def test_other_files_are_no_cpython_wheels(filename: str) -> None:
    assert parse_wheel_name(filename) is None


def test_releases_are_final_sorted_and_for_one_platform() -> None:
    names = [
        "torch-2.10.0-cp39-cp39-manylinux_2_28_x86_64.whl",
        "torch-2.10.0-cp310-cp310-manylinux_2_28_x86_64.whl",
        "torch-2.10.0-cp310-cp310t-manylinux_2_28_x86_64.whl",
        "torch-2.9.0-cp39-cp39-manylinux_2_28_x86_64.whl",
        "torch-2.9.1-cp39-cp39-win_amd64.whl",
        "torch-2.11.0rc1-cp39-cp39-manylinux_2_28_x86_64.whl",
        "torch-2.9.0+cpu-cp39-cp39-linux_x86_64.whl",
        "torch-1.9.0-cp39-cp39-manylinux1_x86_64.whl",
    ]
    files = [IndexFile(name, f"u/{name}") for name in names]
    found = group_releases(files, "linux_x86_64", lambda release: release.major == 2)
    assert [(str(one.release), one.pythons, one.url) for one in found] == [
        ("2.9.0", ("3.9",), f"u/{names[3]}"),
        ("2.10.0", ("3.9", "3.10", "3.10t"), f"u/{names[1]}"),
    ]


METADATA = """Metadata-Version: 2.1
Name: example
Requires-Dist: numpy<2.0,>=1.23
Requires-Dist: nvidia-cudnn-cu12 (==8.9.4.25) ; extra == 'and-cuda'
Requires-Dist: nvidia-cublas-cu12<13.0,>=12.5.3.2; extra == "and-cuda"
Requires-Dist: tensorrt==8.6 ; extra == 'and-cuda'
Requires-Dist: nvidia-nccl-cu12==2.20.5 ; platform_system == "Linux" and platform_machine == "x86_64"
Requires-Dist: cuda-toolkit[cudart,cublas]==13.0.2; platform_system == "Linux"

Requires-Dist: nvidia-in-the-description==1
"""


def test_pins_of_an_extra_and_without_one() -> None:
    assert nvidia_pins(METADATA, "and-cuda") == ("nvidia-cublas-cu12<13.0,>=12.5.3.2", "nvidia-cudnn-cu12==8.9.4.25")
    assert nvidia_pins(METADATA, None) == ("cuda-toolkit[cudart,cublas]==13.0.2", "nvidia-nccl-cu12==2.20.5")


def test_a_row_keeps_what_its_wheel_does_not_tell() -> None:
    files = [IndexFile("torch-2.0.0-cp312-cp312-manylinux1_x86_64.whl", "u")]
    (found,) = group_releases(files, "linux_x86_64", lambda _: True)
    known = release("2.0.0", note="kept", builds=("cpu",), source=("torch-wheels", "other"))
    row = merged_row(found, {"built_with_cuda": version("12.9")}, known)
    assert (row.note, row.builds, row.sass, row.source) == ("kept", ("cpu",), known.sass, known.source)
    assert (row.pythons, str(row.built_with_cuda)) == (("3.12",), "12.9")
    new = merged_row(found, {"accelerator": "cpu"}, None)
    assert (new.distribution, new.release, new.source, new.sass) == ("torch", Version(2), ("torch-wheels",), None)
