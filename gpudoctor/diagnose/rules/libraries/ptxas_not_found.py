"""GD413: ptxas-not-found."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, MachineView
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.libraries.xla import _harm, _lost, _places, _release, _wanted, _ways, _without_a_compiler
from gpudoctor.findings import Confidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, Missing, Python, Variables
from gpudoctor.versions import Version

BY_DRIVER = "--xla_gpu_unsafe_fallback_to_driver_on_ptxas_not_found"


_NEEDS_PTXAS = Version(0, 4, 30)
"""JAX before this was reported to stop without ptxas; what is between carries a compiler or not."""


@rule(
    "GD413",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(Explains(TRAINING_FAILS, "", Join.FRAMEWORK),),
)
def ptxas_not_found(
    framework: Framework, machine: MachineView, hardware: Hardware, python: Python | Missing, variables: Variables | Missing
) -> Iterator[Problem]:
    """XLA does not find ptxas, which turns its code into machine code.

    ## Why it matters
    XLA writes PTX and starts NVIDIA's assembler ptxas. Without it TensorFlow's XLA gives up ("Couldn't find a suitable version of
    ptxas", "No PTX compilation provider is available") unless it was told to let the driver compile; the rest of TensorFlow falls back
    to the driver by itself. JAX's newer plugins carry a compiler inside and need none; where it is not known of a release, it is a note.

    ## What to do
    Install the package nvidia-cuda-nvcc for the framework's CUDA, or put a toolkit's bin folder on PATH.

    ## References
    - https://www.tensorflow.org/install/pip
    - https://github.com/openxla/xla/blob/main/xla/stream_executor/cuda/subprocess_compilation.cc
    """
    use = _wanted("ptxas", framework, machine, hardware)
    _without_a_compiler(framework)
    flags = "" if isinstance(variables, Missing) else variables.values.get("XLA_FLAGS", "")
    if not _lost(use) or any(word in {BY_DRIVER, f"{BY_DRIVER}=true"} for word in flags.split()):
        return
    version = _release(framework)
    perhaps = framework.name == "jax" and (version is None or version >= _NEEDS_PTXAS)
    yield Problem(
        message=f"XLA in {framework.label} does not find ptxas"
        + (", and may need it: older plugins carry no compiler." if perhaps else ": what it compiles for the GPU fails."),
        severity=Severity.NOTE if perhaps else _harm(framework),
        only_for=framework.name,
        confidence=Confidence.POSSIBLE if perhaps else Confidence.LIKELY,
        evidence=_places(use),
        fixes=(
            *_ways(use, framework, machine, python),
            Fix(
                "Let the driver compile, which takes more memory",
                f'export XLA_FLAGS="{BY_DRIVER}=true $XLA_FLAGS"',
                kind=FixKind.INSTEAD,
            ),
        ),
    )
