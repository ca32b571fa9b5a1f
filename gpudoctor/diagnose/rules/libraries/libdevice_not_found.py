"""GD412: libdevice-not-found."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, MachineView
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.libraries.xla import _harm, _lost, _places, _wanted, _ways
from gpudoctor.findings import Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, Missing, Python


@rule(
    "GD412",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(
        Explains(
            (
                "ptxas-not-found",
                *TRAINING_FAILS,
            ),
            "",
            Join.FRAMEWORK,
        ),
    ),
)
def libdevice_not_found(framework: Framework, machine: MachineView, hardware: Hardware, python: Python | Missing) -> Iterator[Problem]:
    """XLA does not find libdevice.10.bc, the mathematics that it compiles into kernels.

    ## Why it matters
    XLA links exp, tanh, pow and others from that file, and looks for it in a few folders: one named in XLA_FLAGS, NVIDIA's compiler
    package beside the framework, /usr/local/cuda. Without it a compilation ends with "libdevice not found at ./libdevice.10.bc". All of
    JAX is compiled by XLA; so is, unasked, what Keras trains with TensorFlow since 2.11. Programs of TensorFlow without Keras or
    jit_compile do not need it.

    ## What to do
    Install the package nvidia-cuda-nvcc for the framework's CUDA, or name a folder that holds nvvm/libdevice in XLA_FLAGS.

    ## References
    - https://www.tensorflow.org/install/pip
    - https://github.com/tensorflow/tensorflow/issues/58681
    """
    use = _wanted("libdevice", framework, machine, hardware)
    if _lost(use):
        yield Problem(
            message=f"XLA in {framework.label} does not find libdevice.10.bc: what needs exp, tanh or pow cannot be compiled.",
            severity=_harm(framework),
            only_for=framework.name,
            evidence=_places(use),
            fixes=_ways(use, framework, machine, python),
        )
