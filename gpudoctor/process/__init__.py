"""The only place that starts processes: children that answer on their own descriptor and cannot take the parent down.

A child that hangs, floods, crashes or lies costs only its own answer. Linux only; imported elsewhere only once a live check begins.
"""

from __future__ import annotations

from gpudoctor.process.child import ANSWER_PLACEHOLDER, ChildEnd, ChildOutcome, ChildSpec, end_of_text
from gpudoctor.process.limits import has_limit_message
from gpudoctor.process.memory_kills import KillCount
from gpudoctor.process.supervisor import Supervisor

__all__ = ["ANSWER_PLACEHOLDER", "ChildEnd", "ChildOutcome", "ChildSpec", "KillCount", "Supervisor", "end_of_text", "has_limit_message"]
