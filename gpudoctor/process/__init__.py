"""The only place that starts processes: children that answer on their own descriptor and cannot take the parent down.

A child that hangs, floods, crashes or lies costs only its own answer. Linux only; imported elsewhere only once a live check begins.
"""

from __future__ import annotations

from gpudoctor.process.child import ANSWER, End, Outcome, Spec, end_of
from gpudoctor.process.limits import names_limit
from gpudoctor.process.memory import KillCount
from gpudoctor.process.supervisor import Supervisor

__all__ = ["ANSWER", "End", "KillCount", "Outcome", "Spec", "Supervisor", "end_of", "names_limit"]
