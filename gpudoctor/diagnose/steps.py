"""Runs the steps of a diagnosis: a defect of ours in one of them is reported, and costs neither the findings nor the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gpudoctor.errors import GpudoctorError
from gpudoctor.findings import MACHINE, Outcome, OutcomeKind

Result = TypeVar("Result")
Other = TypeVar("Other")


class GuardedSteps:
    """Calls functions, and records those that crash."""

    def __init__(self) -> None:
        self.crashed: list[Outcome] = []

    def __call__(self, step: Callable[..., Result], otherwise: Other, *arguments: object) -> Result | Other:
        """Return what the step returns, or the other value if it crashes. Errors for the user pass."""
        try:
            return step(*arguments)
        except GpudoctorError:
            raise
        except Exception as error:  # noqa: BLE001 -- any defect
            name = f"{step.__module__}.{step.__name__}"
            reason = f"gpudoctor crashed in {name}: {type(error).__name__}: {error}"
            self.crashed.append(Outcome(code="", name=name, subject=MACHINE, kind=OutcomeKind.CRASHED, reason=reason))
            return otherwise
