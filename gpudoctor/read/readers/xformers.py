"""Reads `python -m xformers.info` and the warning about a build for another PyTorch; sources: xformers/info.py and _cpp_lib.py."""

from __future__ import annotations

from gpudoctor.read.readers.reader import RELEASE_FORM, VERSION_FORM, Reader, StatementForm

_KEY_SEPARATOR = r": {1,60}"

READER = Reader(
    "xformers.info",
    forms=(
        StatementForm("package:xformers", rf"^\s*xFormers {RELEASE_FORM}$"),
        StatementForm("package:torch", rf"\bPyTorch +\S{{3,40}} with CUDA \S{{2,8}} \(you have {RELEASE_FORM}\)"),
        StatementForm("python", rf"^\s*Python +\d[\d.]{{2,12}} \(you have {VERSION_FORM}\)"),
        StatementForm("package:torch", rf"^\s*pytorch\.version{_KEY_SEPARATOR}{RELEASE_FORM}"),
        StatementForm("torch devices", rf"^\s*pytorch\.cuda{_KEY_SEPARATOR}(?P<value>available|not available)$"),
        StatementForm("capability", rf"^\s*gpu\.compute_capability{_KEY_SEPARATOR}{VERSION_FORM}"),
        StatementForm("gpu:0", rf"^\s*gpu\.name{_KEY_SEPARATOR}(?P<value>\S.{{2,80}})"),
        StatementForm("built for:xformers", rf"^\s*build\.torch_version{_KEY_SEPARATOR}{RELEASE_FORM}"),
    ),
)
