"""Metadata of two releases of one package in one folder: the package's own files decide."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.probe.frameworks import frameworks
from gpudoctor.probe.packages import installed_packages
from gpudoctor.snapshot import Fact
from tests.probe.places import plant

V = "tensorflow/include/tensorflow/core/public/version.h"
HEADER = "#define TF_MAJOR_VERSION 2\n#define TF_MINOR_VERSION 15\n#define TF_PATCH_VERSION 1\n"


def left(site: Path) -> tuple[list[str], list[str]]:
    found = installed_packages([str(site)])
    return [distribution.version for distribution in found.distributions], [leftover.version for leftover in found.leftovers]


@pytest.mark.parametrize("older", ["2.1.0", "2.9.0"])
def test_torchs_own_version_decides(tmp_path: Path, older: str) -> None:
    files = {f"torch-{version}.dist-info/METADATA": "" for version in ("2.6.0", older)}
    plant(tmp_path, files | {"torch/version.py": "__version__ = '2.6.0+cu124'\n", "torch/__init__.py": ""})
    assert left(tmp_path) == (["2.6.0"], [older])


def test_tensorflows_header_decides(tmp_path: Path) -> None:
    files = {f"tensorflow-{version}.dist-info/METADATA": "" for version in ("2.15.1", "2.9.0")}
    plant(tmp_path, files | {V: HEADER, "tensorflow/__init__.py": ""})
    assert left(tmp_path) == (["2.15.1"], ["2.9.0"])
    (framework,) = frameworks([str(tmp_path)], installed_packages([str(tmp_path)]).distributions)
    assert isinstance(framework.version, Fact)
    assert framework.version.value == "2.15.1"


def test_the_sizes_in_record_decide(tmp_path: Path) -> None:
    for version, size in (("9.1.0.70", 5), ("8.9.7.29", 7)):
        record = f"nvidia/cudnn/lib/libcudnn.so,sha256=0,{size}\nnvidia_cudnn_cu12-{version}.dist-info/METADATA,,3\n"
        plant(tmp_path, {f"nvidia_cudnn_cu12-{version}.dist-info/RECORD": record})
    plant(tmp_path, {"nvidia/cudnn/lib/libcudnn.so": "12345"})
    assert left(tmp_path) == (["9.1.0.70"], ["8.9.7.29"])


def test_metadata_without_its_main_file_is_a_leftover(tmp_path: Path) -> None:
    plant(tmp_path, {"keras-3.5.0.dist-info/METADATA": "", "keras-2.15.0.dist-info/INSTALLER": "pip"})
    assert left(tmp_path) == (["3.5.0"], ["2.15.0"])


def test_without_evidence_both_stay(tmp_path: Path) -> None:
    plant(tmp_path, {f"keras-{version}.dist-info/METADATA": "" for version in ("3.5.0", "2.15.0")})
    assert left(tmp_path) == (["2.15.0", "3.5.0"], [])


def test_in_place_builds_have_their_version_in_pkg_info(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {"torch.egg-info/PKG-INFO": "Metadata-Version: 2.1\nName: torch\nVersion: 2.7.0a0\n\nx", "other.egg-info/PKG-INFO": "Version: 1\n"},
    )
    assert left(tmp_path) == (["2.7.0a0"], [])
