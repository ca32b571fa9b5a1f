"""Reads `conda info`: the virtual packages state what conda sees of the driver and the C library."""

from __future__ import annotations

from gpudoctor.read.readers.reader import Reader, StatementForm
from gpudoctor.read.statements import Directness

READER = Reader(
    "conda info",
    forms=(
        StatementForm("cuda served", r"(?:^\s*|virtual packages : )__cuda=(?P<value>\d{1,2}\.\d{1,2})=", Directness.LISTING),
        StatementForm("libc", r"(?:^\s*|virtual packages : )__glibc=(?P<value>\d\.\d{1,2})=", Directness.LISTING),
        StatementForm(
            "kernel platform", r"^\s*user-agent : conda/.{0,200}?(?P<value>(?:Linux|Windows|Darwin)/\S{1,80})", Directness.LISTING
        ),
    ),
)
