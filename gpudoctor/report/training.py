"""The numbers of the smoke training on a page: for each framework and device its stages, and a table with a column for each network."""

from __future__ import annotations

from collections.abc import Callable

from gpudoctor.derive.stages import work_text
from gpudoctor.derive.training import has_disagreement
from gpudoctor.findings.wording import joined_words
from gpudoctor.report import telemetry
from gpudoctor.report.amounts import amount_text
from gpudoctor.report.page import Page
from gpudoctor.report.sparkline import sparkline
from gpudoctor.snapshot import (
    Agreement,
    AllReduce,
    Cause,
    Missing,
    Real,
    Smoke,
    SmokeDevice,
    Snapshot,
    Speed,
    Stage,
    StageState,
    Sum,
    Training,
)

_CURVE_WIDTH = 26
"""Signs of a loss curve."""
_COLUMN_GAP = 2


def draw(page: Page, snapshot: Snapshot) -> None:
    """Every framework's training, or why there was none."""
    if isinstance(snapshot.smoke, Missing):
        page.gap()
        page.paragraph(f"{snapshot.smoke.reason}.", "Nothing was trained: ", lead_style="bold", hang=2)
        return
    for smoke in snapshot.smoke:
        _draw_framework(page, smoke, snapshot)


def _draw_framework(page: Page, smoke: Smoke, snapshot: Snapshot) -> None:
    version = f" {smoke.version}" if isinstance(smoke.version, str) else ""
    devices = list(
        dict.fromkeys([*(training.device for training in smoke.trainings), *(stage.device for stage in smoke.stages if stage.device)])
    )
    shared = _stage_list(smoke, "")
    if shared or not devices:
        page.heading(f"{smoke.framework}{version}")
        _draw_line(page, "stages", shared)
    for device in devices:
        page.heading(f"{smoke.framework}{version} on {device}{_model_suffix(smoke, device)}")
        _draw_line(page, "stages", _stage_list(smoke, device))
        _draw_table(page, [training for training in smoke.trainings if training.device == device])
        for label, show in DEVICE_FIGURES:
            _draw_line(page, label, show(smoke, device))
        _draw_line(page, "NVML", telemetry.telemetry_line(snapshot, smoke, device))
    if isinstance(smoke.all_reduces, tuple):
        for run in smoke.all_reduces:
            _draw_all_reduce(page, f"{smoke.framework}{version}", run)
    elif smoke.all_reduces.cause is Cause.FAILED:
        page.paragraph(f"{smoke.all_reduces.reason}.", "no all-reduce: ", lead_style="bold", indent=2, hang=2)
    for left_alone in smoke.left_alone:
        page.paragraph(f"{left_alone.gpu}: {left_alone.reason}", "skipped: ", lead_style="bold", indent=2, hang=2)


def _draw_all_reduce(page: Page, framework: str, run: AllReduce) -> None:
    page.heading(f"{framework} across {joined_words(run.devices)}{'' if run.p2p else ', without P2P'}")
    _draw_line(page, "stages", ", ".join(map(_stage_text, run.stages)))
    for total in run.sums:
        _draw_line(page, "all-reduce", _all_reduce_text(total))


def _all_reduce_text(total: Sum) -> str:
    right = f"wrong on {', '.join(total.wrong)} (off by {_number_text(total.error)})" if total.error != 0 else "correct"
    size = f"{total.size >> 20} MiB" if total.size >> 20 else f"{total.size >> 10} KiB"
    return f"{size} in {_figure_text(total.seconds, 's')}, {_figure_text(total.bus_bytes_per_second, 'B/s')} bus bandwidth: {right}"


def _model_suffix(smoke: Smoke, name: str) -> str:
    devices: tuple[SmokeDevice, ...] = () if isinstance(smoke.devices, Missing) else smoke.devices
    return next((f", {device.model}" for device in devices if device.name == name and isinstance(device.model, str)), "")


def _stage_list(smoke: Smoke, device: str) -> str:
    return ", ".join(_stage_text(stage) for stage in smoke.stages if stage.device == device)


def _stage_text(stage: Stage) -> str:
    name = work_text(stage.kind, stage.network)
    took = f" {stage.seconds:.2f} s" if isinstance(stage.seconds, int | float) else ""
    return f"{name}{took}" if stage.state is StageState.DONE else f"{name} {stage.state}{' after' if took else ''}{took}"


def _draw_line(page: Page, label: str, text: str) -> None:
    if text:
        width = max(len(row) for row, _ in TABLE_ROWS) + _COLUMN_GAP
        page.paragraph(text, f"{label:<{width}}", lead_style="dim", indent=2, hang=width)


def _draw_table(page: Page, trainings: list[Training]) -> None:
    """A row for each number that some network has."""
    rows = [(label, [show(page, training) for training in trainings]) for label, show in TABLE_ROWS]
    rows = [(label, cells) for label, cells in rows if any(cells)]
    if not rows:
        return
    label_width = max(len(label) for label, _ in TABLE_ROWS) + _COLUMN_GAP
    widths = [max(len(page.text(cell)) for cell in column) + _COLUMN_GAP for column in zip(*(cells for _, cells in rows), strict=True)]
    side_by_side = 2 + label_width + sum(widths) <= page.look.width + _COLUMN_GAP
    for one in [range(len(trainings))] if side_by_side else [[place] for place in range(len(trainings))]:
        for label, cells in rows:
            page.cells([("", 2, ""), (label, label_width, "dim"), *((cells[place], widths[place], "") for place in one)])


def _loss_text(page: Page, training: Training) -> str:
    arrow = "->" if page.look.plain else "→"
    ends = [_number_text(loss) for loss in (*training.losses[:1], *training.losses[-1:])]
    return f" {arrow} ".join(ends)


def _curve_text(page: Page, training: Training) -> str:
    return sparkline(training.losses, width=_CURVE_WIDTH, plain=page.look.plain)


def _accuracy_text(_page: Page, training: Training) -> str:
    return f"{training.accuracy:.4f}" if isinstance(training.accuracy, int | float) else training.accuracy


def _speed_text(_page: Page, training: Training) -> str:
    speed = training.samples_per_second
    return f"{speed:,.0f}" if isinstance(speed, int | float) else str(speed)


def _agreement_text(_page: Page, training: Training) -> str:
    found = training.agreement
    if isinstance(found, Missing):
        return "not compared"
    return f"{'differs' if has_disagreement(found) else 'agrees'} over {found.steps} steps"


def _loss_difference_text(_page: Page, training: Training) -> str:
    return _difference_text(training.agreement, lambda found: (found.loss_difference, found.loss_tolerance))


def _weight_difference_text(_page: Page, training: Training) -> str:
    return _difference_text(training.agreement, lambda found: (found.weight_difference, found.weight_tolerance))


def _difference_text(found: Agreement | Missing, pair: Callable[[Agreement], tuple[Real, float]]) -> str:
    if isinstance(found, Missing):
        return ""
    difference, tolerance = pair(found)
    return f"{_number_text(difference, 2)} (tolerance {tolerance:.0e})"


def _number_text(value: Real, digits: int = 4) -> str:
    return f"{value:.{digits}g}" if isinstance(value, int | float) else value


TABLE_ROWS: tuple[tuple[str, Callable[[Page, Training], str]], ...] = (
    ("network", lambda _page, training: training.network),
    ("steps", lambda _page, training: str(training.steps)),
    ("loss", _loss_text),
    ("", _curve_text),
    ("accuracy", _accuracy_text),
    ("expected", lambda _page, training: f"{training.expected_accuracy:.4f}"),
    ("images/s", _speed_text),
    ("vs CPU", _agreement_text),
    ("loss difference", _loss_difference_text),
    ("weight difference", _weight_difference_text),
)
"""The rows of the table: what each is called and how it is read from one training; an empty cell is no news."""


def _speed_texts(smoke: Smoke, device: str) -> str:
    return "; ".join(_speedup_text(speed) for speed in smoke.speeds if speed.device == device)


def _speedup_text(speed: Speed) -> str:
    ours, its = speed.samples_per_second, speed.cpu_samples_per_second
    if not isinstance(ours, int | float) or not isinstance(its, int | float) or its <= 0:
        return f"{ours} images/s, CPU {its} images/s ({speed.network}, batch size {speed.batch})"
    return f"{ours / its:,.1f} times the CPU's {its:,.0f} images/s ({speed.network}, batch size {speed.batch})"


def _copy_rates(smoke: Smoke, device: str) -> str:
    kinds: dict[str, list[str]] = {}
    for copy in smoke.copies:
        if copy.device == device:
            way = "to GPU" if copy.direction == "to" else "from GPU"
            kinds.setdefault("pinned" if copy.pinned else "pageable", []).append(f"{_figure_text(copy.bytes_per_second, 'B/s')} {way}")
    return "; ".join(f"{kind} {', '.join(rates)}" for kind, rates in kinds.items())


def _memory_bandwidth(smoke: Smoke, device: str) -> str:
    return ", ".join(_figure_text(rate.bytes_per_second, "B/s") for rate in smoke.memory if rate.device == device)


def _matmul_rates(smoke: Smoke, device: str) -> str:
    products = [product for product in smoke.products if product.device == device]
    return ", ".join(f"{product.precision.upper()} {_figure_text(product.flops, 'FLOP/s')}" for product in products)


def _compile_times(smoke: Smoke, device: str) -> str:
    steps = [step for step in smoke.compiled if step.device == device]
    return ", ".join(
        f"{step.compiler} took {_figure_text(step.seconds, 's')}, then {_figure_text(step.step_seconds, 's')} per step" for step in steps
    )


def _figure_text(value: Real, unit: str) -> str:
    return amount_text(value, unit) if isinstance(value, int | float) else f"{value} {unit}"


DEVICE_FIGURES: tuple[tuple[str, Callable[[Smoke, str], str]], ...] = (
    ("speed", _speed_texts),
    ("copies", _copy_rates),
    ("memory", _memory_bandwidth),
    ("matmul", _matmul_rates),
    ("compiled step", _compile_times),
)
"""Below the table: what else is measured on a device; nothing if it was not."""
