"""The command that checks for each cause by hand; scripts/generate takes it from the cause's page."""

from __future__ import annotations

from pkgutil import get_data
from typing import Final

from gpudoctor.typed import from_json

BY_HAND: Final = from_json(get_data(__package__, "by_hand.json") or b"", dict[str, str])
