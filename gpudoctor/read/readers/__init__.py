"""The readers: one module a format. A reader recognises its format anywhere in a text."""

from __future__ import annotations

from gpudoctor.read.readers import (
    collect_env,
    commands,
    fields,
    kernel_log,
    kernel_modules,
    nvidia_smi,
    operating_system,
    package_lists,
    paths,
    prose,
    shell,
    tensorflow_log,
)
from gpudoctor.read.readers.reader import Form, Reader

__all__ = ["READERS", "Form", "Reader"]

READERS: tuple[Reader, ...] = (
    collect_env.READER,
    nvidia_smi.READER,
    kernel_log.READER,
    tensorflow_log.READER,
    kernel_modules.READER,
    operating_system.READER,
    commands.READER,
    package_lists.READER,
    shell.READER,
    paths.READER,
    fields.READER,
    prose.READER,
)
"""In order: of two statements that are equally direct, the earlier line counts, and on one line the earlier reader."""
