"""GD704: env-hides-gpu."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware
from gpudoctor.diagnose.advice.system import unset
from gpudoctor.diagnose.rule import Explains, Join, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Problem, Rung, Severity, SubjectKind
from gpudoctor.frameworks import spec_of
from gpudoctor.snapshot import Framework, Variables


@rule(
    "GD704",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(Explains(TRAINING_FAILS, "", Join.FRAMEWORK),),
)
def env_hides_gpu(framework: Framework, variables: Variables, hardware: Hardware) -> Iterator[Problem]:
    """An environment variable tells the framework to use the CPU.

    ## Why it matters
    JAX obeys JAX_PLATFORMS: with "cpu" it never looks for a GPU, with "cpu,cuda" it computes on the CPU unless told otherwise. Hugging
    Face Accelerate obeys ACCELERATE_USE_CPU, Keras over PyTorch KERAS_TORCH_DEVICE. Such a variable, set once for a test, stays in a
    profile, an image or a job script, and nothing below the framework is wrong.

    It is an error where the framework itself never uses a GPU then and no other one of the environment could; else a warning.

    ## What to do
    Unset the variable, here and where it is set.

    ## References
    - https://docs.jax.dev/en/latest/config_options.html
    - https://huggingface.co/docs/accelerate/package_reference/cli
    """
    if not hardware:
        not_applicable("there is no NVIDIA GPU to be hidden")
    values = variables.values
    hiding = next((one for one in spec_of(framework.name).hidden_by if one.hides(values.get(one.name, ""))), None)
    if hiding is None:
        return
    name, value = hiding.name, values[hiding.name]
    wholly = hiding.wholly(value)
    yield Problem(
        severity=None if wholly else Severity.WARNING,
        only_for=framework.name,
        message=f"{name}={value} tells {framework.name} to {'use' if wholly else 'prefer'} the CPU.",
        evidence=(Evidence(name, value, "environment"),),
        fixes=(unset(name),),
    )
