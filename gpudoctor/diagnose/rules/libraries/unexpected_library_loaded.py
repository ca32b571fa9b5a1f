from gpudoctor.derive import FrameworkView, require_known
from gpudoctor.derive.mapped_libraries import unexpected_libraries
from gpudoctor.diagnose.advice.packages import quoted_interpreter
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Evidence, Fix, FixKind, Level, Problem, Problems, Rung, Severity


@rule("GD418", severity=Severity.NOTE, breaks=Rung.FRAMEWORK, predicts=False, seen_at=Level.TRAIN)
def unexpected_library_loaded(framework: FrameworkView) -> Problems:
    """The framework loaded a different library file than expected."""
    smoke, seen = framework.smoke, framework.xray
    found = tuple(unexpected_libraries(seen, require_known(smoke.mapped)))
    if not found:
        return
    evidence = []
    for library in found:
        evidence.append(Evidence(library.use.wanted, library.mapped, "/proc/self/maps of the smoke training"))
        expected = Evidence(f"{library.use.wanted}, expected", library.simulated or "none", library.use.why or "the X-ray")
        evidence.append(expected)
    first = found[0]
    command = (
        f"LD_DEBUG=libs {quoted_interpreter(framework.machine.observed.python)} -c 'import {framework.name}' 2>&1 | grep {first.use.wanted}"
    )
    yield Problem(
        message=f"{framework.label} loaded {first.mapped}; expected {first.simulated or 'no file'}.",
        evidence=tuple(evidence),
        fixes=(Fix("Find out what loads it", command, kind=FixKind.CHECK),),
    )
