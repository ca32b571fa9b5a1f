"""Reads what `python -m bitsandbytes` and its import print; source: bitsandbytes/diagnostics and cuda_setup of 0.37 to 0.50."""

from __future__ import annotations

from gpudoctor.read.readers.reader import RELEASE_FORM, VERSION_FORM, Reader, StatementForm
from gpudoctor.read.statements import Directness

READER = Reader(
    "bitsandbytes",
    forms=(
        StatementForm("package:bitsandbytes", rf"^=+ bitsandbytes v{RELEASE_FORM} =+$"),
        StatementForm("package:torch", rf"^PyTorch: {RELEASE_FORM}$"),
        StatementForm("torch cuda", r"^\s{1,4}CUDA: (?P<value>\d+\.\d+)$"),
        StatementForm("torch rocm", r"^\s{1,4}HIP: (?P<value>\d[\w.-]{2,40})$"),
        StatementForm("torch cudnn", r"^\s{1,4}cuDNN: (?P<value>\d+\.\d+(?:\.\d+)?)$"),
        StatementForm("torch cuda", r"cuda_version_tuple=\((?P<value>\d{1,2}, \d{1,2})\)"),
        StatementForm("capability", r"highest_compute_capability=\((?P<value>\d{1,2}, \d{1,2})\)", Directness.LOG),
        StatementForm("capability", rf"(?i)highest compute capability(?: among GPUs detected)?: {VERSION_FORM}", Directness.LOG),
        StatementForm("kernel platform", r"^Platform: (?P<value>(?:Linux|Windows|macOS)-\S{3,160})$"),
        StatementForm("python", r"^Python: (?P<value>\d+\.\d+\.\d+)$"),
        StatementForm(
            "package",
            rf"^  (?P<name>accelerate|diffusers|numpy|peft|safetensors|transformers|triton|trl): {RELEASE_FORM}$",
            Directness.LISTING,
        ),
    ),
)
