"""What decides between the causes of one error: words elsewhere in the text that make one of them likelier."""

from __future__ import annotations

from gpudoctor.signatures.build_hints import BUILD_HINTS
from gpudoctor.signatures.container_hints import CONTAINER_HINTS
from gpudoctor.signatures.cures import CURE_HINTS
from gpudoctor.signatures.machine_hints import MACHINE_HINTS
from gpudoctor.signatures.memory import MEMORY_HINTS

HINTS = (*CURE_HINTS, *MACHINE_HINTS, *CONTAINER_HINTS, *BUILD_HINTS, *MEMORY_HINTS)
"""A hint never makes a finding: it orders the causes of a signature that names several."""
