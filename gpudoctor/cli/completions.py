"""What the shell offers for an option or argument. Called while a line is completed, so nothing is imported before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import typer

Offer = tuple[str, str]
"""A word, and what the shell shows beside it."""


def rules(incomplete: str) -> Iterator[Offer]:
    """Offer rules by name or, after "GD", by code; in a list also after a comma."""
    from gpudoctor.diagnose.rules import RULES  # noqa: PLC0415

    before, comma, typed = incomplete.rpartition(",")
    by_code = typed.casefold().startswith("gd")
    for rule in RULES:
        word = (rule.code.lower() if typed.islower() else rule.code) if by_code else rule.name
        if word.startswith(typed):
            yield f"{before}{comma}{word}", rule.title


def explained(incomplete: str) -> Iterator[Offer]:
    """Offer what has a page: rules, exit codes and guides."""
    from gpudoctor.exit_meanings import EXIT_CODES  # noqa: PLC0415
    from gpudoctor.manual.guides import GUIDES  # noqa: PLC0415

    yield from rules(incomplete)
    pages = {"exit-codes": "all exit codes", **{one.name: one.short for one in EXIT_CODES}, **GUIDES}
    yield from ((name, help_) for name, help_ in pages.items() if incomplete and name.startswith(incomplete))


def families(incomplete: str) -> list[str]:
    """Offer families of rules."""
    from gpudoctor.manual.families import NAMES  # noqa: PLC0415

    return _beginning(NAMES, incomplete)


def frameworks(incomplete: str) -> list[str]:
    """Offer the frameworks that gpudoctor trains with."""
    from gpudoctor.frameworks import TRAINED  # noqa: PLC0415

    return _beginning(TRAINED, incomplete)


def required(incomplete: str) -> list[str]:
    """Offer what --require can ask for."""
    from gpudoctor.preflight import EXAMPLES, FEATURES, FRAMEWORKS  # noqa: PLC0415

    return _beginning((*EXAMPLES, *FEATURES, *FRAMEWORKS), incomplete)


def models(incomplete: str) -> list[str]:
    """Offer the models that have a name."""
    from gpudoctor.fit.presets import PRESETS  # noqa: PLC0415

    return _beginning(PRESETS, incomplete)


def required_of_fleet(incomplete: str) -> list[str]:
    """Offer what --require of a fleet can ask for."""
    from gpudoctor.fleet.require import SHARED  # noqa: PLC0415

    return _beginning(("nodes>=", "gpus>=", *(f"same:{name}" for name in SHARED)), incomplete)


def subjects(incomplete: str) -> list[str]:
    """Offer the subjects of the compatibility tables."""
    from gpudoctor.manual.facts import TABLES  # noqa: PLC0415

    return _beginning(TABLES, incomplete)


def names(context: typer.Context, incomplete: str) -> list[str]:
    """Offer what the compatibility tables know of the subject on the line."""
    from gpudoctor.manual.facts import names_of  # noqa: PLC0415
    from gpudoctor.matrix_files import open_matrix  # noqa: PLC0415

    return _beginning(names_of(open_matrix(), str(context.params.get("subject"))), incomplete)


def _beginning(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in words if word.casefold().startswith(incomplete.casefold())]


def fields(incomplete: str) -> list[str]:
    """Offer the sections of a snapshot, with all that is in them."""
    from gpudoctor.snapshot import Snapshot  # noqa: PLC0415

    return _beginning((f"{name}.*" for name in Snapshot.__struct_fields__), incomplete)
