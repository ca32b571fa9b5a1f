"""Reads Python's version and system in the paths of a traceback and in its own banner."""

from __future__ import annotations

from gpudoctor.read.readers.reader import Reader, StatementForm
from gpudoctor.read.statements import Directness

READER = Reader(
    "traceback",
    forms=(
        StatementForm("python", r'File "/\S{0,200}/python(?P<value>3\.\d{1,2})/(?:site|dist)-packages/', Directness.LOG),
        StatementForm("python", r'File "/usr/(?:local/)?lib/python(?P<value>3\.\d{1,2})/\w{1,40}\.py"', Directness.LOG),
        # the command by which Triton and setuptools compile
        StatementForm("python", r"-I ?/\S{0,200}/include/python(?P<value>3\.\d{1,2})(?![\d.])", Directness.LOG),
        StatementForm("platform:windows", r'File "(?P<value>[A-Z]:\\)[^"\n]{3,200}\.py", line \d', Directness.LOG),
        StatementForm("platform:windows", r"\b3\.\d{1,2}\.\d{1,2}\b.{1,80}(?P<value>\[MSC v\.\d{4})", Directness.LISTING),
    ),
)
