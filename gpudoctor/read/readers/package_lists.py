"""Reads lists of installed packages."""

from __future__ import annotations

from gpudoctor.read.readers.reader import PACKAGE, Form, Reader
from gpudoctor.read.statements import Rank

READER = Reader(
    "pip list",
    forms=(
        Form("package", rf"^\s*{PACKAGE}==(?P<value>\d[\w.+!]{{0,60}})\s*$", Rank.LISTING),
        Form(
            "package",
            r"^\s*(?P<name>torch\w{0,8}|tensorflow[\w-]{0,12}|jax[\w-]{0,20}|keras|numpy|nvidia-[\w-]{2,40}|triton|xformers|vllm|flash[-_]attn|bitsandbytes|protobuf|cupy[\w-]{0,12})\s{1,40}(?P<value>\d+\.\d[\w.+!]{0,40})(?:[\s,;].{0,60})?$",
            Rank.LISTING,
        ),
    ),
)
