"""The only place that starts processes: children that answer on a descriptor of their own and cannot take the parent with them.

A child that hangs, floods, crashes or lies costs its own answer and nothing else. Linux only; nothing here is imported elsewhere
before a live check begins.
"""

from __future__ import annotations

from gpudoctor.process.child import ANSWER, End, Outcome, Spec, end_of
from gpudoctor.process.memory import MemoryKills
from gpudoctor.process.supervisor import Supervisor

__all__ = ["ANSWER", "End", "MemoryKills", "Outcome", "Spec", "Supervisor", "end_of"]
