"""Reads `python -m xformers.info` and the warning about a build for another PyTorch; sources: xformers/info.py and _cpp_lib.py."""

from __future__ import annotations

from gpudoctor.read.readers.reader import RELEASE, VERSION, Form, Reader

_TO = r": {1,60}"

READER = Reader(
    "xformers.info",
    forms=(
        Form("package:xformers", rf"^\s*xFormers {RELEASE}$"),
        Form("package:torch", rf"\bPyTorch +\S{{3,40}} with CUDA \S{{2,8}} \(you have {RELEASE}\)"),
        Form("python", rf"^\s*Python +\d[\d.]{{2,12}} \(you have {VERSION}\)"),
        Form("package:torch", rf"^\s*pytorch\.version{_TO}{RELEASE}"),
        Form("torch devices", rf"^\s*pytorch\.cuda{_TO}(?P<value>available|not available)$"),
        Form("capability", rf"^\s*gpu\.compute_capability{_TO}{VERSION}"),
        Form("gpu:0", rf"^\s*gpu\.name{_TO}(?P<value>\S.{{2,80}})"),
        Form("built for:xformers", rf"^\s*build\.torch_version{_TO}{RELEASE}"),
    ),
)
