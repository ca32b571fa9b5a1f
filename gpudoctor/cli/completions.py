"""What the shell offers for an option or argument. Words are looked up by the dotted path of what holds them while a line is completed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pkgutil import resolve_name

import typer

CompletionOffer = tuple[str, str]
"""A word, and what the shell shows beside it."""
Completer = Callable[[str], list[str]]


def rule_offers(incomplete: str) -> Iterator[CompletionOffer]:
    """Offer rules by name or, after "GD", by code; in a list also after a comma."""
    before, comma, typed = incomplete.rpartition(",")
    by_code = typed.casefold().startswith("gd")
    for rule in resolve_name("gpudoctor.diagnose.rules:RULES"):
        word = (rule.code.lower() if typed.islower() else rule.code) if by_code else rule.name
        if word.startswith(typed):
            yield f"{before}{comma}{word}", rule.title


def explanation_offers(incomplete: str) -> Iterator[CompletionOffer]:
    """Offer what has a page: rules, exit codes and guides."""
    codes, guides = map(resolve_name, ("gpudoctor.exit_meanings:EXIT_CODES", "gpudoctor.manual.guides:GUIDES"))
    yield from rule_offers(incomplete)
    pages = {"exit-codes": "all exit codes", **{code.name: code.short for code in codes}, **guides}
    yield from ((name, help_) for name, help_ in pages.items() if incomplete and name.startswith(incomplete))


def _completer_of_words(*places: str, form: str = "{}") -> Completer:
    """Return what offers the words that these objects hold, each written in this form."""

    def offer(incomplete: str) -> list[str]:
        return _words_beginning((form.format(word) for place in places for word in resolve_name(place)), incomplete)

    return offer


complete_families = _completer_of_words("gpudoctor.manual.families:NAMES")
complete_frameworks = _completer_of_words("gpudoctor.frameworks:TRAINED")
complete_requirements = _completer_of_words(
    "gpudoctor.conditions:EXAMPLES", "gpudoctor.conditions:FEATURES", "gpudoctor.conditions:FRAMEWORKS"
)
complete_models = _completer_of_words("gpudoctor.fit.presets:PRESETS")
complete_subjects = _completer_of_words("gpudoctor.manual.facts:TABLES")
complete_fields = _completer_of_words("gpudoctor.snapshot:Snapshot.__struct_fields__", form="{}.*")
_complete_shared = _completer_of_words("gpudoctor.fleet.conditions:SHARED", form="same:{}")


def complete_fleet_requirements(incomplete: str) -> list[str]:
    """Offer what --require of a fleet can ask for."""
    return [*_words_beginning(("nodes>=", "gpus>="), incomplete), *_complete_shared(incomplete)]


def complete_names(context: typer.Context, incomplete: str) -> list[str]:
    """Offer what the compatibility tables know of the subject on the line."""
    names_of, open_matrix = map(resolve_name, ("gpudoctor.manual.facts:names_of", "gpudoctor.matrix_files:open_matrix"))
    return _words_beginning(names_of(open_matrix(), str(context.params.get("subject"))), incomplete)


def _words_beginning(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in words if word.casefold().startswith(incomplete.casefold())]
