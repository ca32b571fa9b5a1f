from collections.abc import Iterator

from gpudoctor.derive import EnvironmentView, not_stated, wheel_platform
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.releases import pick_release
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Confidence, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.frameworks import framework_of
from gpudoctor.matrix import Fault
from gpudoctor.matrix.citations import citation
from gpudoctor.signatures import recognised_signatures
from gpudoctor.snapshot import Distribution, Fact

_BROKEN_KIND = "broken"
_BROKEN_EXTRA_KIND = "broken-extra"


@rule("GD545", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
def broken_release(environment: EnvironmentView) -> Problems:
    """Published wheel lacks a part that it needs."""
    faults = list(_known_faults(environment))
    if not faults:
        return
    line = _log_line(environment)
    if line is None and not environment.stack.supposed:
        not_stated(f"no error shows that {faults[0][0].label} is the broken build")
    for distribution, fault in faults:
        yield Problem(
            message=f"{distribution.label} for {wheel_platform.platform_label(fault.platform)} is broken: {fault.note}.",
            confidence=Confidence.LIKELY,
            evidence=(
                *((Evidence("log", line.value, line.where),) if line is not None else ()),
                Evidence("defect", fault.note, citation(fault.source, f"{distribution.name} {fault.last}")),
            ),
            fixes=_install_later_release(environment, distribution, fault),
        )


def _install_later_release(environment: EnvironmentView, distribution: Distribution, fault: Fault) -> tuple[Fix, ...]:
    """Return the fix that installs the next release after the broken ones; of an assumed framework one that works here."""
    later, python = f">{fault.last}", environment.observed.python
    if (
        environment.stack.supposed
        and framework_of(distribution.name) == distribution.name
        and pick_release(environment.machine, distribution.name, accepts=later) is not None
    ):
        return install_framework(environment.machine, distribution.name, accepts=later)
    return (install_fix(f"Install a release of {distribution.name} after {fault.last}", python, f"{distribution.name}{later}"),)


def _known_faults(environment: EnvironmentView) -> Iterator[tuple[Distribution, Fault]]:
    """Yield the releases that the matrix knows as broken on this platform; of assumed packages another rule compares what extras require."""
    stack = environment.stack
    kinds = {_BROKEN_KIND} if stack.supposed else {_BROKEN_KIND, _BROKEN_EXTRA_KIND}
    for distribution in stack.distributions.values():
        for fault in environment.machine.matrix.faults(distribution.name, distribution.version.partition("+")[0]):
            if fault.fault in kinds and fault.platform in {stack.platform, wheel_platform.ANY_PLATFORM}:
                yield distribution, fault


def _log_line(environment: EnvironmentView) -> Fact | None:
    """Return the line of a pasted log that shows a broken release; None without one. Other builds may have the same version number."""
    log = environment.machine.log
    found = (sign.line for sign in recognised_signatures(log.text) if broken_release.name in sign.signature.causes)
    return next((line for text in found for line in log.lines if text in line.value or line.value in text), None)
