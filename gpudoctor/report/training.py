"""The numbers of the smoke training on a page: for each framework and device its stages, and a table with a column for each network."""

from __future__ import annotations

from collections.abc import Callable

from gpudoctor.derive.stages import work
from gpudoctor.derive.training import disagrees
from gpudoctor.findings.naming import joined
from gpudoctor.report import telemetry
from gpudoctor.report.amounts import amount
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

_CURVE = 26
"""Signs of a loss curve."""
_GAP = 2


def draw(page: Page, snapshot: Snapshot) -> None:
    """Every framework's training, or why there was none."""
    if isinstance(snapshot.smoke, Missing):
        page.gap()
        page.paragraph(f"{snapshot.smoke.reason}.", "Nothing was trained: ", lead_style="bold", hang=2)
        return
    for smoke in snapshot.smoke:
        _framework(page, smoke, snapshot)


def _framework(page: Page, smoke: Smoke, snapshot: Snapshot) -> None:
    version = f" {smoke.version}" if isinstance(smoke.version, str) else ""
    devices = list(
        dict.fromkeys([*(training.device for training in smoke.trainings), *(stage.device for stage in smoke.stages if stage.device)])
    )
    shared = _stages(smoke, "")
    if shared or not devices:
        page.heading(f"{smoke.framework}{version}")
        _line(page, "stages", shared)
    for device in devices:
        page.heading(f"{smoke.framework}{version} on {device}{_model(smoke, device)}")
        _line(page, "stages", _stages(smoke, device))
        _table(page, [training for training in smoke.trainings if training.device == device])
        for label, show in FIGURES:
            _line(page, label, show(smoke, device))
        _line(page, "NVML", telemetry.seen(snapshot, smoke, device))
    if isinstance(smoke.all_reduces, tuple):
        for run in smoke.all_reduces:
            _all_reduce(page, f"{smoke.framework}{version}", run)
    elif smoke.all_reduces.cause is Cause.FAILED:
        page.paragraph(f"{smoke.all_reduces.reason}.", "no all-reduce: ", lead_style="bold", indent=2, hang=2)
    for left_alone in smoke.left_alone:
        page.paragraph(f"{left_alone.gpu}: {left_alone.reason}", "skipped: ", lead_style="bold", indent=2, hang=2)


def _all_reduce(page: Page, framework: str, run: AllReduce) -> None:
    page.heading(f"{framework} across {joined(run.devices)}{'' if run.p2p else ', without P2P'}")
    _line(page, "stages", ", ".join(map(_stage, run.stages)))
    for total in run.sums:
        _line(page, "all-reduce", _sum(total))


def _sum(total: Sum) -> str:
    right = f"wrong on {', '.join(total.wrong)} (off by {_number(total.error)})" if total.error != 0 else "correct"
    size = f"{total.size >> 20} MiB" if total.size >> 20 else f"{total.size >> 10} KiB"
    return f"{size} in {_figure(total.seconds, 's')}, {_figure(total.bus_bytes_per_second, 'B/s')} bus bandwidth: {right}"


def _model(smoke: Smoke, name: str) -> str:
    devices: tuple[SmokeDevice, ...] = () if isinstance(smoke.devices, Missing) else smoke.devices
    return next((f", {device.model}" for device in devices if device.name == name and isinstance(device.model, str)), "")


def _stages(smoke: Smoke, device: str) -> str:
    return ", ".join(_stage(stage) for stage in smoke.stages if stage.device == device)


def _stage(stage: Stage) -> str:
    name = work(stage.kind, stage.network)
    took = f" {stage.seconds:.2f} s" if isinstance(stage.seconds, int | float) else ""
    return f"{name}{took}" if stage.state is StageState.DONE else f"{name} {stage.state}{' after' if took else ''}{took}"


def _line(page: Page, label: str, text: str) -> None:
    if text:
        width = max(len(row) for row, _ in ROWS) + _GAP
        page.paragraph(text, f"{label:<{width}}", lead_style="dim", indent=2, hang=width)


def _table(page: Page, trainings: list[Training]) -> None:
    """A row for each number that some network has."""
    rows = [(label, [show(page, training) for training in trainings]) for label, show in ROWS]
    rows = [(label, cells) for label, cells in rows if any(cells)]
    if not rows:
        return
    label_width = max(len(label) for label, _ in ROWS) + _GAP
    widths = [max(len(page.text(cell)) for cell in column) + _GAP for column in zip(*(cells for _, cells in rows), strict=True)]
    side_by_side = 2 + label_width + sum(widths) <= page.look.width + _GAP
    for one in [range(len(trainings))] if side_by_side else [[place] for place in range(len(trainings))]:
        for label, cells in rows:
            page.cells([("", 2, ""), (label, label_width, "dim"), *((cells[place], widths[place], "") for place in one)])


def _loss(page: Page, training: Training) -> str:
    arrow = "->" if page.look.plain else "→"
    ends = [_number(loss) for loss in (*training.losses[:1], *training.losses[-1:])]
    return f" {arrow} ".join(ends)


def _curve(page: Page, training: Training) -> str:
    return sparkline(training.losses, width=_CURVE, plain=page.look.plain)


def _accuracy(_page: Page, training: Training) -> str:
    return f"{training.accuracy:.4f}" if isinstance(training.accuracy, int | float) else training.accuracy


def _speed(_page: Page, training: Training) -> str:
    speed = training.samples_per_second
    return f"{speed:,.0f}" if isinstance(speed, int | float) else str(speed)


def _compared(_page: Page, training: Training) -> str:
    found = training.agreement
    if isinstance(found, Missing):
        return "not compared"
    return f"{'differs' if disagrees(found) else 'agrees'} over {found.steps} steps"


def _losses_apart(_page: Page, training: Training) -> str:
    return _apart(training.agreement, lambda found: (found.loss_difference, found.loss_tolerance))


def _weights_apart(_page: Page, training: Training) -> str:
    return _apart(training.agreement, lambda found: (found.weight_difference, found.weight_tolerance))


def _apart(found: Agreement | Missing, pair: Callable[[Agreement], tuple[Real, float]]) -> str:
    if isinstance(found, Missing):
        return ""
    difference, tolerance = pair(found)
    return f"{_number(difference, 2)} (tolerance {tolerance:.0e})"


def _number(value: Real, digits: int = 4) -> str:
    return f"{value:.{digits}g}" if isinstance(value, int | float) else value


ROWS: tuple[tuple[str, Callable[[Page, Training], str]], ...] = (
    ("network", lambda _page, training: training.network),
    ("steps", lambda _page, training: str(training.steps)),
    ("loss", _loss),
    ("", _curve),
    ("accuracy", _accuracy),
    ("expected", lambda _page, training: f"{training.expected_accuracy:.4f}"),
    ("images/s", _speed),
    ("vs CPU", _compared),
    ("loss difference", _losses_apart),
    ("weight difference", _weights_apart),
)
"""The rows of the table: what each is called and how it is read from one training; an empty cell is no news."""


def _raced(smoke: Smoke, device: str) -> str:
    return "; ".join(_race(speed) for speed in smoke.speeds if speed.device == device)


def _race(speed: Speed) -> str:
    ours, its = speed.samples_per_second, speed.cpu_samples_per_second
    if not isinstance(ours, int | float) or not isinstance(its, int | float) or its <= 0:
        return f"{ours} images/s, CPU {its} images/s ({speed.network}, batch size {speed.batch})"
    return f"{ours / its:,.1f} times the CPU's {its:,.0f} images/s ({speed.network}, batch size {speed.batch})"


def _copied(smoke: Smoke, device: str) -> str:
    kinds: dict[str, list[str]] = {}
    for copy in smoke.copies:
        if copy.device == device:
            way = "to GPU" if copy.direction == "to" else "from GPU"
            kinds.setdefault("pinned" if copy.pinned else "pageable", []).append(f"{_figure(copy.bytes_per_second, 'B/s')} {way}")
    return "; ".join(f"{kind} {', '.join(rates)}" for kind, rates in kinds.items())


def _memory(smoke: Smoke, device: str) -> str:
    return ", ".join(_figure(rate.bytes_per_second, "B/s") for rate in smoke.memory if rate.device == device)


def _products(smoke: Smoke, device: str) -> str:
    products = [product for product in smoke.products if product.device == device]
    return ", ".join(f"{product.precision.upper()} {_figure(product.flops, 'FLOP/s')}" for product in products)


def _compiled(smoke: Smoke, device: str) -> str:
    steps = [step for step in smoke.compiled if step.device == device]
    return ", ".join(
        f"{step.compiler} took {_figure(step.seconds, 's')}, then {_figure(step.step_seconds, 's')} per step" for step in steps
    )


def _figure(value: Real, unit: str) -> str:
    return amount(value, unit) if isinstance(value, int | float) else f"{value} {unit}"


FIGURES: tuple[tuple[str, Callable[[Smoke, str], str]], ...] = (
    ("speed", _raced),
    ("copies", _copied),
    ("memory", _memory),
    ("matmul", _products),
    ("compiled step", _compiled),
)
"""Below the table: what else is measured on a device; nothing if it was not."""
