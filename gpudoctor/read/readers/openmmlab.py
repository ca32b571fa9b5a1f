"""Reads the dumps of MMCV, MMEngine, SGLang and Detectron2: rows of a key and a value that begin with sys.platform or Python.

Sources: mmcv/utils/env.py, mmengine/utils/dl_utils/collect_env.py, sglang/check_env.py, detectron2/utils/collect_env.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import RELEASE_FORM, VERSION_FORM, Reader, StatementForm
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "collect_env of MMCV, SGLang or Detectron2"
_KEY_SEPARATOR = r"(?:: {1,3}| {2,60})"
_NUMBERED_DEVICES = expression(
    rf"^\s*GPU (?P<numbers>\d{{1,2}}(?:,\d{{1,2}}){{0,31}})(?:{_KEY_SEPARATOR}|(?<=,\d) |(?<=,\d\d) )(?P<name>[A-Z][^(\n]{{2,80}})"
)
_NUMBERED_CAPABILITY = expression(rf"^\s*GPU (?P<numbers>\d{{1,2}}(?:,\d{{1,2}}){{0,31}}) Compute Capability: {VERSION_FORM}")


def _numbered_gpu_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the GPUs of rows that name several: "GPU 0,1: NVIDIA A100"."""
    for line in lines:
        if "GPU " not in line.text:
            continue
        found = _NUMBERED_DEVICES.match(line.text)
        for number in found["numbers"].split(",") if found else ():
            yield Statement(f"gpu:{int(number)}", str(found and found["name"]).strip(), _NAME, line.number, Directness.TOOL)
        found = _NUMBERED_CAPABILITY.match(line.text)
        if found:
            yield Statement("capability", found["value"], _NAME, line.number, Directness.TOOL)


READER = Reader(
    _NAME,
    forms=(
        StatementForm("package:torch", rf"^\s*PyTorch{_KEY_SEPARATOR}{RELEASE_FORM}(?! with CUDA)"),
        StatementForm("package:torch", rf"^\s*PyTorch {RELEASE_FORM}(?: @\S{{1,200}})?$"),
        StatementForm("package:torchvision", rf"^\s*(?:TorchVision|torchvision){_KEY_SEPARATOR}{RELEASE_FORM}", Directness.LISTING),
        StatementForm("torch devices", rf"^\s*(?:CUDA|GPU) available{_KEY_SEPARATOR}(?P<value>True|False|Yes|No)\b"),
        StatementForm("os", rf"^\s*sys\.platform{_KEY_SEPARATOR}(?P<value>linux|darwin)\b", Directness.LISTING),
        StatementForm("platform:windows", rf"^\s*sys\.platform{_KEY_SEPARATOR}(?P<value>win32)\b", Directness.LISTING),
        StatementForm("python", rf"^\s*Python{_KEY_SEPARATOR}(?P<value>\d+\.\d+\.\d+)(?! \(you have)", Directness.LISTING),
        StatementForm("driver", rf"^\s*(?:CUDA )?Driver [Vv]ersion{_KEY_SEPARATOR}{VERSION_FORM}"),
        StatementForm("toolkit", rf"^\s*CUDA compiler{_KEY_SEPARATOR}CUDA {VERSION_FORM}", Directness.LISTING),
        StatementForm("toolkit", rf"^\s*NVCC{_KEY_SEPARATOR}Build cuda_(?P<value>\d{{1,2}}\.\d)\."),
        StatementForm("torch cuda", rf"^\s*- CUDA Runtime {VERSION_FORM}"),
        StatementForm("torch cuda", rf"Build settings: .{{0,2000}}?\bCUDA_VERSION={VERSION_FORM}"),
        StatementForm("torch cudnn", r"^\s*- CuDNN (?P<value>\d+\.\d+(?:\.\d+)?)", Directness.LISTING),
        StatementForm("torch architectures", r"NVCC architecture flags: (?P<value>-gencode\S{10,1500})"),
    ),
    blocks=_numbered_gpu_statements,
)
