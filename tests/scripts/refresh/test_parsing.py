from __future__ import annotations

import json

import pytest
from packaging.requirements import Requirement

from gpudoctor.versions import Version
from scripts.refresh.common import group_releases, merged_row, numpy_abi
from scripts.refresh.index import IndexFile, parse_index, parse_wheel_name, pythons_within
from scripts.refresh.metadata import requires, requires_python
from scripts.refresh.yanked import withdrawn
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
            "torch-2.0.0-cp311-cp311-manylinux1_x86_64.whl",
            "https://index.example/files/torch-2.0.0-cp311-cp311-manylinux1_x86_64.whl",
            ">=3.8",
        ),
        IndexFile("torch-2.0.0+cpu-cp311-cp311-linux_x86_64.whl", "https://files.example/torch-2.0.0%2Bcpu-cp311-cp311-linux_x86_64.whl"),
    ]


def test_an_index_page_in_json() -> None:
    files = [
        {"filename": "a-1-cp39-cp39-win_amd64.whl", "url": "a.whl", "hashes": {}},
        {"filename": "a-1-py3-none-any.whl", "url": "b.whl", "requires-python": ">=3.9"},
        {"filename": "a-1.tar.gz", "url": "c", "requires-python": None},
    ]
    page = json.dumps({"meta": {"api-version": "1.1"}, "files": files})
    assert parse_index(page, "application/vnd.pypi.simple.v1+json", BASE) == [
        IndexFile("a-1-cp39-cp39-win_amd64.whl", BASE + "a.whl"),
        IndexFile("a-1-py3-none-any.whl", BASE + "b.whl", ">=3.9"),
        IndexFile("a-1.tar.gz", BASE + "c"),
    ]


@pytest.mark.parametrize(
    ("filename", "release", "pythons", "platforms"),
    [
        ("tensorflow-2.12.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", "2.12.0", "3.11", {"linux_x86_64"}),
        ("torch-2.0.0-1-cp38-cp38-manylinux2014_aarch64.whl", "2.0.0", "3.8", {"linux_aarch64"}),
        ("torch-2.15.0-cp314-cp314t-manylinux_2_28_x86_64.whl", "2.15.0", "3.14t", {"linux_x86_64"}),
        ("tensorflow_gpu-1.14.0-cp27-cp27mu-manylinux1_x86_64.whl", "1.14.0", "2.7", {"linux_x86_64"}),
        ("tensorflow-1.12.0-cp27-cp27m-macosx_10_11_x86_64.whl", "1.12.0", "2.7", {"macos_x86_64"}),
        ("tensorflow-1.15.4-cp35-cp35m-macosx_10_6_intel.whl", "1.15.4", "3.5", {"macos_x86_64"}),
        ("torch-2.0.0-cp310-none-macosx_11_0_arm64.whl", "2.0.0", "3.10", {"macos_arm64"}),
        ("h-1.0-cp39-cp39-macosx_11_0_universal2.whl", "1.0", "3.9", {"macos_arm64", "macos_x86_64"}),
        ("torch-2.0.0-cp310-cp310-win_amd64.whl", "2.0.0", "3.10", {"win_amd64"}),
        ("p-1.0-cp312-abi3-win_amd64.whl", "1.0", "3.12 3.13 3.14 3.15", {"win_amd64"}),
        ("jax-0.8.0-py3-none-any.whl", "0.8.0", "", {"any"}),
        ("mxnet_cu112-1.9.1-py2.py3-none-manylinux2014_x86_64.whl", "1.9.1", "", {"linux_x86_64"}),
    ],
)
def test_a_wheel_name(filename: str, release: str, pythons: str, platforms: set[str]) -> None:
    wheel = parse_wheel_name(filename)
    assert wheel is not None
    assert (wheel.release, wheel.pythons, wheel.platforms) == (release, tuple(pythons.split()), frozenset(platforms))


@pytest.mark.parametrize(
    "filename", ["torch-2.0.0.tar.gz", "torch-2.0.0.whl", "x-1-pp39-pypy39_pp73-win_amd64.whl", "", "a-b-c-d-e-f-g.whl"]
)
def test_other_files_are_not_cpython_wheels(filename: str) -> None:
    assert parse_wheel_name(filename) is None


def test_metadata_bounds_the_interpreters_of_pure_python() -> None:
    assert pythons_within(">=3.12,<3.15") == ("3.12", "3.13", "3.14")
    assert pythons_within(">=3.6.1,<3.8,!=3.6.*") == ("3.7",)
    assert pythons_within("") == ()
    assert pythons_within(">=3.7<3.10") == ()


def test_releases_are_final_and_sorted_by_platform() -> None:
    names = [
        "torch-2.10.0-cp39-cp39-manylinux_2_28_x86_64.whl",
        "torch-2.10.0-cp310-cp310-manylinux_2_28_x86_64.whl",
        "torch-2.10.0-cp310-cp310t-manylinux_2_28_x86_64.whl",
        "torch-2.9.0-cp39-cp39-manylinux_2_28_x86_64.whl",
        "torch-2.9.0-cp39-cp39-win_amd64.whl",
        "torch-2.11.0rc1-cp39-cp39-manylinux_2_28_x86_64.whl",
        "torch-2.12.0.dev20260101-cp39-cp39-manylinux_2_28_x86_64.whl",
        "torch-2.9.0+cpu-cp39-cp39-linux_x86_64.whl",
        "torch-2.9.0-cp39-cp39-win32.whl",
        "torch-1.9.0-cp39-cp39-manylinux1_x86_64.whl",
    ]
    files = [IndexFile(name, f"u/{name}") for name in names]
    found = group_releases(files, lambda distribution, release: distribution == "torch" and release.major == 2)
    assert [(str(one.release), one.platform, one.pythons, one.file.url) for one in found] == [
        ("2.9.0", "linux_x86_64", ("3.9",), f"u/{names[3]}"),
        ("2.9.0", "win_amd64", ("3.9",), f"u/{names[4]}"),
        ("2.10.0", "linux_x86_64", ("3.9", "3.10", "3.10t"), f"u/{names[1]}"),
    ]


def test_pure_python_wheels_are_universal_within_their_metadata() -> None:
    files = [IndexFile("jax-0.8.0-py3-none-any.whl", "u", ">=3.13,<3.15"), IndexFile("jax-0.7.0-py3-none-any.whl", "u")]
    found = group_releases(files, lambda *_: True)
    assert [(one.platform, one.pythons) for one in found] == [("any", ()), ("any", ("3.13", "3.14"))]


def test_a_project_with_only_development_releases_is_kept() -> None:
    files = [
        IndexFile(f"tensorflow_directml_plugin-{text}-cp310-cp310-win_amd64.whl", "u") for text in ("0.4.0.dev230202", "0.3.0.dev221212")
    ]
    found = group_releases(files, lambda *_: True)
    assert [str(one.release) for one in found] == ["0.3.0.dev221212", "0.4.0.dev230202"]
    assert found[1].release < version("0.4.0")


METADATA = """Metadata-Version: 2.1
Name: example
Requires-Python: >=3.9
Requires-Dist: numpy<2.0,>=1.23 ; python_version < "3.12" and sys_platform != "cygwin" and extra == 'x'
Requires-Dist: six>=1.12
Requires-Dist: tensorflow-io-gcs-filesystem>=0.23
Requires-Dist: nvidia-cudnn-cu12 (==8.9.4.25) ; extra == 'and-cuda'
Requires-Dist: nvidia-cublas-cu12<13.0,>=12.5.3.2; extra == "and-cuda"
Requires-Dist: tensorrt==8.6 ; extra == 'and-cuda'
Requires-Dist: nvidia-nccl-cu12==2.20.5 ; platform_system == "Linux" and platform_machine == "x86_64"
Requires-Dist: cuda-toolkit[cudart,cublas]==13.0.2; platform_system == "Linux"
Requires-Dist: tensorflow-intel (==2.12.0) ; platform_system == "Windows"
Requires-Dist: tensorflow_cpu-aws (==2.12.0) ; platform_system == "Linux" and platform_machine == "aarch64" or python_version < "3"

Requires-Dist: nvidia-in-the-description==1
"""


def test_what_metadata_requires() -> None:
    assert requires(METADATA, "linux_x86_64") == (
        "cuda-toolkit[cublas,cudart]==13.0.2",
        'numpy<2.0,>=1.23;(python_version<"3.12")and(extra=="x")',
        'nvidia-cublas-cu12<13.0,>=12.5.3.2;extra=="and-cuda"',
        'nvidia-cudnn-cu12==8.9.4.25;extra=="and-cuda"',
        "nvidia-nccl-cu12==2.20.5",
        'tensorflow-cpu-aws==2.12.0;python_version<"3"',
        'tensorrt==8.6;extra=="and-cuda"',
    )
    assert "nvidia-nccl-cu12==2.20.5" not in requires(METADATA, "linux_aarch64")
    assert "tensorflow-cpu-aws==2.12.0" in requires(METADATA, "linux_aarch64")
    assert "tensorflow-intel==2.12.0" in requires(METADATA, "win_amd64")
    assert 'tensorflow-intel==2.12.0;platform_system=="Windows"' in requires(METADATA, "any")
    assert requires_python(METADATA) == ">=3.9"
    assert requires("", "any") == ()


def test_a_wildcard_that_old_installers_ignored_is_dropped() -> None:
    metadata = "Requires-Dist: torch (>=1.7.*)\nRequires-Dist: numpy (!=1.19.*,<2.*)\n"
    assert requires(metadata, "any") == ("numpy!=1.19.*,<2", "torch>=1.7")


@pytest.mark.parametrize("platform", ["linux_x86_64", "any"])
def test_requirements_stay_valid_for_packaging(platform: str) -> None:
    for text in requires(METADATA, platform):
        assert " " not in text
        assert Requirement(text).name == text.split("=")[0].split("<")[0].split("[")[0]


@pytest.mark.parametrize("line", ["numpy (", "numpy; python_version in '2.7 3.3'", "numpy==1; nonsense == 'x'"])
def test_an_invalid_requirement_is_reported(line: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        requires(f"Requires-Dist: {line}\n", "linux_x86_64")


def test_numpy_by_the_names_in_a_module() -> None:
    assert numpy_abi(b"..numpy.core._multiarray_umath\0numpy._core._multiarray_umath..") == 2
    assert numpy_abi(b"..numpy.core.multiarray..") == 1
    assert numpy_abi(b"..") is None


def test_a_row_keeps_facts_that_its_wheel_lacks() -> None:
    files = [IndexFile("torch-2.0.0-cp312-cp312-manylinux1_x86_64.whl", "u")]
    (found,) = group_releases(files, lambda *_: True)
    known = release("2.0.0", note="kept", builds=("cpu",), source=("torch-wheels", "other"))
    row = merged_row(found, {"built_with_cuda": version("12.9")}, known)
    assert (row.note, row.builds, row.sass, row.source) == ("kept", ("cpu",), known.sass, known.source)
    assert (row.pythons, str(row.built_with_cuda)) == (("3.12",), "12.9")
    new = merged_row(found, {"accelerator": "cpu"}, None)
    assert (new.distribution, new.release, new.platform, new.source) == ("torch", Version(2), "linux_x86_64", ("torch-wheels",))
    assert new.sass is None


def test_a_table_may_keep_requirements_that_others_leave_out() -> None:
    metadata = "Requires-Dist: huggingface-hub<1.0,>=0.34.0\nRequires-Dist: pyyaml>=5.1\nRequires-Dist: numpy>=1.17\n"
    assert requires(metadata, "any") == ("numpy>=1.17",)
    assert requires(metadata, "any", {"huggingface-hub"}) == ("huggingface-hub<1.0,>=0.34.0", "numpy>=1.17")


@pytest.mark.parametrize(("mark", "yanked"), [("true", True), ('""', True), ('"broken"', True), ("false", False)])
def test_a_withdrawn_file_is_marked_in_both_forms_of_the_index(mark: str, yanked: bool) -> None:
    body = f'{{"files": [{{"filename": "torch-2.0.0-cp38-cp38-win_amd64.whl", "url": "u", "yanked": {mark}}}]}}'
    anchor = f'<a href="torch-2.0.0-cp38-cp38-win_amd64.whl"{" data-yanked" if yanked else ""}>torch</a>'
    assert [file.yanked for file in parse_index(body, "application/json", "https://index.example/")] == [yanked]
    assert [file.yanked for file in parse_index(anchor, "text/html", "https://index.example/")] == [yanked]


def test_a_release_is_withdrawn_if_all_its_files_are() -> None:
    names = [("torch-2.0.0-cp38-cp38-win_amd64.whl", True), ("torch-2.0.0.tar.gz", True), ("torch-2.0.1-py3-none-any.whl", True)]
    files = [IndexFile(name, "u", yanked=yanked) for name, yanked in [*names, ("torch-2.0.1.tar.gz", False), ("torch-3.0.0.tar.gz", True)]]
    assert withdrawn(files, {version("2.0.0"), version("2.0.1")}) == ("2.0.0",)
