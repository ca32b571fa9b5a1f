"""GD607: keras3-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Stack
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.package_facts import demanded, shown
from gpudoctor.diagnose.rule import Explains, Join, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.python.packages import _accepted, _of, _unmet
from gpudoctor.findings import Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, Missing, Python


@rule(
    "GD607",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    on_cpu_too=True,
    explains=(Explains(TRAINING_FAILS, "", Join.FRAMEWORK),),
)
def keras3_mismatch(framework: Framework, stack: Stack, python: Python | Missing) -> Iterator[Problem]:
    """TensorFlow and Keras are from different sides of Keras 3.

    ## Why it matters
    TensorFlow up to 2.15 works with the Keras 2 of its own release; from 2.16 on tf.keras is Keras 3. With the other one `tf.keras`
    cannot be used: its import fails.

    ## What to do
    Install the Keras that this TensorFlow requires. Code that needs Keras 2 with TensorFlow 2.16 or later installs tf-keras and sets
    TF_USE_LEGACY_KERAS=1.

    ## References
    - https://keras.io/getting_started/#tensorflow--keras-2-backwards-compatibility
    """
    if "keras" not in stack.distributions:
        not_applicable("no Keras is listed")
    unmet = _of(stack, keras3_mismatch.name, framework)
    if not unmet:
        return
    spared = not stack.supposed and unmet[0].older and "tf-keras" in stack.distributions
    yield Problem(
        message=_unmet(unmet, stack),
        severity=Severity.WARNING if spared else None,
        evidence=(shown(unmet[0].found), *demanded(unmet)),
        fixes=(Fix("Install the Keras that this TensorFlow requires", install_package(python, _accepted(unmet)), (DOWNLOAD,)),),
    )
