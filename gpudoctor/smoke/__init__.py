"""Smoke training: the examined environment's own frameworks train a small network, each in a child process."""

from __future__ import annotations

from gpudoctor.smoke.plan import TrainingPlan, planned_trainings
from gpudoctor.smoke.run import run_trainings

__all__ = ["TrainingPlan", "planned_trainings", "run_trainings"]
