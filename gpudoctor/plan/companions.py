"""Packages such as torchvision: each release is published for one release of a framework, in the same builds."""

from __future__ import annotations

import msgspec

from gpudoctor.derive.specifiers import parse_requirements
from gpudoctor.frameworks import CATALOGUE
from gpudoctor.plan.candidates import Candidate

FRAMEWORK_OF_COMPANION = {name: spec.name for spec in CATALOGUE for name in spec.companions}
"""Packages that are published for one release of a framework, and the framework."""


def checked_requirement(candidate: Candidate) -> str:
    """Return a requirement as the rules check it: the tables list the builds of frameworks, not of their companions, which have the same."""
    return candidate.requirement if candidate.name not in FRAMEWORK_OF_COMPANION else msgspec.structs.replace(candidate, tag="").requirement


def companions_with_framework(found: tuple[Candidate, ...], framework: str) -> tuple[Candidate, ...]:
    """Return the releases of a companion without those, older than others, that fail to state which framework they were published for."""
    states = [
        any(wanted.name == framework and wanted.specifier for wanted in parse_requirements(candidate.requires)) for candidate in found
    ]
    newest = states.index(True) if True in states else len(states)
    return tuple(candidate for place, candidate in enumerate(found) if states[place] or place < newest)


def set_in_one_build(chosen: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Return the set with companions in the build of their framework."""
    tags = {candidate.name: candidate.tag for candidate in chosen}
    return tuple(
        msgspec.structs.replace(candidate, tag=tags[FRAMEWORK_OF_COMPANION[candidate.name]])
        if FRAMEWORK_OF_COMPANION.get(candidate.name) in tags
        else candidate
        for candidate in chosen
    )
