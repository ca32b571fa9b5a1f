"""What files of requirements add to a question."""

from __future__ import annotations

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.matrix import Matrix
from gpudoctor.plan.asked import allowed_pythons
from gpudoctor.plan.propose import Question
from gpudoctor.plan.pythons import refuse_python_2
from gpudoctor.requirement_files.model import Requested, StatedRequirement
from gpudoctor.snapshot.distributions import normalise


def with_files(question: Question, asked: Requested, matrix: Matrix) -> Question:
    """Return the question with the requirements, constraints and Python versions of the files. Raises UsageError if they exclude each other."""
    of_conda = [one for one in asked.requirements if one.conda and not _on_the_index(one, matrix)]
    of_pip = [one for one in asked.requirements if one not in of_conda]
    requirements = tuple(dict.fromkeys((*question.requirements, *(str(one.requirement) for one in of_pip))))
    if not requirements:
        raise UsageError(f"{' and '.join(asked.files)} lists no package that pip could install; name one on the command line.")
    pythons = () if question.python else allowed_pythons(asked)
    refuse_python_2(pythons)
    return msgspec.structs.replace(
        question,
        requirements=requirements,
        constraints=tuple(str(one.requirement) for one in asked.constraints),
        pythons=pythons,
        not_planned=(
            *(f"{one.requirement.name}{one.requirement.specifier} is conda's and was not planned ({one.places[0]})." for one in of_conda),
            *(f"{one.text} was not read: {one.reason} ({one.place})." for one in asked.not_read if one.package),
        ),
    )


def _on_the_index(one: StatedRequirement, matrix: Matrix) -> bool:
    """Return whether the package index has a package of conda by the same name."""
    return matrix.lists(normalise(one.requirement.name))
