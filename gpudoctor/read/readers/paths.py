"""Reads versions in the paths of installed toolkits."""

from __future__ import annotations

from gpudoctor.read.readers.reader import Form, Reader
from gpudoctor.read.statements import Rank

READER = Reader(
    "path",
    forms=(Form("toolkit", r"/usr/local/cuda-(?P<value>\d{1,2}\.\d)\b", Rank.LOG),),
)
