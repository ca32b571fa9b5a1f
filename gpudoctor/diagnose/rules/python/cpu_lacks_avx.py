import msgspec

from gpudoctor import versions
from gpudoctor.derive import FrameworkView, not_applicable, require_known, wheel_platform
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import Action, Domain, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import joined_words
from gpudoctor.matrix import CpuNeed
from gpudoctor.matrix.citations import citation
from gpudoctor.snapshot import Distribution

_PASS_THROUGH = Fix('Pass the host\'s CPU model through to this virtual machine ("host-passthrough", `-cpu host`) and restart it.')
_OTHER_MACHINE = Fix("Train on a machine whose CPU has these instructions.", kind=FixKind.ELSE, action=Action.REPLACE_HARDWARE)


@rule("GD641", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, domain=Domain.HARDWARE, on_cpu_too=True)
@explains(TRAINING_FAILS, "The import ends with an illegal instruction.", Join.FRAMEWORK)
def cpu_lacks_avx(framework: FrameworkView) -> Problems:
    """CPU lacks AVX, which the framework's wheel needs."""
    machine = framework.machine
    if not wheel_platform.platform_name(machine.observed.host, machine.observed.python).endswith(("x86_64", "amd64")):
        not_applicable("only x86_64 CPUs have AVX")
    needs = [(wheel, need) for wheel in framework.compiled_parts if (need := _cpu_need(wheel, framework))]
    if not needs:
        not_applicable("the instructions that its wheels need are not known")
    cpu = machine.details.cpu
    flags = require_known(cpu.flags)
    fixes = (_PASS_THROUGH, _OTHER_MACHINE) if "hypervisor" in flags else (msgspec.structs.replace(_OTHER_MACHINE, kind=FixKind.FIX),)
    model = cpu.model if isinstance(cpu.model, str) else "this CPU"
    for wheel, need in needs:
        missing = [feature for feature in need.features if feature not in flags]
        if missing:
            names = joined_words(feature.upper() for feature in missing)
            yield Problem(
                message=f"{wheel.label} needs {names}, which {model} lacks.",
                title="" if "avx" in missing else f"CPU lacks {names}, which the framework's wheel needs",
                evidence=(
                    Evidence(
                        "instructions the wheel needs", " ".join(need.features), citation(need.source, f"{wheel.name} {need.release}")
                    ),
                    Evidence("instructions of the CPU", " ".join(flags) or "none of them", "/proc/cpuinfo"),
                ),
                fixes=fixes,
            )


def _cpu_need(wheel: Distribution, framework: FrameworkView) -> CpuNeed | None:
    version = versions.parse_version(wheel.version.partition("+")[0])
    return framework.machine.matrix.cpu_need(wheel.name, version) if version else None
