from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.matrix.tables import RELEASE_TABLES
from gpudoctor.versions import Version
from scripts.refresh import tensorflow as refresh_tensorflow
from scripts.refresh.common import Release, Wheel
from scripts.refresh.index import IndexFile
from scripts.refresh.tensorflow import Libraries
from tests.shipped import shared_matrix

from .served import OneWheel
from .test_fatbin import PTX_100F, SASS_75, container, entry

NEW = """import collections
build_info = collections.OrderedDict([('cuda_compute_capabilities', ['sm_60', 'compute_90']), ('cuda_version', '12.5.1'),
    ('cudnn_version', '9'), ('is_cuda_build', True)])
"""
WINDOWS = NEW.replace("12.5.1", "64_112").replace("'9'", "'64_8'")
OLD = """from __future__ import print_function
is_cuda_build = True

cuda_version_number = '10'
cudnn_version_number = '7'
"""
OLDEST = "is_cuda_build = True\n"
NOTHING = Libraries()
METADATA = b"Requires-Dist: numpy (<2.0,>=1.16.0)\nRequires-Dist: tensorflow-intel (==2.12.0) ; platform_system == 'Windows'\n\nText"


def facts(text: str, libraries: Libraries = NOTHING) -> dict[str, Any]:
    told = refresh_tensorflow.facts_of(refresh_tensorflow.parse_build_info(text), libraries)
    return {name: str(value) if isinstance(value, Version) else value for name, value in told.items()}


@pytest.mark.parametrize(("text", "cuda", "cudnn"), [(NEW, "12.5.1", "9"), (WINDOWS, "11.2", "8")], ids=["Linux", "Windows"])
def test_a_dictionary(text: str, cuda: str, cudnn: str) -> None:
    assert facts(text) == {
        "accelerator": "cuda",
        "built_with_cuda": cuda,
        "cudnn": cudnn,
        "sass": ("sm_60", "sm_90"),
        "ptx": ("compute_90",),
    }


@pytest.mark.parametrize(
    ("text", "named", "cuda", "cudnn"),
    [
        (OLD, ("10.0",), "10.0", "7"),
        (OLD, ("64_100",), "10.0", "7"),
        (OLD, (), "10", "7"),
        (OLD, ("10.0", "10.1"), "10", "7"),
        (OLD, ("9.0",), "10", "7"),
        (OLDEST, ("9.0",), "9.0", None),
        (OLDEST, (), None, None),
    ],
)
def test_old_releases_name_their_cuda_in_the_library(text: str, named: tuple[str, ...], cuda: str | None, cudnn: str | None) -> None:
    told = facts(text, Libraries(("sm_37",), ("compute_37",), named))
    assert (told["built_with_cuda"], told["cudnn"]) == (cuda, cudnn)
    assert (told["sass"], told["ptx"]) == (("sm_37",), ("compute_37",))


def test_a_build_for_the_cpu_has_nothing_of_cuda() -> None:
    told = facts("build_info = dict([('is_cuda_build', False)])")
    assert told == {"accelerator": "cpu", "built_with_cuda": None, "cudnn": None, "sass": None, "ptx": None}


@pytest.mark.parametrize("text", ["", "x = 1", "build_info = {}"])
def test_a_module_without_its_facts_is_reported(text: str) -> None:
    with pytest.raises(ValueError, match="does not state whether"):
        facts(text)


def test_nothing_in_build_info_is_run() -> None:
    with pytest.raises(ValueError, match="malformed"):
        refresh_tensorflow.parse_build_info("x = [print('run')]")


def test_the_libraries_that_a_library_names() -> None:
    piece = b"\0libcudart.so.9.0\0libcudnn.so.7\0libcudart.so\0\x0010.0\0cudart\0cudnn64_7.dll cudart64_100.dll \0text\0cudart\0"
    assert set(refresh_tensorflow.names_in(piece)) == {("art", "9.0"), ("nn", "7"), ("art", "10.0"), ("nn", "64_7"), ("art", "64_100")}


class Opened(OneWheel):
    """A wheel in memory; counts how often it is opened."""

    def __init__(self, members: dict[str, bytes]) -> None:
        super().__init__(lambda: zipfile.ZipFile(self.content))
        self.content, self.times = io.BytesIO(), 0
        lines = [
            f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}"
            for name, data in members.items()
        ]
        with zipfile.ZipFile(self.content, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in {**members, "t.dist-info/RECORD": "\n".join(lines).encode()}.items():
                archive.writestr(name, data)

    def wheel(self, _: str, least: int = 1) -> zipfile.ZipFile:
        self.times += least > 0
        return zipfile.ZipFile(self.content)


RELEASE = Version(2, 12)


def wheel(cache: Path, opened: Opened, name: str = "tensorflow", platform: str = "linux_x86_64", release: Version = RELEASE) -> Wheel:
    return Wheel(Release(name, release, platform, ("3.8",), IndexFile(f"{name}-{release}-{platform}.whl", "u")), opened, cache)


OLD_LIBRARY = b"\0libcudnn.so.7\0" + container(entry(SASS_75), entry(PTX_100F)) + b"\0libcudart.so.10.0\0"
OLD_WHEEL = {
    "tensorflow_core/python/platform/build_info.py": OLD.encode(),
    "tensorflow_core/python/_pywrap_tensorflow_internal.so": OLD_LIBRARY,
    "tensorflow_core/python/_pywrap_checkpoint_reader.so": b"\0numpy.core.multiarray\0",
    "t.dist-info/METADATA": METADATA,
}


def test_an_old_wheel_is_read_once_and_remembered(tmp_path: Path) -> None:
    opened = Opened(OLD_WHEEL)
    told = refresh_tensorflow.read(wheel(tmp_path, opened))
    assert (str(told["built_with_cuda"]), str(told["cudnn"]), told["numpy_abi"]) == ("10.0", "7", 1)
    assert (told["sass"], told["ptx"], told["requires"]) == (("sm_75",), ("compute_100f",), ("numpy<2.0,>=1.16.0",))
    before = opened.times
    assert refresh_tensorflow.read(wheel(tmp_path, opened)) == told
    assert opened.times == before
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 4096


def test_what_tensorflow_says_of_its_cudnn_is_more_exact_than_the_wheel(tmp_path: Path) -> None:
    members = {**OLD_WHEEL, "tensorflow_core/python/platform/build_info.py": WINDOWS.encode()}
    told = refresh_tensorflow.read(wheel(tmp_path, Opened(members), platform="win_amd64"))
    assert str(told["cudnn"]) == "8.6"
    assert told["source"][1:] == ("tensorflow-issue-60913", "tensorflow-text-issue-1181")


@pytest.mark.parametrize(
    ("release", "platform", "named", "built"),
    [
        (Version(1, 0), "win_amd64", b"", ("8.0", "5.1")),
        (Version(1, 2), "win_amd64", b"\0cudnn64_5.dll\0", ("8.0", "5")),
        (Version(1, 3), "linux_x86_64", b"\0libcudart.so.8.0\0", ("8.0", "6")),
        (Version(1, 1), "macos_x86_64", b"", ("None", "None")),
        (Version(0, 12), "win_amd64", b"", ("None", "None")),
        (Version(1, 4), "win_amd64", b"", ("None", "None")),
    ],
)
def test_what_no_library_names_is_from_the_table_of_tested_builds(
    tmp_path: Path, release: Version, platform: str, named: bytes, built: tuple[str, str]
) -> None:
    library = named + container(entry(SASS_75))
    members = {"tensorflow/python/_pywrap_tensorflow_internal.pyd": library, "t.dist-info/METADATA": METADATA}
    told = refresh_tensorflow.read(wheel(tmp_path, Opened(members), "tensorflow-gpu", platform, release))
    assert (str(told["built_with_cuda"]), str(told["cudnn"])) == built
    assert ("tensorflow-tested-builds" in told.get("source", ())) is (built != ("None", "None"))


def test_a_library_shared_by_wheels_is_read_once(tmp_path: Path) -> None:
    refresh_tensorflow.read(wheel(tmp_path, Opened(OLD_WHEEL)))
    digest = next(path for path in tmp_path.iterdir() if path.name.startswith("sha256="))
    answers = json.loads(digest.read_text())
    digest.write_text(json.dumps({question: {**answer, "sass": ["sm_99"]} for question, answer in answers.items()}))
    told = refresh_tensorflow.read(wheel(tmp_path, Opened(OLD_WHEEL), "tensorflow-gpu"))
    assert told["sass"] == ("sm_99",)


def test_a_wheel_without_files_is_described_by_what_it_installs(tmp_path: Path) -> None:
    opened = Opened({"t.dist-info/METADATA": METADATA})
    told = refresh_tensorflow.read(wheel(tmp_path, opened, platform="win_amd64"))
    assert (told["accelerator"], told["note"]) == ("cpu", "has no files; installs tensorflow-intel")
    assert "tensorflow-intel==2.12.0" in told["requires"]
    with pytest.raises(ValueError, match=r"has no build_info\.py"):
        refresh_tensorflow.read(wheel(tmp_path, opened))


@pytest.fixture(scope="module")
def shipped() -> Matrix:
    return shared_matrix()


@pytest.mark.index
@pytest.mark.untraced
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pip's own parts
def test_the_newest_three_minor_versions_agree_with_their_wheels(shipped: Matrix, tmp_path: Path) -> None:
    from scripts.refresh.common import group_releases, merged_row  # noqa: PLC0415  needs pip's session only here
    from scripts.refresh.index import Index  # noqa: PLC0415

    index = Index()
    newest = {row.release[:2]: row.release for row in shipped.releases("tensorflow", "linux_x86_64")}
    minors = {newest[minor] for minor in sorted(newest)[-3:]}
    listed = (index.files(project) for project in refresh_tensorflow.PROJECTS)
    wanted = refresh_tensorflow.wanted
    releases = [
        release for files in listed for release in group_releases(files, lambda name, release: release in minors and wanted(name, release))
    ]
    assert {release.release for release in releases} == minors
    assert max(release.release for release in group_releases(index.files("tensorflow"), refresh_tensorflow.wanted)) in minors
    table = RELEASE_TABLES["tensorflow"]
    rows = {table.key(row): row for row in shipped.rows(table)}
    with ThreadPoolExecutor(8) as pool:
        told = pool.map(lambda release: refresh_tensorflow.read(Wheel(release, index, tmp_path)), releases)
    for release, row in zip(releases, told, strict=True):
        known = rows[release[:3]]
        assert merged_row(release, row, None) == msgspec.structs.replace(known, note=row.get("note", ""))  # others are by hand


@pytest.mark.parametrize(
    ("wheel", "platform", "built", "numpy"),
    [
        ("tensorflow-gpu==1.12.0", "linux_x86_64", ("cuda", "9.0", "7"), 1),
        ("tensorflow-gpu==1.13.1", "win_amd64", ("cuda", "10.0", "7"), 1),
        ("tensorflow==2.3.0", "linux_x86_64", ("cuda", "10.1", "7"), 1),
        ("tensorflow==2.10.1", "win_amd64", ("cuda", "11.2", "8.1"), 1),
        ("tensorflow==2.11.0", "win_amd64", ("cpu", None, None), None),
        ("tensorflow==2.12.0", "linux_aarch64", ("cpu", None, None), None),
        ("tensorflow==2.15.1", "macos_arm64", ("cpu", None, None), 1),
        ("tensorflow==2.17.1", "linux_x86_64", ("cuda", "12.3", "8"), 1),
        ("tensorflow==2.18.0", "linux_x86_64", ("cuda", "12.5.1", "9"), 2),
        ("tensorflow==2.21.0", "win_amd64", ("cpu", None, None), 2),
        ("tensorflow-gpu==2.12.0", "linux_x86_64", ("stub", None, None), None),
    ],
)
def test_shipped(shipped: Matrix, wheel: str, platform: str, built: tuple[str, str | None, str | None], numpy: int | None) -> None:
    name, _, release = wheel.partition("==")
    row = shipped.resolve(name, release, platform).row
    assert row is not None
    assert (row.accelerator, row.built_with_cuda and str(row.built_with_cuda), row.cudnn and str(row.cudnn)) == built
    assert row.numpy_abi == numpy


@pytest.mark.parametrize(
    ("release", "required"),
    [
        ("2.15.1", "keras<2.16,>=2.15.0"),
        ("2.16.2", "keras>=3.0.0"),
        ("2.17.0", 'numpy<2.0.0,>=1.23.5;python_version<="3.11"'),
        ("2.18.0", "numpy<2.1.0,>=1.26.0"),
        ("2.20.0", 'nvidia-cudnn-cu12<10.0,>=9.3.0.75;extra=="and-cuda"'),
        ("2.21.0", "protobuf<8.0.0,>=6.31.1"),
    ],
)
def test_shipped_requirements(shipped: Matrix, release: str, required: str) -> None:
    row = shipped.resolve("tensorflow", release).row
    assert row is not None
    assert required in row.requires


def test_the_last_native_windows_release_for_gpus(shipped: Matrix) -> None:
    rows = [row for name in ("tensorflow", "tensorflow-gpu") for row in shipped.releases(name, "win_amd64") if row.accelerator == "cuda"]
    assert max(row.release for row in rows) == Version(2, 10, 1)


def test_pythons_are_those_of_the_file_list(shipped: Matrix) -> None:
    old, new = (shipped.resolve(*release).row for release in (("tensorflow-gpu", "1.12.0"), ("tensorflow", "2.12.0")))
    assert old is not None
    assert new is not None
    assert "2.7" in old.pythons
    assert "3.7" not in old.pythons
    assert "3.11" in new.pythons
