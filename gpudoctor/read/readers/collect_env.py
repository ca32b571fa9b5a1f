"""Reads `torch.utils.collect_env` in all its layouts, and vLLM's, which pads the keys; source: torch/utils/collect_env.py of PyTorch 1.0 to 2.13."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import PACKAGE_FORM, RELEASE_FORM, VERSION_FORM, Reader, StatementForm
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "torch.utils.collect_env"
_KEY_SEPARATOR = r"\s{0,30}: {0,3}"
"""What follows a key: vLLM aligns the colons."""
_IMPORTED_TORCH = expression(rf"^\s*PyTorch version{_KEY_SEPARATOR}{RELEASE_FORM}")
_LISTED_TORCH = expression(r"^\s*\[pip3?\] torch==(?P<value>[\w.+!]{1,60})")


def _second_copy_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the torch that pip lists where another one is imported: a folder that comes first has its own copy."""
    imported = ""
    for line in lines:
        if "PyTorch version" in line.text and (found := _IMPORTED_TORCH.match(line.text)):
            imported = found["value"].partition("+")[0]
        elif imported and "[pip" in line.text and (found := _LISTED_TORCH.match(line.text)):
            if not found["value"].partition("+")[0].startswith(imported):
                yield Statement("other copy:torch", found["value"], _NAME, line.number, Directness.LISTING)
            imported = ""


READER = Reader(
    _NAME,
    forms=(
        StatementForm("package:torch", rf"^\s*PyTorch version{_KEY_SEPARATOR}{RELEASE_FORM}"),
        StatementForm("torch cuda", rf"^\s*CUDA used to build PyTorch{_KEY_SEPARATOR}(?P<value>\d+(?:\.\d+)*|None|Could not collect)"),
        StatementForm("torch rocm", rf"^\s*(?:ROCM|ROCm|HIP).{{0,12}}used to build PyTorch{_KEY_SEPARATOR}(?P<value>\d[\w.-]*)"),
        StatementForm("torch xpu", rf"^\s*XPU used to build PyTorch{_KEY_SEPARATOR}(?P<value>\d[\w.-]*)"),
        StatementForm("os", rf"^\s*OS{_KEY_SEPARATOR}(?P<value>[A-Za-z].{{2,120}})"),
        StatementForm("libc", rf"^\s*Libc version{_KEY_SEPARATOR}(?:glibc|libc)-(?P<value>\d[\d.]*)"),
        StatementForm("python", rf"^\s*Python version{_KEY_SEPARATOR}(?P<value>\d+\.\d+(?:\.\d+)?)"),
        StatementForm("bits", rf"^\s*Python version{_KEY_SEPARATOR}.{{0,160}}\((?P<value>32|64)-bit runtime\)"),
        StatementForm("kernel platform", rf"^\s*Python platform{_KEY_SEPARATOR}(?P<value>\S{{5,160}})"),
        StatementForm("torch devices", rf"^\s*Is CUDA available{_KEY_SEPARATOR}(?P<value>True|False|Yes|No)"),
        StatementForm("toolkit", rf"^\s*CUDA runtime version{_KEY_SEPARATOR}(?:\S{{0,60}} )?{VERSION_FORM}"),
        StatementForm("gpu", rf"^\s*(?:GPU models and configuration{_KEY_SEPARATOR})?GPU (?P<name>\d{{1,2}}): (?P<value>[^(\n]{{3,80}})"),
        StatementForm(
            "gpu:0",
            rf"^\s*GPU models and configuration{_KEY_SEPARATOR}(?!GPU \d|Could not|No |None|N/A|AMD|Radeon|Device [0-9a-f]{{4}}\b)(?P<value>[A-Z][^(\n]{{3,80}})",
        ),
        StatementForm("amd:0", rf"^\s*GPU models and configuration{_KEY_SEPARATOR}[^\n]{{0,60}}\((?P<value>gfx\w{{3,5}})\)"),
        StatementForm("driver", rf"^\s*Nvidia driver version{_KEY_SEPARATOR}{VERSION_FORM}"),
        StatementForm("cudnn", rf"^\s*cuDNN version{_KEY_SEPARATOR}.{{0,200}}?libcudnn\.so\.(?P<value>\d+\.\d+(?:\.\d+)?)"),
        StatementForm("cudnn", r"^\s*/\S{0,200}/libcudnn\.so\.(?P<value>\d+\.\d+(?:\.\d+)?)\s*$", Directness.LISTING),
        StatementForm(
            "cudnn", r"^\s*(?:cuDNN version.{0,40})?[A-Z]:\\.{1,200}\\cudnn\w{0,24}64_(?P<value>\d)\.dll\s*$", Directness.LISTING
        ),
        StatementForm("cpu model", r"^\s*Model name:\s{1,60}(?P<value>\S.{2,120})", Directness.LISTING),
        StatementForm("cpu flags", r"^\s*Flags:\s{1,60}(?P<value>fpu .{20,3900})", Directness.LISTING),
        StatementForm("package", rf"^\s*\[pip3?\] {PACKAGE_FORM}==(?P<value>[\w.+!]{{1,60}})", Directness.LISTING),
        StatementForm("package", rf"^\s*\[pip3?\] {PACKAGE_FORM} \((?P<value>\d[\w.+!]{{0,60}})\)", Directness.LISTING),
        StatementForm("conda", rf"^\s*\[conda\] {PACKAGE_FORM} +(?P<value>\d\S{{0,60}}(?: +[^\s<]\S{{0,80}}){{0,2}})", Directness.LISTING),
        StatementForm("package:vllm", rf"^\s*vLLM Version{_KEY_SEPARATOR}{RELEASE_FORM}"),
    ),
    blocks=_second_copy_statements,
)
