"""Reads PyTorch's warnings about GPUs that its build has no kernels for and about old drivers, failed assertions, and the name of its folder for extensions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.across_lines import SHOWN_KEY
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Directness, Line, Statement
from gpudoctor.signatures.phrases import KERNEL_RAN

_NAME = "PyTorch warning"
_WARNING_CUES = (
    "too old (found version",
    "too old(found version",
    "cuda capabilit",
    "compute capability (cc)",
    "does not include kernels",
    "_cudadeviceproperties(",
    "torch_extensions",
    "device-side assert",
    "] assertion",
)
_MODEL_FORM = r"(?P<gpu>(?:NVIDIA|GeForce|Tesla|Quadro|TITAN|GRID|RTX|GTX|[AHLPVT]\d{1,3}\b)[\w .()/-]{0,60}?)"
# torch/cuda/__init__.py of 1.5 to 2.15
_REFUSED_GPU = expression(rf"{_MODEL_FORM} with CUDA capability sm_(?P<capability>\d{{2,3}})\w? is not compatible with the current PyTorch")
_FOUND_GPU = expression(
    r"Found GPU(?P<index>\d{1,2}) (?P<gpu>.{3,80}?) which is of (?:cuda|compute) capability (?:\(CC\) )?(?P<capability>\d{1,2}\.\d)"
)
_DEVICE_PROPERTIES = expression(r"_CudaDeviceProperties\(name='(?P<gpu>[^'\n]{3,80})', major=(?P<major>\d{1,2}), minor=(?P<minor>\d)")
_SUPPORTED_ARCHITECTURES = expression(r"current PyTorch install(?:ation)? supports CUDA capabilities (?P<names>sm_\d[\w ]{2,200})")
_RANGE_FOLLOWS = "Minimum and Maximum cuda capability supported"
_CAPABILITY_RANGE = expression(r"\((?P<least>\d{1,2}\.\d)\) - \((?P<most>\d{1,2}\.\d)\)")
_INSTALLED_TORCH = expression(r"Your installed torch==(?P<release>\d[\w.+]{2,40}) does not include kernels")
# c10/cuda/CUDAFunctions.cpp: the number of cudaDriverGetVersion, 1000 times the major version and ten times the minor
_CUDA_SERVED = expression(r"\btoo old ?\(found version (?P<major>\d{1,2})0(?P<minor>\d)0\)")
# torch/utils/cpp_extension.py: the folder of what was compiled for this Python and CUDA
_EXTENSIONS_FOLDER = expression(r"\btorch_extensions[/\\]{1,2}py3\d{1,2}_(?:(?P<none>cpu)|cu(?P<major>\d{1,2})(?P<minor>\d))\b")
_AMD_WORDS = expression(r"(?i)\brocm|\bhip(?:cc|ify|_\w{3,20})?\b|\bgfx\d")
"""What a build for AMD GPUs says, whose folder is called as that of one without CUDA."""
# aten/src/ATen/native/cuda and CUDA's own message: an assertion that fails is one that a kernel has checked
_FAILED_ASSERTION = expression(r"\bdevice-side assert triggered\b|\bthread: \[\d{1,4},\d{1,4},\d{1,4}\] Assertion\b")
_MAX_LINES_APART = 3
"""Lines after which the range still belongs to its sentence."""


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    yield from _extension_statements(lines)
    yield from _assertion_statements(lines)
    announced = -_MAX_LINES_APART
    for line in lines:
        lowered = line.text.lower()
        if not any(cue in lowered for cue in _WARNING_CUES) and line.number - announced >= _MAX_LINES_APART:
            continue
        announced = line.number if _RANGE_FOLLOWS in line.text else announced
        if refused := _REFUSED_GPU.search(line.text):
            digits = refused["capability"]
            yield from _gpu_statements("0", refused["gpu"], f"{digits[:-1]}.{digits[-1]}", line)
        if found := _FOUND_GPU.search(line.text):
            yield from _gpu_statements(found["index"], found["gpu"], found["capability"], line)
        if properties := _DEVICE_PROPERTIES.search(line.text):
            yield from _gpu_statements("0", properties["gpu"], f"{properties['major']}.{properties['minor']}", line)
        if built_for := _SUPPORTED_ARCHITECTURES.search(line.text):
            yield Statement("torch architectures", built_for["names"].strip(), _NAME, line.number, Directness.LOG)
        if (limits := _CAPABILITY_RANGE.search(line.text)) and line.number - announced < _MAX_LINES_APART:
            names = " ".join(f"sm_{limits[end].replace('.', '')}" for end in ("least", "most"))
            yield Statement("torch architectures", names, _NAME, line.number, Directness.LOG)
        if served := _CUDA_SERVED.search(line.text):
            yield Statement("cuda served", f"{served['major']}.{served['minor']}", _NAME, line.number, Directness.LOG)
        if installed := _INSTALLED_TORCH.search(line.text):
            yield Statement("package:torch", installed["release"], _NAME, line.number, Directness.LOG)


def _assertion_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield that a kernel ran, if one failed an assertion of its own."""
    failed = next((line for line in lines if _FAILED_ASSERTION.search(line.text)), None)
    if failed:
        yield Statement(f"{SHOWN_KEY}kernel", KERNEL_RAN, _NAME, failed.number, Directness.LOG)


def _extension_statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the CUDA of PyTorch's build, as its folder of compiled extensions is called."""
    for line in lines:
        if found := _EXTENSIONS_FOLDER.search(line.text):
            if not found["none"]:
                yield Statement("torch cuda", f"{found['major']}.{found['minor']}", _NAME, line.number, Directness.LOG)
            elif not any(_AMD_WORDS.search(one.text) for one in lines):
                yield Statement("torch cuda", "None", _NAME, line.number, Directness.LOG)


def _gpu_statements(index: str, name: str, capability: str, line: Line) -> Iterator[Statement]:
    yield Statement(f"gpu:{index}", name.strip(), _NAME, line.number, Directness.LOG)
    yield Statement("capability", capability, _NAME, line.number, Directness.LOG)
    yield Statement(f"capability:{index}", capability, _NAME, line.number, Directness.LOG)


READER = Reader(_NAME, blocks=_statements, cues=_WARNING_CUES)
