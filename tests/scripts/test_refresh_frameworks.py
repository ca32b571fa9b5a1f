from __future__ import annotations

import pytest
import refresh_tensorflow
import refresh_torch

METADATA = "Requires-Dist: nvidia-cudnn-cu12==9.1.0.70; platform_system == 'Linux'\nRequires-Dist: nvidia-cudnn-cu12==8.9.7.29 ; extra == 'and-cuda'\n"

NEW = """import collections
build_info = collections.OrderedDict([('cuda_compute_capabilities', ['sm_60', 'compute_90']), ('cuda_version', '12.5.1'),
    ('cudnn_version', '9'), ('is_cuda_build', True)])
"""
OLD = """from __future__ import print_function
is_cuda_build = True

cuda_version_number = '10'
cudnn_version_number = '7'
"""


def test_tensorflow_with_a_dictionary() -> None:
    told = refresh_tensorflow.facts_of(refresh_tensorflow.parse_build_info(NEW), METADATA, b"")
    assert told["accelerator"] == "cuda"
    assert (str(told["built_with_cuda"]), str(told["cudnn"])) == ("12.5.1", "9")
    assert (told["sass"], told["ptx"]) == (("sm_60", "sm_90"), ("compute_90",))
    assert told["requires"] == ("nvidia-cudnn-cu12==8.9.7.29",)


@pytest.mark.parametrize(
    ("library", "cuda"),
    [(b"..\x0010.0\x00cudart\x00cublas\x00", "10.0"), (b"", None), (b"\x0010.0\x00cudart\x00 \x0010.1\x00cudart\x00", None)],
)
def test_old_tensorflow_names_its_cuda_in_the_library(library: bytes, cuda: str | None) -> None:
    told = refresh_tensorflow.facts_of(refresh_tensorflow.parse_build_info(OLD), "", library)
    assert (told["built_with_cuda"] and str(told["built_with_cuda"])) == cuda
    assert str(told["cudnn"]) == "7"
    assert "sass" not in told


def test_tensorflow_for_the_cpu() -> None:
    facts = refresh_tensorflow.parse_build_info("build_info = dict([('is_cuda_build', False)])")
    assert refresh_tensorflow.facts_of(facts, METADATA, b"") == {"accelerator": "cpu", "requires": ()}


@pytest.mark.parametrize("text", ["", "x = 1", "build_info = {}"])
def test_tensorflow_without_its_facts_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="does not say whether"):
        refresh_tensorflow.facts_of(refresh_tensorflow.parse_build_info(text), "", b"")


def test_nothing_in_build_info_is_run() -> None:
    with pytest.raises(ValueError, match="malformed"):
        refresh_tensorflow.parse_build_info("x = [print('run')]")


VERSION_PY = """from typing import Optional

__all__ = ['__version__', 'cuda']
__version__ = '2.15.0+cu132'
cuda: Optional[str] = '13.2'
hip: Optional[str] = None
"""


def test_torch() -> None:
    library = b"\0sm_80\0" + b"sm_75 sm_80 sm_90a compute_90" + b"\0sm_75 sm_80\0"
    told = refresh_torch.facts_of(refresh_torch.parse_version_py(VERSION_PY), METADATA, library)
    assert (told["accelerator"], str(told["built_with_cuda"]), str(told["cudnn"])) == ("cuda", "13.2", "9.1.0.70")
    assert (told["sass"], told["ptx"]) == (("sm_75", "sm_80", "sm_90a"), ("compute_90",))


def test_torch_with_several_lists_leaves_the_architectures_out() -> None:
    told = refresh_torch.facts_of({"cuda": "12.1"}, "", b"sm_75 sm_80 sm_90\0sm_50 sm_60 sm_70")
    assert "sass" not in told
    assert told["cudnn"] is None


def test_torch_for_the_cpu() -> None:
    assert refresh_torch.facts_of(refresh_torch.parse_version_py("cuda = None"), "", b"") == {"accelerator": "cpu", "requires": ()}


def test_torch_without_its_facts_is_told() -> None:
    with pytest.raises(ValueError, match="does not name its CUDA"):
        refresh_torch.facts_of(refresh_torch.parse_version_py("hip = None"), "", b"")
