from __future__ import annotations

import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.refresh.beside import BESIDE, stated
from scripts.refresh.common import Release, Wheel
from scripts.refresh.index import IndexFile
from tests.matrix.samples import version

from .served import OneWheel

MARK = ';extra=="beside"'
BUILDS = ("tensorflow", "tensorflow-cpu", "tensorflow-cpu-aws", "tensorflow-gpu", "tensorflow-macos")
TABLE = "| `torchcodec` | `torch` |\n| `main` | `main` |\n| `0.12` | `>=2.11` |\n| `0.1` | `2.5` |\n"
EXTRA = (
    "Requires-Dist: torch<2.7,>=2.1; extra == 'torch'\nRequires-Dist: torch>=3; extra == 'dev'\nRequires-Dist: numpy; extra == 'torch'\n"
)
IO = "Requires-Dist: tensorflow<2.17.0,>=2.16.0; extra == 'tensorflow'\nRequires-Dist: tensorflow-cpu<2.17.0,>=2.16.0; extra == 'tensorflow-cpu'\n"


def wheels(cache: Path, name: str, releases: str, members: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """What releases state whose wheels all have these members."""
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path, text in members.items():
            archive.writestr(path, text)
    index = OneWheel(lambda: zipfile.ZipFile(content))
    parsed = [version(text) for text in releases.split()]
    files = {other: Wheel(Release(name, other, "any", (), IndexFile(f"{name}-{other}.whl", "u")), index, cache) for other in parsed}
    told = stated(files, name)
    assert all(text.endswith(MARK) for texts in told.values() for text in texts)
    return {str(release): tuple(text.removesuffix(MARK) for text in texts) for release, texts in told.items()}


def test_a_table_names_a_series_or_a_release(tmp_path: Path) -> None:
    told = wheels(tmp_path, "torchcodec", "0.1.1 0.12.0 0.13.0 1.0", {"a.dist-info/METADATA": f"Name: a\n\n{TABLE}"})
    assert told == {"0.1.1": ("torch==2.5.*",), "0.12.0": ("torch>=2.11",), "0.13.0": (), "1.0": ()}


def test_an_extra_bounds_its_framework_alone(tmp_path: Path) -> None:
    assert wheels(tmp_path, "tensorflow-io", "0.37.1", {"a.dist-info/METADATA": IO}) == {
        "0.37.1": tuple(f"{build}<2.17.0,>=2.16.0" for build in BUILDS)
    }


def test_a_bound_for_tests_excludes_no_newer_framework(tmp_path: Path) -> None:
    assert wheels(tmp_path, "transformers", "4.52.0", {"a.dist-info/METADATA": EXTRA}) == {"4.52.0": ("torch>=2.1",)}


def test_a_module_demands_the_oldest_release(tmp_path: Path) -> None:
    text = "  required_tensorflow_version = '2.18'\n  required_tensorflow_version = '1.15'  # an inner one\n"
    members = {"tensorflow_probability/python/__init__.py": text}
    assert wheels(tmp_path, "tensorflow-probability", "0.25.0", members) == {"0.25.0": tuple(f"{build}>=2.18" for build in BUILDS)}


def test_a_module_names_the_first_release_that_is_too_new(tmp_path: Path) -> None:
    module = "tensorflow_addons/utils/ensure_tf_install.py"
    members = {"a.dist-info/METADATA": "Name: a\n", module: 'MIN_TF_VERSION = "2.2.0"\nMAX_TF_VERSION = "2.3.0"\n'}
    assert wheels(tmp_path, "tensorflow-addons", "0.10.0", members) == {"0.10.0": tuple(f"{build}<2.3.0,>=2.2.0" for build in BUILDS)}


def test_an_extra_counts_more_than_a_module(tmp_path: Path) -> None:
    members = {"a.dist-info/METADATA": IO, "tensorflow_addons/utils/ensure_tf_install.py": 'MIN_TF_VERSION = "2.2.0"\n'}
    told = wheels(tmp_path, "tensorflow-addons", "0.12.0", members)
    assert told == {"0.12.0": tuple(f"{build}<2.17.0,>=2.16.0" for build in BUILDS)}


def test_a_series_has_one_bound_for_every_build(tmp_path: Path) -> None:
    told = wheels(tmp_path, "keras", "2.2.5 2.3.0 2.30.0", {"a.dist-info/METADATA": "Name: a\n"})
    first, second = (tuple(f"{build}{bound}" for build in BUILDS) for bound in ("<2.0", "<2.3,>=1.13"))
    assert told == {"2.2.5": first, "2.3.0": second, "2.30.0": ()}


@pytest.mark.parametrize("name", [*BESIDE, "torch"])
@given(text=st.text(alphabet="|`>=.0123456789torch \n"))
def test_other_text_states_nothing(name: str, text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    members = {"a.dist-info/METADATA": f"Name: a\n\n{text}", "tensorflow_probability/python/__init__.py": text}
    told = wheels(tmp_path_factory.mktemp("cache"), name, "1.0", members)
    framework = BESIDE[name].framework if name in BESIDE else ""
    assert all(one.startswith((f"{framework}==", f"{framework}>=")) for texts in told.values() for one in texts)
