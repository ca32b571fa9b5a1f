"""The JSON document of an error."""

from __future__ import annotations

from gpudoctor.cli.screen import redactor_for_output
from gpudoctor.report.document import encode_error


def error_document(kind: str, sentence: str, exit_code: int) -> bytes:
    """Return the error as a JSON document."""
    return encode_error(kind, redactor_for_output("/", stays=False).text(sentence), exit_code)
