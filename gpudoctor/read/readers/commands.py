"""Reads what short commands print: versions by `python -c`, `nvcc --version`, `ldd --version`."""

from __future__ import annotations

from gpudoctor.read.readers.reader import VERSION_FORM, Reader, StatementForm
from gpudoctor.read.statements import Directness

_MODULE_COMMAND = r"(?:^|[\s;&$>`(,])(?:module (?:load|add)|ml(?: load)?)(?: [\w./+-]{1,40}){0,8}? "
"""The names of modules that are loaded, up to one."""

READER = Reader(
    "command output",
    forms=(
        StatementForm("toolkit", r"^\s*Build cuda_(?P<value>\d{1,2}\.\d)\.r\d"),
        StatementForm("toolkit", rf"(?:Cuda compilation tools, release|\bnvcc[: ].{{0,40}}?release) {VERSION_FORM}"),
        # environment modules of clusters: https://lmod.readthedocs.io
        StatementForm("toolkit", rf"{_MODULE_COMMAND}(?i:cuda(?:-?toolkit)?)/(?P<value>\d{{1,2}}\.\d)", Directness.LOG),
        StatementForm("cudnn", rf"{_MODULE_COMMAND}(?i:cudnn)/(?P<value>\d\.\d{{1,2}}(?:\.\d{{1,3}})?)", Directness.LOG),
        StatementForm("python", r"^(?:\$ python.{0,20})?\s*Python (?P<value>[23]\.\d{1,2}\.\d{1,2})\b"),
        # uv, crates/uv/src/commands
        StatementForm("python", r"\bUsing C?Python (?P<value>3\.\d{1,2}\.\d{1,2})(?: (?:environment|interpreter)\b|$)", Directness.LISTING),
        # sys.version on Windows, platform.architecture(), the folder of python.org's installer, pip debug's tags
        StatementForm("bits", r"\[MSC v\.\d{4} (?P<value>32|64) bit \((?:Intel|AMD64|ARM64)\)\]"),
        StatementForm("bits", r"\(['\"](?P<value>32|64)bit['\"], ?['\"]"),
        StatementForm("bits", r"(?i)\bPython3?\d{2,3}-(?P<value>32)\\", Directness.LOG),
        StatementForm("bits", r"(?i)\bpython\b[^\n]{0,30}[ (](?P<value>32|64)[ -]?bit\b(?! os| system| windows)", Directness.PROSE),
        StatementForm("architecture", r"\[MSC v\.\d{4} 64 bit \((?P<value>ARM64)\)\]"),
        StatementForm("architecture", r"(?i)\bwindows\b[^\n]{0,60}\b(?P<value>snapdragon|on arm|arm64)\b", Directness.PROSE),
        StatementForm("libc", rf"^ldd \(.{{0,60}}\) {VERSION_FORM}"),
        StatementForm(
            "tensorflow cuda", r"(?:is_built_with_cuda|is_cuda_build)(?:\(\))?['\"]?\)?\s{0,3}(?::|=|->|returns?)?\s{0,3}(?P<value>False)\b"
        ),
    ),
)
