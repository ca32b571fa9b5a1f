"""What is imported while the target's interpreter answers: what starts the child that waits for the answer, and what all later steps need."""

import gpudoctor.derive  # noqa: F401 -- 30 ms, which the later steps would take after the answer
from gpudoctor.probe.observation import start_xray_early

__all__ = ["start_xray_early"]
