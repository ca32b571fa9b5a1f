"""Traces one training step or forward pass of a user's own model, in a child under the examined interpreter, and counts what it needs.

The builder is the user's code and may do anything that this user may, except connect to other machines from Python.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import msgspec

from gpudoctor.children.channel import Heard, run, script
from gpudoctor.children.counting import COUNTING, CountedStep, Uncountable
from gpudoctor.errors import UsageError
from gpudoctor.fit.model import ALL_TOGETHER, Activations, LinearInBatch, Model, grouped_projections, peak_moments
from gpudoctor.fit.run_options import PRECISIONS
from gpudoctor.process import Supervisor
from gpudoctor.snapshot import printable_text

DEADLINE_SECONDS = 300.0
"""Seconds for import, building and tracing."""
_CHILD_VARIABLES = {
    "CUDA_VISIBLE_DEVICES": "",
    "JAX_PLATFORMS": "cpu",
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "TORCHDYNAMO_DISABLE": "1",
}
"""The step is only traced: it must not open a GPU, which others may use, nor compile. TensorFlow says that it uses oneDNN, whatever the level of its log."""
_HALF_PRECISIONS = ("bf16", "fp16")
_CONFIGURATION_SUFFIX = ".json"
USUAL_BATCH = 8
_MAX_PLACES = 3
"""Shown of those that read values."""


class TracedStep(msgspec.Struct, frozen=True, kw_only=True):
    """What to trace. `seq` and `image`, height and width, shape the input of a model that brings none."""

    batch: int = USUAL_BATCH
    """It is traced with this batch and twice as many: most memory and all FLOPs grow linearly."""
    seq: int | None = None
    image: tuple[int, int] | None = None
    precision: str = "fp32"
    infer: bool = False
    """A forward pass without gradients, with weights in the precision."""


def traced_model(
    executable: str, builder: str, step: TracedStep, *, folder: str | None = None, deadline: float = DEADLINE_SECONDS
) -> Model:
    """Return what the model of `builder`, "module:function" or the path of a config.json, needs. Raises UsageError where that cannot be counted.

    The module is searched for in `folder`, by default the current one, and in the environment of `executable`.
    """
    return model_of_counts(builder, step, *traced_counts(executable, builder, step, folder=folder or os.getcwd(), deadline=deadline))


def traced_counts(executable: str, builder: str, step: TracedStep, *, folder: str, deadline: float) -> tuple[CountedStep, CountedStep]:
    """Return the counts for the batch and for twice as many. Raises UsageError as `traced_model` does."""
    module, _, function = builder.partition(":")
    if not (module and function) and not builder.endswith(_CONFIGURATION_SUFFIX):
        raise UsageError(f"{printable_text(builder)} is no builder; write module:function, such as train:build_model.")
    if step.precision == "fp8":
        raise UsageError(f"{builder} cannot be traced in FP8; use --precision bf16.")
    arguments = (
        "--builder",
        os.path.abspath(builder) if builder.endswith(_CONFIGURATION_SUFFIX) else builder,
        "--folder",
        folder,
        "--batches",
        f"{step.batch},{2 * step.batch}",
        *_child_options(step),
    )
    environment = {**os.environ, **_CHILD_VARIABLES}
    with Supervisor() as supervisor:
        outcome = run(supervisor, script("fit", "train/fit.py", (executable,), environment, *arguments, stall=deadline, deadline=deadline))
    name = os.path.basename(builder)
    heard = Heard(outcome, COUNTING, name)
    if refused := heard.first(Uncountable):
        raise UsageError(f"{name} {refused.reason.rstrip('.')}.")
    counted = heard.all(CountedStep)
    if heard.cut or len(counted) != 2:
        raise UsageError(f"{heard.gap().reason}.")
    return counted[0], counted[1]


def _child_options(step: TracedStep) -> tuple[str, ...]:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    seq = ("--seq", str(step.seq)) if step.seq else ()
    image = ("--image", f"{step.image[0]}x{step.image[1]}") if step.image else ()
    return ("--precision", step.precision, "--memory", str(memory), *seq, *image, *("--infer",) * step.infer)


def model_of_counts(builder: str, step: TracedStep, once: CountedStep, twice: CountedStep) -> Model:
    """Return what the counts for a batch and for twice as many say."""

    def line(value: Callable[[CountedStep], int]) -> LinearInBatch:
        return line_through(once.batch, value(once), value(twice))

    kept, fewer = line(lambda one: one.kept), line(lambda one: one.kept_again)
    transient = line(lambda one: _excess(one.peak, one.kept))
    most = line(lambda one: _excess(one.peak_again, one.kept_again))
    held = Activations(
        kept=kept,
        checkpointed=fewer,
        recomputed=LinearInBatch(max(0, most.per_sample - transient.per_sample), max(0, most.fixed - transient.fixed)),
        transient=transient,
        inference=line(lambda one: one.alive or 0),
        moved=line(lambda one: one.moved).per_sample,
    )
    half, known = step.precision in _HALF_PRECISIONS, not step.infer or once.alive is not None
    return Model(
        name=os.path.basename(builder),
        sample=once.sample,
        traced_by=f"{once.framework} {once.version}, traced on the CPU{'' if once.peak is not None else ' without its workspace'}",
        parameters=once.parameters,
        trainable=once.trainable,
        buffers=once.buffer_bytes,
        projections=grouped_projections(once.projections),
        largest_block=once.largest_block,
        outside=once.outside,
        forward_flops=line(lambda one: one.forward_flops).per_sample,
        step_flops=None if step.infer else line(lambda one: one.flops).per_sample,
        block_flops=line(lambda one: max(0, one.flops_again - one.flops)).per_sample,
        sample_bytes=line(lambda one: one.input_bytes).per_sample,
        backward=peak_moments(once.moments) or ALL_TOGETHER,
        cache_elements=line(lambda one: one.cache).per_sample // PRECISIONS[step.precision].bytes,
        full=held if known and not half else None,
        half=held if known and half else None,
        assumptions=tuple(_assumption_notes(once)) if known else (f"What a forward pass holds at once is not traced in {once.framework}.",),
    )


def _assumption_notes(counted: CountedStep) -> Iterator[str]:
    """Yield what was taken for values of tensors."""
    if places := counted.assumed[:_MAX_PLACES]:
        more = len(counted.assumed) - len(places)
        also = f" and {more} more places" if more else ""
        yield (
            f"The step reads values of tensors ({'; '.join(places)}{also}), and a trace has none: conditions are taken as what needs more "
            "memory, numbers as 1, masks as selecting everything, those that exclude each other together, and packed sequences as of full length."
        )


def line_through(batch: int, value: int, value_at_double: int) -> LinearInBatch:
    """Return the line through the values at a batch and at twice that batch, nowhere below 0."""
    slope = (value_at_double - value) // batch
    return LinearInBatch(max(0, slope), max(0, value - slope * batch))


def _excess(peak: int | None, kept: int) -> int:
    return 0 if peak is None else peak - kept
