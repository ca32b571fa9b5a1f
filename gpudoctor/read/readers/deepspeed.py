"""Reads `ds_report`; source: deepspeed/env_report.py."""

from __future__ import annotations

from gpudoctor.read.readers.reader import RELEASE_FORM, VERSION_FORM, Reader, StatementForm

_DOTS = r" \.{3,40} "

READER = Reader(
    "ds_report",
    forms=(
        StatementForm("package:torch", rf"^\s*torch version{_DOTS}{RELEASE_FORM}"),
        StatementForm("torch cuda", rf"^\s*torch cuda version{_DOTS}(?P<value>\d+\.\d+|None)"),
        StatementForm("torch rocm", rf"^\s*torch hip version{_DOTS}(?P<value>\d[\w.-]*)"),
        StatementForm("toolkit", rf"^\s*nvcc version{_DOTS}{VERSION_FORM}"),
        StatementForm("package:deepspeed", rf"^\s*deepspeed info{_DOTS}{RELEASE_FORM}"),
        StatementForm("built for:deepspeed", rf"^\s*deepspeed wheel compiled w\.{_DOTS}torch (?!0\.0)(?P<value>\d+\.\d+, cuda \d+\.\d+)"),
        StatementForm("python", rf"^\s*torch install path{_DOTS}.{{0,200}}?[/\\]python(?P<value>3\.\d{{1,2}})[/\\]"),
    ),
)
