"""Reads what `python -m bitsandbytes` and its import print; source: bitsandbytes/diagnostics and cuda_setup of 0.37 to 0.50."""

from __future__ import annotations

from gpudoctor.read.readers.reader import RELEASE, VERSION, Form, Reader
from gpudoctor.read.statements import Rank

READER = Reader(
    "bitsandbytes",
    forms=(
        Form("package:bitsandbytes", rf"^=+ bitsandbytes v{RELEASE} =+$"),
        Form("package:torch", rf"^PyTorch: {RELEASE}$"),
        Form("torch cuda", r"^\s{1,4}CUDA: (?P<value>\d+\.\d+)$"),
        Form("torch rocm", r"^\s{1,4}HIP: (?P<value>\d[\w.-]{2,40})$"),
        Form("torch cudnn", r"^\s{1,4}cuDNN: (?P<value>\d+\.\d+(?:\.\d+)?)$"),
        Form("torch cuda", r"cuda_version_tuple=\((?P<value>\d{1,2}, \d{1,2})\)"),
        Form("capability", r"highest_compute_capability=\((?P<value>\d{1,2}, \d{1,2})\)", Rank.LOG),
        Form("capability", rf"(?i)highest compute capability(?: among GPUs detected)?: {VERSION}", Rank.LOG),
        Form("kernel platform", r"^Platform: (?P<value>(?:Linux|Windows|macOS)-\S{3,160})$"),
        Form("python", r"^Python: (?P<value>\d+\.\d+\.\d+)$"),
        Form("package", rf"^  (?P<name>accelerate|diffusers|numpy|peft|safetensors|transformers|triton|trl): {RELEASE}$", Rank.LISTING),
    ),
)
