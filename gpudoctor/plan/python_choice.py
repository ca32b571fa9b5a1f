"""Chooses the Python version of a set of releases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import dropwhile

from gpudoctor import versions
from gpudoctor.errors import UsageError
from gpudoctor.plan.candidates import Candidate
from gpudoctor.plan.choices import Wishes
from gpudoctor.plan.release_demands import ReleaseDemands

_EARLIER_BUILDS = 6
"""How many builds back a Python version must have had wheels to be preferred to newer ones."""


def refuse_python_2(pythons: Sequence[str]) -> None:
    """Raise UsageError if only Python 2 may be used: neither venv, which is part of Python 3, nor uv creates an environment with it."""
    if pythons and all(python.startswith("2.") for python in pythons):
        raise UsageError(
            f"No environment can be planned for Python {pythons[0]}: uv and venv need Python 3; "
            "state that with --python-version, or check releases with `gpudoctor compat`."
        )


class PythonChoice:
    """The Python versions that may be chosen for releases."""

    def __init__(self, wishes: Wishes, demands: ReleaseDemands, candidates: Callable[[str], tuple[Candidate, ...]]) -> None:
        self._wishes = wishes
        self._demands = demands
        self._candidates = candidates
        """Returns the candidates of a package, newest first."""

    def ordered_pythons(self, chosen: Sequence[Candidate]) -> list[str]:
        """Return the Python versions with wheels of all these releases: the preferred one first, then the newest."""
        found = self.allowed_pythons(chosen)
        if self._wishes.python:
            return [self._wishes.python] if found is None or found else []
        if found is None:
            return [self._wishes.preferred]
        common = sorted(found, key=lambda text: versions.parse_version(text) or versions.Version(0), reverse=True)
        settled = set(common).intersection(*(self._pythons_of_earlier_build(candidate) or common for candidate in chosen))
        return sorted(common, key=lambda python: (python != self._wishes.preferred, python not in settled))

    def allowed_pythons(self, chosen: Sequence[Candidate]) -> set[str] | None:
        """Return the allowed Python versions with wheels of all these releases and of what they pin; None for any."""
        lists = [set(candidate.pythons) for candidate in chosen if candidate.pythons]
        lists += [set(row.pythons) for candidate in chosen for row, _ in self._demands.pins(candidate) if row.pythons]
        if not lists:
            return None
        allowed = (".".join(self._wishes.python.split(".")[:2]),) if self._wishes.python else self._wishes.pythons
        return {python for python in set.intersection(*lists) if (python in allowed if allowed else not python.endswith("t"))}

    def _pythons_of_earlier_build(self, candidate: Candidate) -> tuple[str, ...]:
        """Return the Python versions of an earlier build: other packages are more likely to have wheels for these too."""
        since = dropwhile(lambda other: other.release != candidate.release, self._candidates(candidate.name))
        older = [other.pythons for other in since if other.release != candidate.release and other.pythons]
        return older[:_EARLIER_BUILDS][-1] if older else ()
