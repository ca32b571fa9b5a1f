"""What the JSON schemas say of a field."""

from __future__ import annotations

import msgspec


def means(meaning: str, *examples: object) -> msgspec.Meta:
    """Return what a field means, with examples, for the JSON schema."""
    return msgspec.Meta(description=meaning, examples=list(examples) or None)


FORM = means("The form of this document.")
