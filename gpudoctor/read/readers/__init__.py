"""The readers: one module a format. A reader recognises its format anywhere in a text."""

from __future__ import annotations

from gpudoctor.read.readers import (
    banners,
    bitsandbytes,
    collect_env,
    commands,
    conda_info,
    deepspeed,
    fields,
    hugging_face,
    jax_env,
    kernel_log,
    kernel_modules,
    lightning,
    nvidia_smi,
    openmmlab,
    operating_system,
    package_files,
    package_tables,
    paths,
    prose,
    shell,
    tensorflow_env,
    tensorflow_log,
    tracebacks,
    web_ui,
    xformers,
)
from gpudoctor.read.readers.reader import Form, Reader

__all__ = ["READERS", "Form", "Reader"]

READERS: tuple[Reader, ...] = (
    collect_env.READER,
    hugging_face.READER,
    deepspeed.READER,
    bitsandbytes.READER,
    xformers.READER,
    jax_env.READER,
    tensorflow_env.READER,
    openmmlab.READER,
    lightning.READER,
    web_ui.READER,
    banners.READER,
    nvidia_smi.READER,
    kernel_log.READER,
    tensorflow_log.READER,
    kernel_modules.READER,
    operating_system.READER,
    commands.READER,
    package_files.READER,
    package_tables.READER,
    conda_info.READER,
    tracebacks.READER,
    shell.READER,
    paths.READER,
    fields.READER,
    prose.READER,
)
"""In order: of two statements that are equally direct, the earlier line counts, and on one line the earlier reader."""
