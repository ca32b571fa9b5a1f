from gpudoctor.derive import GpuView
from gpudoctor.derive.telemetry import POWER_BRAKE, SW_POWER_CAP, held_samples
from gpudoctor.diagnose.rule import GPU_IS_SLOW, Join, explains, rule
from gpudoctor.diagnose.rules.training.clocks import LOWERED_LIMIT_SHARE, PROVIDE_POWER, restore_power_limit
from gpudoctor.diagnose.rules.training.slowdowns import (
    duration_text,
    sample_count_clause,
    slowdown_evidence,
    tense_of_slowdown,
    throttling_evidence,
)
from gpudoctor.findings import Evidence, Impact, Level, Problem, Problems, Rung, Severity


@rule("GD906", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.SLOWER, predicts=False, sees_more_at=Level.TRAIN)
@explains(GPU_IS_SLOW, "A GPU with less power runs at lower clocks.", Join.GPU)
def power_throttled(gpu: GpuView) -> Problems:
    """GPU is throttled by power, or its power limit is lowered."""
    yield from _throttling_problems(gpu)
    brake = gpu.slowdown(POWER_BRAKE)
    if brake:
        yield Problem(
            message=f"{gpu.label} {tense_of_slowdown(brake)} slowed down by a power brake of the power supply or the board{sample_count_clause(brake)}.",
            evidence=(slowdown_evidence("power brake", brake),),
            fixes=(PROVIDE_POWER,),
        )
    limit, default = gpu.power_limit, gpu.power_limit_default
    if gpu.is_in_laptop or limit >= default * LOWERED_LIMIT_SHARE:  # a laptop's limit moves with heat and battery
        return
    capped = gpu.slowdown(SW_POWER_CAP)
    watts = f"{limit / 1000:.0f} W"
    effect = f", and it {'limited' if capped.under_load else 'limits'} the clocks{sample_count_clause(capped) or ' now'}" if capped else ""
    yield Problem(
        message=f"{gpu.label}: power limit is {watts} (default {default / 1000:.0f} W){effect}.",
        severity=None if capped else Severity.NOTE,
        evidence=(
            Evidence("enforced power limit, default", f"{watts}, {default / 1000:.0f} W", "NVML"),
            *((slowdown_evidence("clocks limited by the power limit", capped),) if capped else ()),
        ),
        fixes=(restore_power_limit(gpu, default),),
    )


def _throttling_problems(gpu: GpuView) -> Problems:
    """Return the time that NVML counted under a power brake or at the board's limit; not a brake that is reported anyway."""
    first = gpu.nvml.clocks_event_reasons
    reasons = [sample.reasons for sample in held_samples(gpu.stages_under_load)] + ([first] if isinstance(first, int) else [])
    if not any(reason & POWER_BRAKE for reason in reasons):
        yield from _throttling_by(gpu, "power_brake", "a power brake")
    yield from _throttling_by(gpu, "board_limit", "its board's power limit")


def _throttling_by(gpu: GpuView, counter: str, what: str) -> Problems:
    time = gpu.held_time(counter)
    if time.is_relevant:
        past = f"was throttled by {what} for {duration_text(time)} since the driver was loaded"
        yield Problem(
            message=f"{gpu.label} {f'is being throttled by {what} right now' if time.now else past}.",
            severity=None if time.now else Severity.NOTE,
            evidence=(throttling_evidence(what, time),),
            fixes=(PROVIDE_POWER,),
        )
