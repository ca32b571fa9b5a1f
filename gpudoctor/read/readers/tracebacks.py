"""Reads Python's version and system in the paths of a traceback and in its own banner."""

from __future__ import annotations

from gpudoctor.read.readers.reader import Form, Reader
from gpudoctor.read.statements import Rank

READER = Reader(
    "traceback",
    forms=(
        Form("python", r'File "/\S{0,200}/python(?P<value>3\.\d{1,2})/(?:site|dist)-packages/', Rank.LOG),
        Form("python", r'File "/usr/(?:local/)?lib/python(?P<value>3\.\d{1,2})/\w{1,40}\.py"', Rank.LOG),
        # the command by which Triton and setuptools compile
        Form("python", r"-I ?/\S{0,200}/include/python(?P<value>3\.\d{1,2})(?![\d.])", Rank.LOG),
        Form("platform:windows", r'File "(?P<value>[A-Z]:\\)[^"\n]{3,200}\.py", line \d', Rank.LOG),
        Form("platform:windows", r"\b3\.\d{1,2}\.\d{1,2}\b.{1,80}(?P<value>\[MSC v\.\d{4})", Rank.LISTING),
    ),
)
