"""What files of requirements add to a question."""

from __future__ import annotations

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.findings.wording import joined_words, singular_or_plural
from gpudoctor.matrix import Matrix
from gpudoctor.plan.file_combination import allowed_pythons
from gpudoctor.plan.proposal import PlanQuestion
from gpudoctor.plan.python_choice import refuse_python_2
from gpudoctor.requirement_files.model import RequestedPackages, StatedRequirement
from gpudoctor.snapshot.distributions import normalise_distribution


def question_with_files(question: PlanQuestion, asked: RequestedPackages, matrix: Matrix) -> PlanQuestion:
    """Return the question with the requirements, constraints and Python versions of the files. Raises UsageError if they exclude each other."""
    of_conda = [stated for stated in asked.requirements if stated.conda and not _is_on_index(stated, matrix)]
    of_pip = [stated for stated in asked.requirements if stated not in of_conda]
    requirements = tuple(dict.fromkeys((*question.requirements, *(str(stated.requirement) for stated in of_pip))))
    if not requirements:
        lists = singular_or_plural(len(asked.files), "lists", "list")
        raise UsageError(f"{joined_words(asked.files)} {lists} no package that pip could install; name one on the command line.")
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


def _is_on_index(stated: StatedRequirement, matrix: Matrix) -> bool:
    """Return whether the package index has a package of conda by the same name."""
    return matrix.lists(normalise_distribution(stated.requirement.name))
