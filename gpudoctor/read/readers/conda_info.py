"""Reads `conda info`: the virtual packages state what conda sees of the driver and the C library."""

from __future__ import annotations

from gpudoctor.read.readers.reader import Form, Reader
from gpudoctor.read.statements import Rank

READER = Reader(
    "conda info",
    forms=(
        Form("cuda served", r"(?:^\s*|virtual packages : )__cuda=(?P<value>\d{1,2}\.\d{1,2})=", Rank.LISTING),
        Form("libc", r"(?:^\s*|virtual packages : )__glibc=(?P<value>\d\.\d{1,2})=", Rank.LISTING),
        Form("kernel platform", r"^\s*user-agent : conda/.{0,200}?(?P<value>(?:Linux|Windows|Darwin)/\S{1,80})", Rank.LISTING),
    ),
)
