"""`gpudoctor smoke`: only the training, with its numbers; what cannot keep it from training, or slow it, is not judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gpudoctor.cli.check import carry_out as check

if TYPE_CHECKING:
    from gpudoctor.cli.settings import Settings


def carry_out(settings: Settings) -> int:
    """The exit code. Raises GpudoctorError as a check does."""
    from gpudoctor.diagnose import RULES  # noqa: PLC0415 -- the options are right before the rules are loaded
    from gpudoctor.diagnose.choose import of_training  # noqa: PLC0415 -- likewise

    policy = msgspec.structs.replace(settings.options.policy, only=of_training(RULES))
    options = msgspec.structs.replace(settings.options, policy=policy)
    return check(msgspec.structs.replace(settings, options=options), "smoke")
