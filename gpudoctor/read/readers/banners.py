"""Reads the lines in which Unsloth, vLLM and Ultralytics log their versions when they start, and what PaddlePaddle says when it is checked; sources: unsloth/models/llama.py, vllm/v1/engine, ultralytics/utils/checks.py."""

from __future__ import annotations

from gpudoctor.read.readers.reader import PACKAGE_FORM, RELEASE_FORM, Reader, StatementForm
from gpudoctor.read.statements import Directness

READER = Reader(
    "start-up banner",
    forms=(
        StatementForm("package:unsloth", rf"\bUnsloth {RELEASE_FORM}: Fast ", Directness.LISTING),
        StatementForm("package:transformers", rf"\bpatching\. Transformers: {RELEASE_FORM}", Directness.LISTING),
        StatementForm("gpu:0", r"^[\s\\/|]{1,14}(?P<value>[A-Z][\w .-]{3,60}?)\. (?:Num GPUs = \d|Max memory)", Directness.LISTING),
        StatementForm("gpu:0", r"^[\s\\/|]{1,14}GPU: (?P<value>[A-Z][\w .-]{3,60}?)\. Max memory", Directness.LISTING),
        StatementForm("package:torch", rf"\bTorch: {RELEASE_FORM}\. (?:CUDA|ROCm)", Directness.LISTING),
        StatementForm("package:torch", rf"\bPytorch: {RELEASE_FORM}\. CUDA", Directness.LISTING),
        StatementForm("capability", r"\bTorch: \S{5,60}\. CUDA: (?P<value>\d{1,2}\.\d)\. CUDA Toolkit", Directness.LISTING),
        StatementForm("torch cuda", r"\bCUDA: \d{1,2}\.\d\. CUDA Toolkit: (?P<value>\d{1,2}\.\d)\b", Directness.LISTING),
        StatementForm("package:triton", rf"\bCUDA Toolkit: \S{{2,12}}\. Triton: {RELEASE_FORM}", Directness.LISTING),
        StatementForm("package:torch", rf"\bPython-\d\.\d{{1,2}}\.\d{{1,2}}\w{{0,4}} torch-{RELEASE_FORM}", Directness.LISTING),
        # a release without a tag may be conda's, of any CUDA: what it has kernels for is not known then
        StatementForm(
            "gpu",
            r"\btorch[ -]\d[\d.]{2,8}\+cu\d{2,3} CUDA:(?P<name>\d{1,2}) \((?P<value>[A-Z][^,()\n]{1,60}), \d{4,6}(?:\.\d{1,3})?Mi?B\)",
            Directness.LISTING,
        ),
        StatementForm("python", r"\bPython-(?P<value>3\.\d{1,2}\.\d{1,2})\w{0,4} torch-\d", Directness.LISTING),
        StatementForm(
            "package:torch", rf"^\s{{0,8}}(?:YOLOv\d\S{{0,3}} .{{0,60}}|Using )torch {RELEASE_FORM} (?:CPU|CUDA:\d)\b", Directness.LISTING
        ),
        StatementForm(
            "torch devices",
            r"^\s{0,8}(?:(?:YOLOv\d|Ultralytics)\S{0,3} .{0,60}|Using )torch[ -]\d[\w.+]{3,30} (?P<value>CPU|CUDA)\b",
            Directness.LISTING,
        ),
        StatementForm(
            "package", rf"^\s{{0,8}}{PACKAGE_FORM}\s{{1,30}}{RELEASE_FORM}(?:>=|<=|!=)\d[\d.,<>=!]{{0,40}}\s{{0,8}}$", Directness.LISTING
        ),
        StatementForm("kernel platform", r"^\s{0,8}OS {6,30}(?P<value>(?:Windows|Linux|macOS)-\S{2,80})\s{0,8}$", Directness.LISTING),
        StatementForm("torch devices", r"^\s{0,8}CUDA {6,30}(?P<value>None)\s{0,8}$", Directness.LISTING),
        # paddle/utils/install_check.py
        StatementForm("paddle devices", r"PaddlePaddle works well on (?P<value>\d{1,2}) GPUs?\b", Directness.LISTING),
        StatementForm(
            "package:vllm", rf"(?:vLLM API server version|Initializing an? (?:V[01] )?LLM engine \(v?){RELEASE_FORM}", Directness.LOG
        ),
        StatementForm("package:vllm", rf"\bvllm-openai:v?{RELEASE_FORM}", Directness.LOG),
    ),
)
