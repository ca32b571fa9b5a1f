"""Smoke training: the examined environment's own frameworks train a small network, each in a child process."""

from __future__ import annotations

from gpudoctor.smoke.plan import TrainingPlan, plan
from gpudoctor.smoke.run import train

__all__ = ["TrainingPlan", "plan", "train"]
