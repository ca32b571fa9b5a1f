"""Reads `jax.print_environment_info()` and lists of JAX's devices; source: jax/_src/environment_info.py."""

from __future__ import annotations

from gpudoctor.read.readers.reader import RELEASE, Form, Reader
from gpudoctor.read.statements import Rank

READER = Reader(
    "jax.print_environment_info",
    forms=(
        Form("package:jax", rf"^\s*jax: {{2,6}}{RELEASE}"),
        Form("package:jaxlib", rf"^\s*jaxlib: {RELEASE}"),
        Form("package:numpy", rf"^\s*numpy: {{2}}{RELEASE}", Rank.LISTING),
        Form("python", r"^\s*python: (?P<value>\d+\.\d+\.\d+)", Rank.LISTING),
        Form("gpu:0", r"^\s*device info: (?P<value>(?!cpu|TPU|Radeon|AMD)[A-Z][^,\n]{2,80})-\d{1,3}, "),
        Form("jax devices", r"^\s*device info: (?P<value>cpu)-\d"),
        Form("jax devices", r"(?P<value>CudaDevice|CpuDevice|\bcuda|\bgpu)\((?:id=\d{1,3}|process_index=\d, id=\d)\)", Rank.LOG),
        Form("jax devices", r"\[(?P<value>METAL)\(id=\d", Rank.LOG),
        Form("jax devices", r"\[(?P<value>GpuDevice\(id=\d|CpuDevice\(id=\d)", Rank.LOG),
        Form("kernel platform", r"^\s*platform: (?P<value>uname_result\(.{10,300})"),
    ),
)
