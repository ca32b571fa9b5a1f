import msgspec

from gpudoctor.derive import GpuView, require_offered
from gpudoctor.diagnose.rule import GPU_IS_SLOW, Join, explains, rule
from gpudoctor.diagnose.rules.training.clocks import unlock_clocks
from gpudoctor.findings import Domain, Evidence, Impact, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Missing

LOWERED_CLOCK_SHARE = 0.9
"""Share of the default clock. A tenth less is more than rounding to the steps of a clock."""


class _Clock(msgspec.Struct, frozen=True):
    """An application clock in MHz."""

    what: str
    now: int
    default: int

    @property
    def text(self) -> str:
        return f"{self.what} {self.now:,} MHz, {self.now / self.default:.0%} of {self.default:,} MHz"


@rule("GD940", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.SLOWER, domain=Domain.DRIVER, predicts=False)
@explains(GPU_IS_SLOW, "A lower clock makes every kernel slower.", Join.GPU)
def application_clocks_lowered(gpu: GpuView) -> Problems:
    """GPU application clocks are set below their default."""
    lowered = _lowered_clocks(gpu)
    if lowered:
        yield Problem(
            message=f"{gpu.label}: application clocks are below their default ({'; '.join(clock.text for clock in lowered)}).",
            evidence=tuple(
                Evidence(f"{clock.what} application clock, default", f"{clock.now} MHz, {clock.default} MHz", "NVML") for clock in lowered
            ),
            fixes=(unlock_clocks(gpu),),
        )


def _lowered_clocks(gpu: GpuView) -> list[_Clock]:
    """Return the clocks below their default. If there is none, ends the rule if the SM clock is unknown."""
    clocks = gpu.application_clocks
    lowered = _clock_below_default("SM", clocks.sm, clocks.sm_default) + _clock_below_default(
        "memory", clocks.memory, clocks.memory_default
    )
    return lowered or _clock_below_default("SM", require_offered(clocks.sm, Rung.NVML), require_offered(clocks.sm_default, Rung.NVML))


def _clock_below_default(what: str, now: int | Missing, default: int | Missing) -> list[_Clock]:
    if isinstance(now, int) and isinstance(default, int) and now < LOWERED_CLOCK_SHARE * default:
        return [_Clock(what, now, default)]
    return []
