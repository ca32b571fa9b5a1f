"""Distributions that own the same files: found by their RECORDs, with whose files lie there; real installations overwrite them just so."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gpudoctor.probe.packages import installed_packages
from gpudoctor.snapshot import OverwrittenPackage, Packages

CPU = {"onnxruntime/__init__.py": "A = 1\n", "onnxruntime/capi/state.so": "cpu", "onnxruntime/same.py": "same\n"}
GPU = {
    "onnxruntime/__init__.py": "A = 2\n",
    "onnxruntime/capi/state.so": "for the gpu",
    "onnxruntime/same.py": "same\n",
    "onnxruntime/cuda.so": "",
}


def wheel(folder: Path, name: str, files: dict[str, str]) -> Path:
    """A wheel as build tools make it."""
    stem = f"{name.replace('-', '_')}-1.0"
    path = folder / f"{stem}-py3-none-any.whl"
    metadata = {
        f"{stem}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{stem}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: us\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = []
    with zipfile.ZipFile(path, "w") as archive:
        for place, text in {**files, **metadata}.items():
            archive.writestr(place, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
            rows.append(f"{place},sha256={digest},{len(text)}")
        archive.writestr(f"{stem}.dist-info/RECORD", "\n".join([*rows, f"{stem}.dist-info/RECORD,,"]) + "\n")
    return path


def installed(site: Path, wheels: Path, **distributions: dict[str, str]) -> Packages:
    """What is seen of a folder into which pip installed these wheels, one after the other."""
    for name, files in distributions.items():
        made = wheel(wheels, name.replace("_", "-"), files)
        command = (
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            "--no-compile",
            "--root-user-action=ignore",
        )
        subprocess.run((*command, "--target", str(site), "--upgrade", str(made)), check=True)
    return installed_packages([str(site)])


def unpacked(site: Path, wheels: Path, **distributions: dict[str, str]) -> Packages:
    """The same, where an installer overwrites what is there."""
    for name, files in distributions.items():
        with zipfile.ZipFile(wheel(wheels, name.replace("_", "-"), files)) as archive:
            archive.extractall(site)
    return installed_packages([str(site)])


@pytest.mark.parametrize("last", ["onnxruntime", "onnxruntime_gpu"])
def test_whose_files_lie_there_is_told_by_size_and_by_hash(tmp_path: Path, last: str) -> None:
    both = {"onnxruntime": CPU, "onnxruntime_gpu": GPU}
    seen = unpacked(tmp_path / "site", tmp_path, **{name: both[name] for name in sorted(both, key=lambda name: name == last)})
    owned_now = (2, 0) if last == "onnxruntime" else (0, 2)
    owners = ("onnxruntime==1.0", "onnxruntime-gpu==1.0")
    assert seen.overwritten == (OverwrittenPackage("onnxruntime", owners, str(tmp_path / "site"), 3, owned_now),)


def test_mixed_files_count_for_each(tmp_path: Path) -> None:
    unpacked(tmp_path / "site", tmp_path, onnxruntime=CPU, onnxruntime_gpu=GPU)
    (tmp_path / "site/onnxruntime/capi/state.so").write_text("cpu")
    (found,) = installed_packages([str(tmp_path / "site")]).overwritten
    assert found.owned_now == (1, 1)


def test_what_a_removal_leaves_is_emptied(tmp_path: Path) -> None:
    seen = installed(tmp_path / "site", tmp_path, onnxruntime_gpu=GPU)
    assert (seen.overwritten, seen.emptied) == ((), ())
    unpacked(tmp_path / "site", tmp_path, onnxruntime=CPU)
    for path in (*CPU, "onnxruntime-1.0.dist-info/RECORD", "onnxruntime-1.0.dist-info/METADATA", "onnxruntime-1.0.dist-info/WHEEL"):
        (tmp_path / "site" / path).unlink()
    (tmp_path / "site/onnxruntime-1.0.dist-info").rmdir()
    seen = installed_packages([str(tmp_path / "site")])
    assert (seen.overwritten, seen.emptied) == ((), ("onnxruntime-gpu==1.0",))


@pytest.mark.parametrize(
    "others",
    [
        {"jaxlib": {"jaxlib/__init__.py": ""}, "jaxlib-tools": {"jaxlib_tools/__init__.py": ""}},
        {"google-auth": {"google/auth/__init__.py": ""}, "google-api-core": {"google/api_core/__init__.py": ""}},
        {"torch": {"torch/a.py": "", "torch/b.py": "", "tests/__init__.py": ""}, "onnx": {"onnx/a.py": "", "tests/__init__.py": "1"}},
        {
            "torch": {"torch/a.py": "", "common/a.py": "", "common/b.py": "", "common/c.py": ""},
            "triton": {"triton/a.py": "", "common/a.py": ""},
        },
        {"nvidia-nccl-cu12": {"nvidia/nccl/a.py": ""}, "nvidia-nccl-cu13": {"nvidia/nccl/a.py": "1"}},  # have a rule of their own
        {"one": {"here/a.py": ""}, "two": {"here/a.py": "1"}},  # bear on no GPU
    ],
    ids=" ".join,
)
def test_what_is_in_order_is_not_found(tmp_path: Path, others: dict[str, dict[str, str]]) -> None:
    assert unpacked(tmp_path / "site", tmp_path, **others).overwritten == ()


def test_names_with_the_same_first_word_are_compared_whatever_they_are(tmp_path: Path) -> None:
    seen = unpacked(tmp_path / "site", tmp_path, **{"pillow": {"PIL/a.py": ""}, "pillow-simd": {"PIL/a.py": "1"}})
    assert [found.package for found in seen.overwritten] == ["PIL"]


def test_equal_files_are_no_ones(tmp_path: Path) -> None:
    (found,) = unpacked(tmp_path / "site", tmp_path, faiss_cpu={"faiss/a.py": "1"}, faiss_gpu={"faiss/a.py": "1"}).overwritten
    assert found.owned_now == (0, 0)
