"""What limits a GPU's clocks, and how to lift it."""

from collections.abc import Iterable, Iterator

from gpudoctor.derive import GpuView
from gpudoctor.derive.telemetry import (
    APPLICATION_CLOCKS,
    HW_SLOWDOWN,
    HW_THERMAL,
    POWER_BRAKE,
    SW_POWER_CAP,
    SW_THERMAL,
    held_samples,
    sample_share,
)
from gpudoctor.diagnose.advice.system import ask_administrator
from gpudoctor.findings import Action, Fix, FixKind
from gpudoctor.snapshot import NvmlGpu, StageLoad

LOWERED_LIMIT_SHARE = 0.95
"""A power limit below this share of the default was lowered on purpose; a smaller difference is rounding."""
CAPPED_SHARE = 0.9
"""A GPU that is limited by power draws at least this share of its limit."""
_OTHER_REASONS = APPLICATION_CLOCKS | HW_SLOWDOWN | SW_THERMAL | HW_THERMAL | POWER_BRAKE
COOL_GPU = Fix("Clean fans and filters, and give the GPU more airflow.", action=Action.REPLACE_HARDWARE)
PROVIDE_POWER = Fix(
    "Give the machine more power: a stronger power supply, its second feed, or a larger rack power budget.",
    action=Action.REPLACE_HARDWARE,
)
RESEAT_CABLES = Fix("Reseat the GPU's power cables; then replace the power supply, or improve the cooling.", action=Action.REPLACE_HARDWARE)
_CHECK_POWER_DELIVERY = Fix(
    "Check how the GPU gets its power: its cables or its seat on the baseboard, then the power supply.", action=Action.REPLACE_HARDWARE
)


def show_under_load(gpu: GpuView, *sections: str) -> Fix:
    """Return the check that shows these sections of `nvidia-smi -q` under load."""
    return Fix("See what limits the GPU under load", f"nvidia-smi -q -d {','.join(sections)} -i {gpu.selector}", kind=FixKind.CHECK)


def unlock_clocks(gpu: GpuView, title: str = "Reset application clocks and locked clocks") -> Fix:
    """Return how to reset application clocks and locked clocks."""
    if gpu.machine.site.container:
        return ask_administrator("Ask the host's administrator to reset the GPU's application clocks and locked clocks.")
    command = f"sudo nvidia-smi -i {gpu.selector} -rac; sudo nvidia-smi -i {gpu.selector} -rgc; sudo nvidia-smi -i {gpu.selector} -rmc"
    return Fix(title, command)


def restore_power_limit(gpu: GpuView, default: int) -> Fix:
    """Return how to set the power limit to its default, in milliwatts."""
    if gpu.machine.site.container:
        title = "Ask the host's administrator to restore the default power limit, unless it is lowered on purpose."
        return ask_administrator(title)
    title = "Restore the default power limit, unless it is lowered on purpose"
    return Fix(title, f"sudo nvidia-smi -i {gpu.selector} -pl {default // 1000}")


def lift_clock_limits(gpu: GpuView, stages: tuple[StageLoad, ...]) -> tuple[Fix, ...]:
    """Return the fixes for what NVML says limited the clocks in these stages; for locked clocks, which it gives no reason for, if it is nothing."""
    fixes = tuple(dict.fromkeys(_fixes(gpu, stages)))
    return fixes or (unlock_clocks(gpu, "If application clocks or locked clocks were set, reset them"),)


def _fixes(gpu: GpuView, stages: tuple[StageLoad, ...]) -> Iterator[Fix]:
    held = held_samples(stages)
    if sample_share(held, APPLICATION_CLOCKS):
        yield unlock_clocks(gpu)
    if sample_share(held, SW_THERMAL | HW_THERMAL):
        yield COOL_GPU
    if sample_share(held, POWER_BRAKE):
        yield PROVIDE_POWER
    if sample_share(held, HW_SLOWDOWN) and not sample_share(held, HW_THERMAL | POWER_BRAKE):
        yield RESEAT_CABLES
    if sample_share(held, SW_POWER_CAP):
        yield from _fixes_for_power_cap(gpu, stages)


def is_capped_by_design(gpu: GpuView, stage: StageLoad) -> bool:
    """Return whether only its own power limit held a GPU's clocks in a stage: a limit that is not lowered, and that it draws."""
    held = held_samples((stage,))
    lowered, starved = _power_state(gpu, (stage,))
    return bool(sample_share(held, SW_POWER_CAP)) and not (sample_share(held, _OTHER_REASONS) or lowered or starved)


def _fixes_for_power_cap(gpu: GpuView, stages: tuple[StageLoad, ...]) -> Iterator[Fix]:
    """Yield the fix for a GPU at its power limit; none if it draws a limit that is not lowered, as a healthy one does."""
    lowered, starved = _power_state(gpu, stages)
    if lowered:
        yield restore_power_limit(gpu, lowered)
    elif starved:
        yield _CHECK_POWER_DELIVERY


def _power_state(gpu: GpuView, stages: tuple[StageLoad, ...]) -> tuple[int, bool]:
    """Return the default power limit in milliwatts if the limit was lowered below it, else 0; and whether the GPU draws less than its limit."""
    nvml = gpu.observed.nvml if isinstance(gpu.observed.nvml, NvmlGpu) else NvmlGpu(0)
    limit = min(_known_integers([nvml.power_limit, *(stage.power_limit for stage in stages)]), default=0)
    drawn = max(_known_integers(stage.power for stage in stages), default=0)
    default = nvml.power_limit_default
    lowered = default if isinstance(default, int) and 0 < limit < LOWERED_LIMIT_SHARE * default else 0
    return lowered, bool(drawn and limit and drawn < CAPPED_SHARE * limit)


def _known_integers(values: Iterable[object]) -> list[int]:
    return [value for value in values if isinstance(value, int)]
