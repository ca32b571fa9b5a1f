"""The answer of `gpudoctor fit` for a terminal."""

from __future__ import annotations

from gpudoctor.amounts import parameter_count_text
from gpudoctor.digits import short_number
from gpudoctor.fit.run_options import Asked
from gpudoctor.fit.speed import Speed
from gpudoctor.report.fit import FitDocument, GpuDocument, Needs
from gpudoctor.report.page import Page, PageLook
from gpudoctor.report.words import VERDICT_MARKS

_SIZE_UNITS = ((30, "GiB"), (20, "MiB"))
_MARKS_BY_FIT = {True: ("ready", "fits"), False: ("broken", "does not fit"), None: ("unknown", "unknown")}
_PART_CONTENTS = {
    "reserve": "CUDA context, kernels, cuBLAS, cuDNN",
    "master_copies": "the weights in FP32",
    "activations": "kept for backward",
    "cache": "keys and values of all tokens",
    "fragmentation": "lost by the allocator",
}
_OPTIMIZER_STEP = "in the optimizer step"
_PART_WIDTH = 16
_SHORT_STEP_SECONDS = 1e-3
"""Seconds of a step whose kernels a GPU finishes faster than a framework launches them: some 10 microseconds each, and hundreds of them."""
_MAX_GPUS = 6


def render(found: FitDocument, look: PageLook, *, rule_of_thumb: bool = False) -> str:
    """Return the answer as text."""
    page = Page(look)
    for gpu in found.gpus:
        _draw_headline(page, found, gpu)
    if not found.gpus:
        _draw_lead(page, _MARKS_BY_FIT[None], "No NVIDIA GPU whose free memory can be read. Name one, as in --gpu 'RTX 4090'.")
    _draw_run(page, found)
    for gpu in sorted((answer for answer in found.gpus if answer.memory), key=lambda answer: answer.fits is True)[:1]:
        _draw_heading(page, found, gpu, f"Memory at batch {gpu.batch:,}")
        _draw_memory(page, found, gpu, f"of {_size_text(gpu.available_bytes)} {'free' if gpu.observed else 'usable'}, ")
    if found.needs:
        page.heading(f"Memory at batch {found.needs.batch:,}")
        _draw_memory(page, found, found.needs)
    for part in (_draw_changes, _draw_speed):
        for gpu in found.gpus:
            part(page, found, gpu)
    if found.fits_on:
        page.heading("Fits on")
        more = len(found.fits_on) - _MAX_GPUS
        page.paragraph(", ".join(found.fits_on[:_MAX_GPUS]) + f" and {more} larger" * (more > 0), indent=2)
    for gpu in found.gpus:
        _draw_suitability(page, found, gpu, rule_of_thumb=rule_of_thumb)
    page.heading("Basis")
    traced = f", {found.model.traced_by}" if found.model.traced_by else ""
    for line in (f"{found.model.way.capitalize()}{traced}: {found.model.error}.", *found.notes):
        page.paragraph(line, indent=2, hang=2)
    return page.render()


def _draw_run(page: Page, found: FitDocument) -> None:
    run, model = found.run, found.model
    said = (
        f"{parameter_count_text(model.parameters)} parameters",
        model.sample,
        run.precision.upper(),
        "inference" if run.infer else run.optimizer,
        f"LoRA rank {run.lora}" * bool(run.lora),
        "weights in 4 bits" * bool(run.weights),
        f"gradients of {run.accumulate} batches accumulated" * (run.accumulate > 1),
        "checkpointing" * run.checkpointing,
        "offload" * run.offload,
        f"{run.shard or 'data parallel'} over {run.gpus} GPUs" * (run.gpus > 1),
    )
    page.parts([*filter(None, said)], style="dim", indent=2)


def _draw_suitability(page: Page, found: FitDocument, gpu: GpuDocument, *, rule_of_thumb: bool) -> None:
    if gpu is found.gpus[0]:
        page.heading("Suitability")
    page.paragraph(f"{gpu.name}: {gpu.suitability}.{f' Note: {gpu.note}.' if gpu.note else ''}", indent=2, hang=2)
    for what, ratio in gpu.against_cpu.items():
        page.paragraph(f"{what}: {ratio:.1f} times as fast as the CPU", indent=4)
    if rule_of_thumb:
        rule = f"Rule of thumb: {gpu.rule_of_thumb_parameters:,} parameters, ({gpu.total_bytes >> 20} - 400) MiB / (4 * 2) bytes."
        page.paragraph(rule, indent=4, hang=2)
        counted = f"Counted, before activations: {gpu.countable_parameters:,}"
        page.paragraph(f"{counted} with {found.run.optimizer} in {found.run.precision.upper()}.", indent=4, hang=2)


def _draw_heading(page: Page, found: FitDocument, gpu: GpuDocument, text: str) -> None:
    page.heading(f"{text} on {gpu.name}" if len(found.gpus) > 1 else text)


def _draw_headline(page: Page, found: FitDocument, gpu: GpuDocument) -> None:
    on_each = " on each GPU" * (found.run.gpus > 1)
    most = (
        f"the largest batch is {gpu.largest_batch:,}{on_each}" if gpu.largest_batch else "" if gpu.batch == 1 else "not even batch 1 fits"
    )
    does = "runs" if found.run.infer else "trains"
    if gpu.why:
        text = f"{found.model.name} cannot run in {found.run.precision.upper()} on {gpu.name}: {gpu.why}."
    elif gpu.fits is None:
        text = f"{found.model.name}: its activations are unknown, so it may not fit on {gpu.name}."
    elif gpu.fits:
        text = f"{found.model.name} {does} on {gpu.name}: {most}."
    else:
        needs = f"{_size_text(gpu.needed_bytes)} at batch {gpu.batch:,}" if gpu.needed_bytes else "more"
        otherwise = f"; {most}" if most and gpu.largest_batch is not None else ""
        enough = next((f" It fits with {change.options}." for change in gpu.changes if change.fits), "")
        text = f"{found.model.name} needs {needs}; {gpu.name} has {_size_text(gpu.available_bytes)}{otherwise}.{enough}"
    _draw_lead(page, _MARKS_BY_FIT[gpu.fits], text)


def _draw_lead(page: Page, verdict_and_words: tuple[str, str], text: str) -> None:
    verdict, words = verdict_and_words
    mark = VERDICT_MARKS[verdict]
    page.paragraph(text, f"{page.sign(mark)} {words}  ", lead_style=mark.style, hang=2)


def _draw_memory(page: Page, found: FitDocument, needs: GpuDocument | Needs, available: str = "") -> None:
    if needs.memory is None or needs.needed_bytes is None:
        return
    for part, size in needs.memory.items():
        page.paragraph(
            _part_description(found.run, part, needs.peak or ""),
            f"{part.replace('_', ' '):<{_PART_WIDTH}}{_size_text(size):>10}  ",
            indent=2,
        )
    total = f"{'total':<{_PART_WIDTH}}{_size_text(needs.needed_bytes):>10}  "
    page.paragraph(f"{available}peak {needs.peak}", total, indent=2, style="bold")


def _part_description(run: Asked, part: str, peak: str) -> str:
    """Return what a part of the memory holds."""
    if part == "reserve" and run.gpus > 1:
        return f"{_PART_CONTENTS[part]}, NCCL"
    if part == "master_copies" and run.lora:
        return "the adapters in FP32"
    if part == "activations" and run.infer:
        return "alive at once"
    if part == "workspace" and not run.infer:
        return "temporaries of the optimizer" if peak == _OPTIMIZER_STEP else "outputs and their gradients"
    return _PART_CONTENTS.get(part, "")


def _draw_changes(page: Page, found: FitDocument, gpu: GpuDocument) -> None:
    if gpu.fits is not False or gpu.why or gpu.needed_bytes is None:
        return
    _draw_heading(page, found, gpu, "What to change")
    for change in gpu.changes:
        lead = f"{'enough' if change.fits else '':<8}saves {_size_text(change.saved_bytes):>10}  "
        page.paragraph(f"{change.options}: {change.cost}", lead, indent=2, hang=len(lead))
    if not any(change.fits for change in gpu.changes):
        smaller = "Shorten the sequences (--seq)" if found.model.sample.endswith("tokens") else "Use smaller images (--image)"
        page.paragraph(f"No option is enough. {smaller}, or take a smaller model.", indent=2)


def _draw_speed(page: Page, found: FitDocument, gpu: GpuDocument) -> None:
    speed = gpu.speed
    if not gpu.fits:
        return
    _draw_heading(page, found, gpu, f"Speed at batch {gpu.batch:,}")
    if speed is None:
        rates = f"the tables lack the {found.run.precision.upper()} rate or the memory bandwidth of {gpu.name}"
        page.paragraph(f"Not known: {rates if found.model.forward_flops else f'the FLOPs of {found.model.name} are unknown'}.", indent=2)
        return
    limited = f"{speed.bandwidth_share:.0%} limited by memory bandwidth"
    what = "forward pass" if found.run.infer else "step"
    page.parts([f"{what} {_seconds_text(speed.step_seconds)}", f"{_range_text(speed.samples_per_second)} samples/s", limited], indent=2)
    if speed.step_seconds[1] < _SHORT_STEP_SECONDS:
        page.paragraph("Launching the kernels of so short a step takes longer, and is not counted.", indent=2)
    page.parts([*_input_rate(speed), *_transfer_time(speed)], indent=2)
    if speed.token_seconds:
        token = _seconds_text((speed.token_seconds, speed.token_seconds))
        page.paragraph(
            f"generating a token for each sample takes {token} or more: weights, keys and values are read once", indent=2, hang=2
        )
    if speed.hours:
        money = [f"costs {_range_text(speed.cost)}"] if speed.cost else []
        page.parts([f"{_range_text(speed.hours)} hours for all samples", *money], indent=2)


def _input_rate(speed: Speed) -> list[str]:
    """Return what input must deliver, if it is at least 1 MB/s."""
    low, high = (rate / 1e6 for rate in speed.input_bytes_per_second)
    return [f"input must deliver {_range_text((low, high))} MB/s"] if high >= 1 else []


def _transfer_time(speed: Speed) -> list[str]:
    """Return how long a batch is copied from the host, as a share of the step too."""
    if speed.transfer_seconds is None:
        return []
    copied = (
        f"copying a batch from the host takes {_seconds_text((speed.transfer_seconds, speed.transfer_seconds))} ({speed.transfer_basis})"
    )
    fast, slow = (100 * speed.transfer_seconds / step for step in speed.step_seconds)
    share = f"{_range_text((slow, fast))}%" if fast >= 1 else "less than 1%"
    waits = ": the GPU waits for input" * (speed.transfer_seconds > speed.step_seconds[0])
    return [f"{copied}, {share} of a step{waits}"]


def _size_text(size: int) -> str:
    power, unit = next(((power, unit) for power, unit in _SIZE_UNITS if size >= 0.01 * 2**power), (10, "KiB"))
    return f"{size / 2**power:,.{0 if size >= 100 * 2**power else 2}f} {unit}"


def _seconds_text(pair: tuple[float, float]) -> str:
    factor, unit = (1, "s") if pair[1] >= 1 else (1000, "ms")
    return f"{_range_text((pair[0] * factor, pair[1] * factor))} {unit}"


def _range_text(pair: tuple[float, float]) -> str:
    return " to ".join(dict.fromkeys(short_number(one, 2) for one in pair))
