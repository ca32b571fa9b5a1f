from collections.abc import Iterable, Iterator

from gpudoctor.conditions import FEATURES, parse_condition
from gpudoctor.derive import CouldNotTell, GpuView, MachineView, not_applicable
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Action, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import first_and_more
from gpudoctor.snapshot import Missing
from gpudoctor.versions import Version

BF16, TENSOR_CORES = Version(*FEATURES["bf16"]), Version(7, 0)
"""The first compute capabilities that have them. Turing's GTX cards have no tensor cores, but compute FP16 at twice the rate of FP32."""


@rule("GD113", severity=Severity.NOTE, breaks=Rung.TRAINED, impact=Impact.PARTLY, predicts=False, checks_required="bf16")
def gpu_lacks_bf16(machine: MachineView) -> Problems:
    """GPU does not support BF16."""
    required = any(parse_condition(text).subject == "bf16" for text in machine.policy.require)
    if not required and not machine.known_frameworks:
        not_applicable("no framework is installed that uses BF16")
    gpus = machine.usable_gpus
    for model in _gpus_by_model(gpu for gpu in gpus if isinstance(gpu.capability_or_missing, Version) and gpu.capability_or_missing < BF16):
        yield _problem(model, required=required)
    for gpu in gpus:
        if isinstance(gpu.capability_or_missing, Missing):
            raise CouldNotTell(gpu.capability_or_missing, Rung.NVML)


def _gpus_by_model(gpus: Iterable[GpuView]) -> list[list[GpuView]]:
    """Return the GPUs of each model."""
    models: dict[str, list[GpuView]] = {}
    for gpu in gpus:
        models.setdefault(gpu.model, []).append(gpu)
    return list(models.values())


def _problem(gpus: list[GpuView], *, required: bool) -> Problem:
    """Return the problem of all GPUs of one model."""
    model, capability = gpus[0].model, gpus[0].capability
    count = f"{len(gpus)} × " if len(gpus) > 1 else ""  # noqa: RUF001 -- a cross counts
    precision = "FP16 with loss scaling" if capability >= TENSOR_CORES else "FP32"
    training = Fix(f"Train in {precision}.", kind=FixKind.INSTEAD if required else FixKind.FIX)
    elsewhere = Fix(f"Use GPUs with compute capability {BF16.short} or newer, or drop --require bf16.", action=Action.REPLACE_HARDWARE)
    return Problem(
        message=f"{count}{model} (compute capability {capability}) {'have' if count else 'has'} no BF16 hardware, "
        f"which needs {BF16.short} or newer; frameworks refuse BF16 or emulate it slowly.",
        title=f"{'Required bf16 is missing: ' if required else ''}{model} does not support BF16",
        severity=Severity.ERROR if required else None,
        evidence=(Evidence("compute capability", str(capability), first_and_more([gpu.label for gpu in gpus])), *_matmul_rates(gpus)),
        fixes=(elsewhere, training) if required else (training,),
    )


def _matmul_rates(gpus: list[GpuView]) -> Iterator[Evidence]:
    """Return the matmul rate in each precision that a framework measured on these GPUs."""
    keys = {gpu.key for gpu in gpus}
    for framework in gpus[0].machine.smokes:
        matmuls = [product for product in framework.products if product.address in keys]
        rates = {product.precision: product.flops for product in matmuls if isinstance(product.flops, int | float)}
        if rates:
            seen = ", ".join(f"{precision.upper()} {flops / 1e12:.1f} TFLOPS" for precision, flops in rates.items())
            yield Evidence("measured matmul rate", seen + ("" if "bf16" in rates else ", none in BF16"), framework.framework)
