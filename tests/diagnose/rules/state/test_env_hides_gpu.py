from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Framework, Variables
from tests.builders import TIMED_OUT, bare, machine, torch
from tests.diagnose.rules.asking import findings_of, kinds_of

RULE = "env-hides-gpu"
JAX = Framework(name="jax", distribution="jax", cuda_build=True)


@pytest.mark.parametrize(
    ("frameworks", "values", "severity"),
    [
        ((JAX,), {"JAX_PLATFORMS": "cpu"}, Severity.ERROR),
        ((JAX,), {"JAX_PLATFORM_NAME": "CPU"}, Severity.ERROR),
        ((JAX,), {"JAX_PLATFORMS": "cpu,cuda"}, Severity.WARNING),
        ((JAX, torch()), {"JAX_PLATFORMS": "cpu"}, Severity.WARNING),
        ((JAX,), {"JAX_PLATFORMS": "gpu"}, None),
        ((JAX,), {"JAX_PLATFORMS": ""}, None),
        ((JAX,), {"ACCELERATE_USE_CPU": "true"}, None),
        ((torch(),), {"ACCELERATE_USE_CPU": "1"}, Severity.WARNING),
        ((torch(),), {"ACCELERATE_USE_CPU": "false"}, None),
        ((torch(),), {"KERAS_TORCH_DEVICE": "cpu"}, Severity.WARNING),
        ((torch(),), {"JAX_PLATFORMS": "cpu"}, None),
    ],
)
def test_a_variable_that_keeps_a_framework_off_the_gpu(
    frameworks: tuple[Framework, ...], values: dict[str, str], severity: Severity | None
) -> None:
    found = findings_of(RULE, machine(1, frameworks=frameworks, variables=Variables(values)))
    assert [finding.severity for finding in found] == ([severity] if severity else [])
    assert findings_of(RULE, bare(frameworks=frameworks, variables=Variables(values))) == []


def test_variables_that_cannot_be_read_are_ignorance() -> None:
    assert kinds_of(RULE, machine(1, variables=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]


def test_the_fix_names_the_file_that_sets_the_variable_when_python_starts() -> None:
    here = Variables({"JAX_PLATFORMS": "cpu"}, {"JAX_PLATFORMS": "/venv/sitecustomize.py"})
    (finding,) = findings_of(RULE, machine(1, frameworks=(JAX,), variables=here))
    assert finding.evidence[0].where == "/venv/sitecustomize.py"
    assert [fix.command for fix in finding.fixes] == [""]
    assert finding.fixes[0].title.startswith("Remove JAX_PLATFORMS from /venv/sitecustomize.py. ")
