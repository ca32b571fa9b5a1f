"""The JSON document of an error."""

from __future__ import annotations

from gpudoctor.cli.look import redactor
from gpudoctor.report.document import error


def document(kind: str, sentence: str, exit_code: int) -> bytes:
    """Return the error as a JSON document."""
    return error(kind, redactor("/", stays=False).text(sentence), exit_code)
