"""The variant that an installed wheel was built as, from its variant.json (PEP 825)."""

from __future__ import annotations

import re
from itertools import islice

import msgspec

from gpudoctor.children.channel import decoder
from gpudoctor.probe import files
from gpudoctor.snapshot import NOT_ASKED, Cause, Missing, Variant, printable_text

_VARIANT_PROPERTY = re.compile(r"[a-z0-9_]{1,99} :: [a-z0-9_]{1,99} :: [a-z0-9_.]{1,99}")
_MAX_PROPERTIES = 1000
"""Properties that are kept."""


class _VariantFile(msgspec.Struct):
    variants: dict[str, dict[str, dict[str, list[str]]]]
    """By label, namespace and feature: the values. An installed wheel has one label."""


def wheel_variant(path: str) -> Variant | Missing:
    """The variant in this file; not asked if there is no such file, as beside an ordinary wheel."""
    text = files.read_bytes(path)
    if isinstance(text, Missing):
        return NOT_ASKED if text.cause is Cause.ABSENT else text
    try:
        ((label, namespaces),) = decoder((_VariantFile,)).decode(text).variants.items()
    except (msgspec.MsgspecError, ValueError):
        return Missing(Cause.FAILED, f"{printable_text(path)} does not describe one variant")
    found = (
        f"{space} :: {name} :: {value}" for space, features in namespaces.items() for name, values in features.items() for value in values
    )
    return Variant(printable_text(label), tuple(islice(filter(_VARIANT_PROPERTY.fullmatch, found), _MAX_PROPERTIES)))
