"""Reads `torch.utils.collect_env` in all its layouts, and vLLM's, which pads the keys; source: torch/utils/collect_env.py of PyTorch 1.0 to 2.13."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import PACKAGE, RELEASE, VERSION, Form, Reader
from gpudoctor.read.statements import Line, Rank, Statement

_NAME = "torch.utils.collect_env"
_KEY = r"\s{0,30}: {0,3}"
"""What follows a key: vLLM aligns the colons."""
_IMPORTED = expression(rf"^\s*PyTorch version{_KEY}{RELEASE}")
_LISTED = expression(r"^\s*\[pip3?\] torch==(?P<value>[\w.+!]{1,60})")


def _copies(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the torch that pip lists where another one is imported: a folder that comes first has its own copy."""
    imported = ""
    for line in lines:
        if "PyTorch version" in line.text and (found := _IMPORTED.match(line.text)):
            imported = found["value"].partition("+")[0]
        elif imported and "[pip" in line.text and (found := _LISTED.match(line.text)):
            if not found["value"].partition("+")[0].startswith(imported):
                yield Statement("other copy:torch", found["value"], _NAME, line.number, Rank.LISTING)
            imported = ""


READER = Reader(
    _NAME,
    forms=(
        Form("package:torch", rf"^\s*PyTorch version{_KEY}{RELEASE}"),
        Form("torch cuda", rf"^\s*CUDA used to build PyTorch{_KEY}(?P<value>\d+(?:\.\d+)*|None|Could not collect)"),
        Form("torch rocm", rf"^\s*(?:ROCM|ROCm|HIP).{{0,12}}used to build PyTorch{_KEY}(?P<value>\d[\w.-]*)"),
        Form("torch xpu", rf"^\s*XPU used to build PyTorch{_KEY}(?P<value>\d[\w.-]*)"),
        Form("os", rf"^\s*OS{_KEY}(?P<value>[A-Za-z].{{2,120}})"),
        Form("libc", rf"^\s*Libc version{_KEY}(?:glibc|libc)-(?P<value>\d[\d.]*)"),
        Form("python", rf"^\s*Python version{_KEY}(?P<value>\d+\.\d+(?:\.\d+)?)"),
        Form("bits", rf"^\s*Python version{_KEY}.{{0,160}}\((?P<value>32|64)-bit runtime\)"),
        Form("kernel platform", rf"^\s*Python platform{_KEY}(?P<value>\S{{5,160}})"),
        Form("torch devices", rf"^\s*Is CUDA available{_KEY}(?P<value>True|False|Yes|No)"),
        Form("toolkit", rf"^\s*CUDA runtime version{_KEY}(?:\S{{0,60}} )?{VERSION}"),
        Form("gpu", rf"^\s*(?:GPU models and configuration{_KEY})?GPU (?P<name>\d{{1,2}}): (?P<value>[^(\n]{{3,80}})"),
        Form(
            "gpu:0",
            rf"^\s*GPU models and configuration{_KEY}(?!GPU \d|Could not|No |None|N/A|AMD|Radeon|Device [0-9a-f]{{4}}\b)(?P<value>[A-Z][^(\n]{{3,80}})",
        ),
        Form("amd:0", rf"^\s*GPU models and configuration{_KEY}[^\n]{{0,60}}\((?P<value>gfx\w{{3,5}})\)"),
        Form("driver", rf"^\s*Nvidia driver version{_KEY}{VERSION}"),
        Form("cudnn", rf"^\s*cuDNN version{_KEY}.{{0,200}}?libcudnn\.so\.(?P<value>\d+\.\d+(?:\.\d+)?)"),
        Form("cudnn", r"^\s*/\S{0,200}/libcudnn\.so\.(?P<value>\d+\.\d+(?:\.\d+)?)\s*$", Rank.LISTING),
        Form("cudnn", r"^\s*(?:cuDNN version.{0,40})?[A-Z]:\\.{1,200}\\cudnn\w{0,24}64_(?P<value>\d)\.dll\s*$", Rank.LISTING),
        Form("cpu model", r"^\s*Model name:\s{1,60}(?P<value>\S.{2,120})", Rank.LISTING),
        Form("cpu flags", r"^\s*Flags:\s{1,60}(?P<value>fpu .{20,3900})", Rank.LISTING),
        Form("package", rf"^\s*\[pip3?\] {PACKAGE}==(?P<value>[\w.+!]{{1,60}})", Rank.LISTING),
        Form("package", rf"^\s*\[pip3?\] {PACKAGE} \((?P<value>\d[\w.+!]{{0,60}})\)", Rank.LISTING),
        Form("conda", rf"^\s*\[conda\] {PACKAGE} +(?P<value>\d\S{{0,60}}(?: +[^\s<]\S{{0,80}}){{0,2}})", Rank.LISTING),
        Form("package:vllm", rf"^\s*vLLM Version{_KEY}{RELEASE}"),
    ),
    blocks=_copies,
)
