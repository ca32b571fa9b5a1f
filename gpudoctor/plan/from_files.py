"""What files of requirements add to a question."""

from __future__ import annotations

import msgspec

from gpudoctor.derive.specifiers import satisfies
from gpudoctor.errors import UsageError
from gpudoctor.frameworks import CATALOGUE
from gpudoctor.plan.propose import Question
from gpudoctor.requirement_files import Asked, Stated
from gpudoctor.snapshot.distributions import normalise

_OF_CONDA = {name: distribution for spec in CATALOGUE for name, distribution in spec.conda_names.items()}
_PYTHONS = tuple(f"3.{minor}" for minor in range(6, 20))


def with_files(question: Question, asked: Asked) -> Question:
    """Return the question with the requirements, constraints and Python versions of the files. Raises UsageError if they exclude each other."""
    pip = [str(one.requirement) for one in asked.requirements if not one.conda]
    conda = {one: _OF_CONDA.get(normalise(one.requirement.name), "") for one in asked.requirements if one.conda}
    pip += [f"{name}{one.requirement.specifier}" for one, name in conda.items() if name]
    requirements = tuple(dict.fromkeys((*question.requirements, *pip)))
    if not requirements:
        raise UsageError(f"{' and '.join(asked.files)} lists no package that pip could install; name one on the command line.")
    return msgspec.structs.replace(
        question,
        requirements=requirements,
        constraints=tuple(str(one.requirement) for one in asked.constraints),
        pythons=() if question.python else _pythons(asked),
        not_planned=(
            *(f"{_spelt(one)} is conda's and was not planned ({one.places[0]})." for one, name in conda.items() if not name),
            *(f"{one.text} was not read: {one.reason} ({one.place})." for one in asked.not_read if one.package),
        ),
    )


def _spelt(one: Stated) -> str:
    return f"{one.requirement.name}{one.requirement.specifier}"


def _pythons(asked: Asked) -> tuple[str, ...]:
    """Return the Python versions that the files allow; () for any."""
    if not asked.python:
        return ()
    wanted = ",".join(one.specifier for one in asked.python)
    allowed = tuple(python for python in _PYTHONS if any(satisfies(f"{python}{last}", wanted) for last in (".0", ".99")))
    if not allowed:
        places = " and ".join(f"{one.specifier} ({one.place})" for one in asked.python)
        raise UsageError(f"No Python version satisfies {places}; state one with --python-version.")
    return allowed
