"""Cases from real environments: two wheels in one folder, TensorFlow before 2.1, a torch that cannot start."""

from __future__ import annotations

import shutil
from pathlib import Path

from gpudoctor.snapshot import Missing
from tests.probe.test_libraries import TORCH, by_name, cuda_wheels, framework, library, taken, tensorflow, torch, wheel, xray

CUDNN = "nvidia/cudnn/lib/libcudnn.so.9"


def recorded(site: Path, name: str, version: str, size: int) -> None:
    """A wheel whose RECORD has this size for its libcudnn.so.9."""
    wheel(site, name, version)
    lines = (f"nvidia/cudnn/include/cudnn.h,sha256=0,{size}", f"{CUDNN},sha256=1,{size}", f"nvidia/cudnn/lib/x{CUDNN[-11:]},sha256=2,7", "")
    (site / f"{name}-{version}.dist-info" / "RECORD").write_text("\n".join(lines))


def both_cudnns(site: Path, *sizes: int) -> str | object:
    cuda_wheels(site, "cudnn")
    library(site / CUDNN, soname="libcudnn.so.9")
    for name, version, size in zip(("nvidia_cudnn_cu12", "nvidia_cudnn_cu13"), ("9.28.0.42", "9.26.0.51"), sizes, strict=True):
        recorded(site, name, version, size or (site / CUDNN).stat().st_size)
    found = xray(site, framework("tensorflow", tensorflow(site)))
    return taken(by_name(found)["libcudnn.so.9"]).owner


def test_of_two_wheels_in_one_folder_the_installed_one_is_named(tmp_path: Path) -> None:
    assert both_cudnns(tmp_path, 137_432, 0) == "nvidia-cudnn-cu13"


def test_the_reverse_order(tmp_path: Path) -> None:
    assert both_cudnns(tmp_path, 0, 133_336) == "nvidia-cudnn-cu12"


def test_if_neither_matches_both_are_named(tmp_path: Path) -> None:
    assert both_cudnns(tmp_path, 1, 2) == "nvidia-cudnn-cu12 or nvidia-cudnn-cu13"


def test_tensorflow_1_15_is_in_tensorflow_core_and_states_10_for_10_0(tmp_path: Path) -> None:
    shutil.move(tensorflow(tmp_path), tmp_path / "tensorflow_core")
    (tmp_path / "tensorflow").mkdir()
    home = tmp_path / "tensorflow"
    uses = by_name(xray(tmp_path, framework("tensorflow", home, cuda="10", cudnn="7")))
    assert {"libcudart.so.10.0", "libcublas.so.10.0", "libcusolver.so.10.0", "libcudnn.so.7"} <= set(uses)
    assert not [name for name in uses if name.startswith("libcublasLt")]


def test_tensorflow_2_1_states_10_1(tmp_path: Path) -> None:
    uses = by_name(xray(tmp_path, framework("tensorflow", tensorflow(tmp_path), cuda="10.1", cudnn="7")))
    assert {"libcudart.so.10.1", "libcublas.so.10", "libcusolver.so.10"} <= set(uses)


def test_the_drivers_library_is_named_even_if_torch_cannot_start(tmp_path: Path) -> None:
    home = torch(tmp_path, TORCH)
    (tmp_path / "nvidia/cu13/lib/libcusparse.so.12").unlink()
    uses = by_name(xray(tmp_path, framework("torch", home, "13.2", "")))
    assert isinstance(uses["libcusparse.so.12"].file, Missing)
    assert uses["libcuda.so.1"].vital
