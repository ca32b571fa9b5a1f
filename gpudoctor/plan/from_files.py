"""What files of requirements add to a question."""

from __future__ import annotations

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.findings.naming import agree, joined
from gpudoctor.matrix import Matrix
from gpudoctor.plan.asked import allowed_pythons
from gpudoctor.plan.propose import Question
from gpudoctor.plan.pythons import refuse_python_2
from gpudoctor.requirement_files.model import Requested, StatedRequirement
from gpudoctor.snapshot.distributions import normalise


def with_files(question: Question, asked: Requested, matrix: Matrix) -> Question:
    """Return the question with the requirements, constraints and Python versions of the files. Raises UsageError if they exclude each other."""
    of_conda = [stated for stated in asked.requirements if stated.conda and not _on_the_index(stated, matrix)]
    of_pip = [stated for stated in asked.requirements if stated not in of_conda]
    requirements = tuple(dict.fromkeys((*question.requirements, *(str(stated.requirement) for stated in of_pip))))
    if not requirements:
        lists = agree(len(asked.files), "lists", "list")
        raise UsageError(f"{joined(asked.files)} {lists} no package that pip could install; name one on the command line.")
    pythons = () if question.python else allowed_pythons(asked)
    refuse_python_2(pythons)
    return msgspec.structs.replace(
        question,
        requirements=requirements,
        constraints=tuple(str(stated.requirement) for stated in asked.constraints),
        pythons=pythons,
        not_planned=(
            *(
                f"{stated.requirement.name}{stated.requirement.specifier} is conda's and was not planned ({stated.places[0]})."
                for stated in of_conda
            ),
            *(f"{not_read.text} was not read: {not_read.reason} ({not_read.place})." for not_read in asked.not_read if not_read.package),
        ),
    )


def _on_the_index(stated: StatedRequirement, matrix: Matrix) -> bool:
    """Return whether the package index has a package of conda by the same name."""
    return matrix.lists(normalise(stated.requirement.name))
