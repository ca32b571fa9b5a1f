"""The table of signatures. Unless noted, the patterns were read in the binaries and sources of TensorFlow 2.21, PyTorch 2.15, JAX 0.10.2 and libcudart 12.9."""

from __future__ import annotations

from gpudoctor.signatures.building import BUILDING
from gpudoctor.signatures.builds import BUILDS
from gpudoctor.signatures.cdi import CDI
from gpudoctor.signatures.cmake import CMAKE
from gpudoctor.signatures.collectives import COLLECTIVES, FAILED_COLLECTIVES
from gpudoctor.signatures.containers import CONTAINERS
from gpudoctor.signatures.cures import CURE_SIGNATURES
from gpudoctor.signatures.driver_log import DRIVER_LOG
from gpudoctor.signatures.drivers import DRIVERS
from gpudoctor.signatures.extensions import MISSING_KERNELS
from gpudoctor.signatures.frameworks import FRAMEWORKS
from gpudoctor.signatures.imports import IMPORTS, UNEXPLAINED_IMPORTS
from gpudoctor.signatures.installers import INSTALLERS
from gpudoctor.signatures.libraries import LIBRARIES
from gpudoctor.signatures.limits import LIMITS
from gpudoctor.signatures.management import MANAGEMENT
from gpudoctor.signatures.memory import MEMORY
from gpudoctor.signatures.modules import MODULES
from gpudoctor.signatures.no_gpu import GPU_SEEN_ELSEWHERE, NO_GPU_STATEMENTS
from gpudoctor.signatures.packages import PACKAGES
from gpudoctor.signatures.pasted_text import PASTED
from gpudoctor.signatures.settings import SETTINGS
from gpudoctor.signatures.signature import Signature
from gpudoctor.signatures.slowness import SLOWNESS
from gpudoctor.signatures.starved_libraries import STARVED
from gpudoctor.signatures.statuses import STATUSES
from gpudoctor.signatures.tool_output import TOOL_OUTPUT
from gpudoctor.signatures.vague_failures import VAGUE
from gpudoctor.signatures.windows import WINDOWS

_ALL_SIGNATURES = (
    *CURE_SIGNATURES,
    *TOOL_OUTPUT,
    *MISSING_KERNELS,
    *STATUSES,
    *MODULES,
    *CDI,
    *CONTAINERS,
    *WINDOWS,
    *FRAMEWORKS,
    *LIBRARIES,
    *LIMITS,
    *BUILDS,
    *BUILDING,
    *CMAKE,
    *PACKAGES,
    *IMPORTS,
    *INSTALLERS,
    *DRIVER_LOG,
    *MANAGEMENT,
    *PASTED,
    *COLLECTIVES,
    *SETTINGS,
    *MEMORY,
    *STARVED,
    *DRIVERS,
    *VAGUE,
    *FAILED_COLLECTIVES,
    *SLOWNESS,
    *UNEXPLAINED_IMPORTS,
    GPU_SEEN_ELSEWHERE,
    *NO_GPU_STATEMENTS,
)
SIGNATURES: tuple[Signature, ...] = tuple(sorted(_ALL_SIGNATURES, key=lambda signature: (signature.vague, signature.last)))
"""Specific signatures first, those that only say what failed last."""
