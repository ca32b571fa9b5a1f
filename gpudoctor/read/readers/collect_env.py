"""Reads `torch.utils.collect_env`, whose keys vLLM, SGLang and xformers use too."""

from __future__ import annotations

from gpudoctor.read.readers.reader import PACKAGE, RELEASE, VERSION, Form, Reader
from gpudoctor.read.statements import Rank

READER = Reader(
    "torch.utils.collect_env",
    forms=(
        Form("package:torch", rf"^\s*PyTorch version: {RELEASE}"),
        Form("torch cuda", r"^\s*CUDA used to build PyTorch: (?P<value>\d+(?:\.\d+)*|None|Could not collect)"),
        Form("torch rocm", r"^\s*(?:ROCM|ROCm|HIP).{0,12}used to build PyTorch: (?P<value>\d[\w.-]*)"),
        Form("os", r"^\s*OS: (?P<value>.{3,120})"),
        Form("python", r"^\s*Python version: (?P<value>\d+\.\d+(?:\.\d+)?)"),
        Form("bits", r"^\s*Python version: .{0,80}\((?P<value>32|64)-bit runtime\)"),
        Form("kernel platform", r"^\s*Python platform: (?P<value>\S{5,160})"),
        Form("cuda available", r"^\s*Is CUDA available: (?P<value>True|False)"),
        Form("toolkit", rf"^\s*CUDA runtime version: {VERSION}"),
        Form("gpu", r"^\s*(?:GPU models and configuration: ?)?GPU (?P<name>\d{1,2}): (?P<value>[^(\n]{3,80})"),
        Form("gpu", r"^\s*GPU models and configuration: (?!GPU \d|Could not|No CUDA)(?P<value>[A-Z][^(\n]{3,80})"),
        Form("driver", rf"^\s*Nvidia driver version: {VERSION}"),
        Form("cudnn", r"^\s*cuDNN version: .{0,200}?libcudnn\.so\.(?P<value>\d+\.\d+(?:\.\d+)?)"),
        Form("package", rf"^\s*\[pip3?\] {PACKAGE}==(?P<value>[\w.+!]{{1,60}})", Rank.LISTING),
        Form("conda", r"^\s*\[conda\] (?P<name>[\w.-]{2,60}) +(?P<value>\S+(?: +\S+){0,2})", Rank.LISTING),
    ),
)
