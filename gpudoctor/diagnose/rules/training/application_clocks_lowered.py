"""GD940: application-clocks-lowered."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Site
from gpudoctor.diagnose.gpu_facts import known, offered
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.training.clocks import _free
from gpudoctor.findings import Evidence, Problem, Rung, Severity, SubjectKind

LOWERED = 0.9
"""Of the default clock: speed falls with the clock, and a tenth is more than rounding to the steps that a clock can take."""


@rule(
    "GD940",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.GPU,
    predicts=False,
    of_training=True,
    explains=(
        Explains(
            (
                "gpu-behind-its-siblings",
                "gpu-slower-than-expected",
                "gpu-not-faster-than-cpu",
            ),
            "",
            Join.GPU,
        ),
    ),
)
def application_clocks_lowered(gpu: Gpu, site: Site) -> Iterator[Problem]:
    """Somebody has set the GPU's application clocks below their default.

    ## Why it matters
    Application clocks are the highest at which programs run. `nvidia-smi -ac` sets them until the driver is loaded again, often to save
    power or to make measurements alike, and every training after that is slower.

    ## What to do
    Reset them to the default, unless they are meant to be lower.

    ## References
    - https://docs.nvidia.com/deploy/nvidia-smi/
    """
    clocks = offered(known(gpu).application_clocks)
    pairs = (("SM", clocks.sm, clocks.sm_default), ("memory", clocks.memory, clocks.memory_default))
    lowered = [
        (what, now, usual) for what, now, usual in pairs if isinstance(now, int) and isinstance(usual, int) and now < LOWERED * usual
    ]
    if not lowered:
        offered(clocks.sm)
        offered(clocks.sm_default)
        return
    told = ", ".join(f"{what} {now:,} MHz where the default is {usual:,} MHz ({now / usual:.0%})" for what, now, usual in lowered)
    yield Problem(
        message=f"{gpu.label}: its application clocks are set to {told}.",
        evidence=tuple(Evidence(f"{what} application clock, default", f"{now} MHz, {usual} MHz", "NVML") for what, now, usual in lowered),
        fixes=(_free(gpu, site),),
    )
