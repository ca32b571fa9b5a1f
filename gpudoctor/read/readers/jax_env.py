"""Reads `jax.print_environment_info()` and lists of JAX's devices; source: jax/_src/environment_info.py."""

from __future__ import annotations

from gpudoctor.read.readers.reader import RELEASE_FORM, Reader, StatementForm
from gpudoctor.read.statements import Directness

READER = Reader(
    "jax.print_environment_info",
    forms=(
        StatementForm("package:jax", rf"^\s*jax: {{2,6}}{RELEASE_FORM}"),
        StatementForm("package:jaxlib", rf"^\s*jaxlib: {RELEASE_FORM}"),
        StatementForm("package:numpy", rf"^\s*numpy: {{2}}{RELEASE_FORM}", Directness.LISTING),
        StatementForm("python", r"^\s*python: (?P<value>\d+\.\d+\.\d+)", Directness.LISTING),
        StatementForm("gpu:0", r"^\s*device info: (?P<value>(?!cpu|TPU|Radeon|AMD)[A-Z][^,\n]{2,80})-\d{1,3}, "),
        StatementForm("jax devices", r"^\s*device info: (?P<value>cpu)-\d"),
        StatementForm(
            "jax devices", r"(?P<value>CudaDevice|CpuDevice|\bcuda|\bgpu)\((?:id=\d{1,3}|process_index=\d, id=\d)\)", Directness.LOG
        ),
        StatementForm("jax devices", r"\[(?P<value>METAL)\(id=\d", Directness.LOG),
        StatementForm("jax devices", r"\[(?P<value>GpuDevice\(id=\d|CpuDevice\(id=\d)", Directness.LOG),
        StatementForm("kernel platform", r"^\s*platform: (?P<value>uname_result\(.{10,300})"),
    ),
)
