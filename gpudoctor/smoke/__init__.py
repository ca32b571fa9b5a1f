"""Smoke training: a small network is really trained, by the examined environment's own frameworks, each in a child process."""

from __future__ import annotations

from gpudoctor.smoke.plan import Plan, plan
from gpudoctor.smoke.run import train

__all__ = ["Plan", "plan", "train"]
