"""Reads the lines in which Unsloth, vLLM and Ultralytics log their versions when they start, and what PaddlePaddle says when it is checked; sources: unsloth/models/llama.py, vllm/v1/engine, ultralytics/utils/checks.py."""

from __future__ import annotations

from gpudoctor.read.readers.reader import PACKAGE, RELEASE, Form, Reader
from gpudoctor.read.statements import Rank

READER = Reader(
    "start-up banner",
    forms=(
        Form("package:unsloth", rf"\bUnsloth {RELEASE}: Fast ", Rank.LISTING),
        Form("package:transformers", rf"\bpatching\. Transformers: {RELEASE}", Rank.LISTING),
        Form("gpu:0", r"^[\s\\/|]{1,14}(?P<value>[A-Z][\w .-]{3,60}?)\. (?:Num GPUs = \d|Max memory)", Rank.LISTING),
        Form("gpu:0", r"^[\s\\/|]{1,14}GPU: (?P<value>[A-Z][\w .-]{3,60}?)\. Max memory", Rank.LISTING),
        Form("package:torch", rf"\bTorch: {RELEASE}\. (?:CUDA|ROCm)", Rank.LISTING),
        Form("package:torch", rf"\bPytorch: {RELEASE}\. CUDA", Rank.LISTING),
        Form("capability", r"\bTorch: \S{5,60}\. CUDA: (?P<value>\d{1,2}\.\d)\. CUDA Toolkit", Rank.LISTING),
        Form("torch cuda", r"\bCUDA: \d{1,2}\.\d\. CUDA Toolkit: (?P<value>\d{1,2}\.\d)\b", Rank.LISTING),
        Form("package:triton", rf"\bCUDA Toolkit: \S{{2,12}}\. Triton: {RELEASE}", Rank.LISTING),
        Form("package:torch", rf"\bPython-\d\.\d{{1,2}}\.\d{{1,2}}\w{{0,4}} torch-{RELEASE}", Rank.LISTING),
        # a release without a tag may be conda's, of any CUDA: what it has kernels for is not known then
        Form(
            "gpu",
            r"\btorch[ -]\d[\d.]{2,8}\+cu\d{2,3} CUDA:(?P<name>\d{1,2}) \((?P<value>[A-Z][^,()\n]{1,60}), \d{4,6}(?:\.\d{1,3})?Mi?B\)",
            Rank.LISTING,
        ),
        Form("python", r"\bPython-(?P<value>3\.\d{1,2}\.\d{1,2})\w{0,4} torch-\d", Rank.LISTING),
        Form("package:torch", rf"^\s{{0,8}}(?:YOLOv\d\S{{0,3}} .{{0,60}}|Using )torch {RELEASE} (?:CPU|CUDA:\d)\b", Rank.LISTING),
        Form(
            "torch devices",
            r"^\s{0,8}(?:(?:YOLOv\d|Ultralytics)\S{0,3} .{0,60}|Using )torch[ -]\d[\w.+]{3,30} (?P<value>CPU|CUDA)\b",
            Rank.LISTING,
        ),
        Form("package", rf"^\s{{0,8}}{PACKAGE}\s{{1,30}}{RELEASE}(?:>=|<=|!=)\d[\d.,<>=!]{{0,40}}\s{{0,8}}$", Rank.LISTING),
        Form("kernel platform", r"^\s{0,8}OS {6,30}(?P<value>(?:Windows|Linux|macOS)-\S{2,80})\s{0,8}$", Rank.LISTING),
        Form("torch devices", r"^\s{0,8}CUDA {6,30}(?P<value>None)\s{0,8}$", Rank.LISTING),
        # paddle/utils/install_check.py
        Form("paddle devices", r"PaddlePaddle works well on (?P<value>\d{1,2}) GPUs?\b", Rank.LISTING),
        Form("package:vllm", rf"(?:vLLM API server version|Initializing an? (?:V[01] )?LLM engine \(v?){RELEASE}", Rank.LOG),
        Form("package:vllm", rf"\bvllm-openai:v?{RELEASE}", Rank.LOG),
    ),
)
