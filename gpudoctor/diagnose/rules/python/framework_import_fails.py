from gpudoctor.derive import FrameworkView
from gpudoctor.diagnose.rule import Join, explains, rule
from gpudoctor.diagnose.rules.python.failed_import import failed_import
from gpudoctor.diagnose.rules.training.framework_output import read_output
from gpudoctor.diagnose.rules.training.ways_out import stage_remedy
from gpudoctor.findings import Evidence, Level, Problem, Problems, Rung, Severity


@rule("GD643", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, predicts=False, on_cpu_too=True, seen_at=Level.TRAIN, bears_on_training=True)
@explains(("smoke-crashed",), "The import is the first stage of training.", Join.FRAMEWORK)
@explains(("required-gpus-missing",), "No framework sees the GPUs.")
def framework_import_fails(framework: FrameworkView) -> Problems:
    """Installed framework cannot be imported."""
    failure = failed_import(framework)
    if failure is None:
        return
    output = read_output(framework, failure.error)
    way = stage_remedy(framework, failure.stage, output)
    yield Problem(
        message=f"{framework.label} is installed, but `import {framework.name}` fails: {failure.error}.{output.hint}",
        evidence=(Evidence("error of the import", failure.error, framework.name), *output.evidence),
        fixes=(*way.checks, *output.checks, *way.fixes),
        domain=way.domain,
    )
