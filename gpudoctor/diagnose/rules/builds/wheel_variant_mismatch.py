from gpudoctor.derive import EnvironmentView, not_applicable, require_known
from gpudoctor.derive.wheel_variants import concerns_gpus, unmet_features
from gpudoctor.diagnose.advice.packages import REINSTALL, install_fix
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Action, Evidence, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Variant


@rule("GD546", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
def wheel_variant_mismatch(environment: EnvironmentView) -> Problems:
    """Wheel variant is built for other GPUs or drivers."""
    machine = environment.machine
    variants = [
        (distribution, distribution.variant)
        for distribution in environment.stack.distributions.values()
        if isinstance(distribution.variant, Variant)
    ]
    variants = [(distribution, variant) for distribution, variant in variants if concerns_gpus(variant)]
    if not variants:
        not_applicable("no installed package is a wheel variant for NVIDIA GPUs")
    gpus, driver = machine.usable_gpus, machine.driver
    served, capabilities = require_known(driver.cuda_served), [gpu.capability for gpu in gpus]
    by_driver = f"driver {driver.version} supports CUDA {served.short}"
    by_gpus = " and ".join(dict.fromkeys(f"{gpu.label} has {gpu.capability.short}" for gpu in gpus))
    for distribution, variant in variants:
        for found in unmet_features(variant, served, capabilities):
            yield Problem(
                severity=Severity.WARNING if found.minor else None,
                message=f"{distribution.label} is the wheel variant {variant.label}, built for {found.wanted}; {by_gpus if found.by_gpus else by_driver}.",
                evidence=(
                    Evidence(found.feature, variant.label, f"variant.json of {distribution.name} in {distribution.where}"),
                    Evidence("driver", f"{driver.version}, CUDA {served.short}", driver.cuda_where or driver.where),
                ),
                fixes=(
                    install_fix(
                        f"Reinstall {distribution.name}: the installer chooses the variant for this machine",
                        environment.observed.python,
                        f"{distribution.name}=={distribution.version}",
                        options=REINSTALL,
                        action=Action.REINSTALL_PACKAGE,
                    ),
                ),
            )
