"""Reads the dumps of MMCV, MMEngine, SGLang and Detectron2: rows of a key and a value that begin with sys.platform or Python.

Sources: mmcv/utils/env.py, mmengine/utils/dl_utils/collect_env.py, sglang/check_env.py, detectron2/utils/collect_env.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import RELEASE, VERSION, Form, Reader
from gpudoctor.read.statements import Line, Rank, Statement

_NAME = "collect_env of MMCV, SGLang or Detectron2"
_TO = r"(?:: {1,3}| {2,60})"
_DEVICES = expression(rf"^\s*GPU (?P<numbers>\d{{1,2}}(?:,\d{{1,2}}){{0,31}})(?:{_TO}|(?<=,\d) |(?<=,\d\d) )(?P<name>[A-Z][^(\n]{{2,80}})")
_CAPABILITY = expression(rf"^\s*GPU (?P<numbers>\d{{1,2}}(?:,\d{{1,2}}){{0,31}}) Compute Capability: {VERSION}")


def _of_numbered_gpus(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the GPUs of rows that name several: "GPU 0,1: NVIDIA A100"."""
    for line in lines:
        if "GPU " not in line.text:
            continue
        found = _DEVICES.match(line.text)
        for number in found["numbers"].split(",") if found else ():
            yield Statement(f"gpu:{int(number)}", str(found and found["name"]).strip(), _NAME, line.number, Rank.TOOL)
        found = _CAPABILITY.match(line.text)
        if found:
            yield Statement("capability", found["value"], _NAME, line.number, Rank.TOOL)


READER = Reader(
    _NAME,
    forms=(
        Form("package:torch", rf"^\s*PyTorch{_TO}{RELEASE}(?! with CUDA)"),
        Form("package:torch", rf"^\s*PyTorch {RELEASE}(?: @\S{{1,200}})?$"),
        Form("package:torchvision", rf"^\s*(?:TorchVision|torchvision){_TO}{RELEASE}", Rank.LISTING),
        Form("torch devices", rf"^\s*(?:CUDA|GPU) available{_TO}(?P<value>True|False|Yes|No)\b"),
        Form("os", rf"^\s*sys\.platform{_TO}(?P<value>linux|darwin)\b", Rank.LISTING),
        Form("platform:windows", rf"^\s*sys\.platform{_TO}(?P<value>win32)\b", Rank.LISTING),
        Form("python", rf"^\s*Python{_TO}(?P<value>\d+\.\d+\.\d+)(?! \(you have)", Rank.LISTING),
        Form("driver", rf"^\s*(?:CUDA )?Driver [Vv]ersion{_TO}{VERSION}"),
        Form("toolkit", rf"^\s*CUDA compiler{_TO}CUDA {VERSION}", Rank.LISTING),
        Form("toolkit", rf"^\s*NVCC{_TO}Build cuda_(?P<value>\d{{1,2}}\.\d)\."),
        Form("torch cuda", rf"^\s*- CUDA Runtime {VERSION}"),
        Form("torch cuda", rf"Build settings: .{{0,2000}}?\bCUDA_VERSION={VERSION}"),
        Form("torch cudnn", r"^\s*- CuDNN (?P<value>\d+\.\d+(?:\.\d+)?)", Rank.LISTING),
        Form("torch architectures", r"NVCC architecture flags: (?P<value>-gencode\S{10,1500})"),
    ),
    blocks=_of_numbered_gpus,
)
