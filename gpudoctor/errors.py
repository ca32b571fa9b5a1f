"""The errors that end a command: each is one sentence for the user, with the next step.

GpudoctorError
├── UsageError          the command line or a file named on it is wrong (exit code 2)
│   ├── TableError      a row of the compatibility matrix is wrong; names file and line
│   └── UncountedError  no formula counts the model of a configuration
└── OutputError         the report could not be written where it was asked for (exit code 2)
"""

from __future__ import annotations


class GpudoctorError(Exception):
    """Base of all errors that a user sees as one sentence."""


class UsageError(GpudoctorError):
    """An option, or a file that an option names, cannot be used."""


class UncountedError(UsageError):
    """No formula counts the model of a configuration; the text is a clause, without a full stop."""


class TableError(UsageError):
    """A table of the compatibility matrix cannot be read."""

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(f"{file}, line {line}: {problem}.")
        self.file = file
        self.line = line


class OutputError(GpudoctorError):
    """A report cannot be written."""


class UnfinishedError(Exception):
    """Our code crashed in a section of a report; `text` is the rest, with a line in its place."""

    def __init__(self, text: str, crash: Exception) -> None:
        super().__init__(str(crash))
        self.text, self.crash = text, crash


class NothingRecognisedError(UsageError):
    """No line of a text is recognised."""
