"""`gpudoctor fit`: says whether a model trains on a GPU, with which batch and how fast."""

from __future__ import annotations

import math
import os
import re
import sys
from typing import Annotated

import msgspec
import typer

from gpudoctor.amounts import parse_count, parse_image_size
from gpudoctor.check.model import CheckOptions
from gpudoctor.check.run import examine_machine
from gpudoctor.cli import completions, failure, options, system
from gpudoctor.cli.content import examine_files
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.program import EPILOG, app
from gpudoctor.cli.show import show_result
from gpudoctor.derive import MachineView, cards
from gpudoctor.errors import UncountedError, UsageError
from gpudoctor.findings import Level, Policy
from gpudoctor.fit.answer import fit_answer, is_fitting
from gpudoctor.fit.card import Card
from gpudoctor.fit.counted_models import SampleSize
from gpudoctor.fit.model import Model
from gpudoctor.fit.presets import PRESETS
from gpudoctor.fit.presets import model_of_name as preset
from gpudoctor.fit.run_options import MAX_SAMPLES, Asked
from gpudoctor.frameworks import tracing_framework
from gpudoctor.manual import facts
from gpudoctor.matrix import Matrix
from gpudoctor.matrix_files import open_matrix
from gpudoctor.model_files import UNREADABLE_SUFFIXES, read_model
from gpudoctor.probe.target import chosen_target
from gpudoctor.report import fit as fit_document
from gpudoctor.report import fit_notes, fit_text
from gpudoctor.run_spelling import canonical_name
from gpudoctor.snapshot import Snapshot
from gpudoctor.trace import USUAL_BATCH, TracedStep, traced_model

_LOOK_POLICY = Policy(level=Level.LOOK)
_GPU_COUNT = r"(?i)(?P<number>\d{1,5})\s?x\s?(?P<one>.+)|(?P<first>.+?)\s?x\s?(?P<last>\d{1,5})"
"""Several GPUs in one word: "8xH100", "RTX 4090 x2"."""
_MODEL_FILES = ("config.json", "model.safetensors.index.json", "model.safetensors")
_MODEL_SUFFIXES = (".json", ".safetensors", ".keras", *UNREADABLE_SUFFIXES)


@app.command(epilog=EPILOG)
def fit(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            autocompletion=completions.complete_models,
            help="A preset (resnet50, llama-8b, …), params=7e9[,layers=32,width=4096], a Hugging Face config.json, a .safetensors or .keras file, "
            "or module:function that builds a model in the target environment.",
        ),
    ],
    batch: Annotated[str, typer.Option(metavar="N|max", help="Samples a step on each GPU. Default: max, as many as fit.")] = "max",
    seq: Annotated[int | None, typer.Option(metavar="L", help="Tokens in a sequence.")] = None,
    image: Annotated[str | None, typer.Option(metavar="HxW", help="Size of an image: 224x224.")] = None,
    precision: Annotated[
        str, typer.Option(metavar="TYPE", help="fp32, tf32, bf16, fp16, fp8 (weights stay in FP32, autocast), or bf16-true (all in BF16).")
    ] = "fp32",
    optimizer: Annotated[
        str, typer.Option(metavar="NAME", help="sgd, momentum, adam, adamw, fused-adam, fused-adamw, adafactor, 8bit-adam or lion.")
    ] = "adamw",
    checkpointing: Annotated[bool, typer.Option("--checkpointing", help="Recompute each block's activations in backward.")] = False,
    lora: Annotated[int, typer.Option(metavar="R", help="Train adapters of this rank on the linear layers of all blocks.")] = 0,
    weights: Annotated[
        str,
        typer.Option(
            metavar="4bit", help="Store frozen linear layers of blocks in 4 bits, with --lora (QLoRA) or --infer: 4bit or 4bit-double."
        ),
    ] = "",
    accumulate: Annotated[int, typer.Option(metavar="N", help="Add up the gradients of N batches for a step of the optimizer.")] = 1,
    shard: Annotated[str, typer.Option(metavar="HOW", help="Divide the run over --gpus: zero1, zero2, zero3 or fsdp.")] = "",
    gpus: Annotated[int, typer.Option(metavar="N", help="How many GPUs take part.")] = 1,
    offload: Annotated[bool, typer.Option("--offload", help="Keep the optimizer's state and master copies in host memory.")] = False,
    infer: Annotated[bool, typer.Option("--infer", help="Count inference instead of training.")] = False,
    gpu: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Ask about this GPU by any common name instead of this machine's, or several: 8xH100. Repeatable."
        ),
    ] = None,
    report: Annotated[
        str | None, typer.Option(metavar="FILE", help="Take GPUs and measured speed from a JSON report of `gpudoctor check --level full`.")
    ] = None,
    samples: Annotated[str | None, typer.Option(metavar="N", help="Also say how long this many samples take: 50000, 1e6, 1.2M.")] = None,
    price: Annotated[float | None, typer.Option(metavar="P", help="Price of a GPU for an hour, for --samples.")] = None,
    rule_of_thumb: Annotated[bool, typer.Option("--rule-of-thumb", help="Also show the rule (MiB - 400) * 2^20 / (4 * 2).")] = False,
    python: options.Python = None,
    format: Annotated[TextOrJson, typer.Option("--format", help="text, or json (gpudoctor.fit/1).")] = TextOrJson.TEXT,
    compat: options.Compat = None,
    no_color: options.NoColor = False,
) -> int:
    """Find out whether a model trains on a GPU, how large a batch fits and how fast a step is, by part and with what to change.

    \b
    Examples:
      gpudoctor fit resnet50 --batch 256 --precision bf16
      gpudoctor fit llama-8b --precision bf16 --lora 16 --gpu 'RTX 4090'
    """

    def carry_out() -> int:
        matrix = open_matrix(compat)
        named, together = _named_gpus(matrix, gpu or [], gpus)
        asked = Asked(
            batch=None if batch.lower() == "max" else parse_count(batch, "--batch", MAX_SAMPLES),
            precision=canonical_name(precision),
            optimizer=canonical_name(optimizer),
            checkpointing=checkpointing,
            lora=lora,
            weights=canonical_name(weights),
            accumulate=accumulate,
            shard=canonical_name(shard),
            gpus=together,
            offload=offload,
            infer=infer,
        )
        many = parse_count(samples, "--samples") if samples is not None else None
        if price is not None and not 0 < price < math.inf:
            raise UsageError("--price takes a number above 0.")
        if price is not None and many is None:
            raise UsageError("--price is for --samples; state both.")
        sample = SampleSize(seq, parse_image_size(image))
        counted = _named_model(model, sample, asked, python)
        share = _memory_share(counted)
        asked_about = [cards.card_with_share(card, share) for card in _cards_asked_about(matrix, named, report, compat)]
        answers = [fit_document.gpu_document(card, asked, fit_answer(counted, asked, card, many, price)) for card in asked_about]
        fitting = () if answers and all(one.fits for one in answers) else _fitting_gpus(counted, asked, matrix, share)
        notes = fit_notes.fit_notes(counted, asked, answers, share)
        made = fit_document.fit_document(counted, asked, answers, stated=bool(gpu), fits_on=fitting, notes=notes)
        show_result(made, format, lambda document, shown: fit_text.render(document, shown, rule_of_thumb=rule_of_thumb), no_color=no_color)
        return made.exit_code

    return failure.guarded_exit_code(carry_out, as_json=format is TextOrJson.JSON)


def _named_model(named: str, sample: SampleSize, asked: Asked, python: str | None) -> Model:
    """Return what is known of the model that the user named."""
    named = _model_file(named) if os.path.isdir(named) else named
    if named.casefold() in PRESETS:
        return preset(named, sample)
    if named.endswith(".py"):
        raise UsageError(
            f"{named} is a program; name the function in it that builds the model, as in {os.path.basename(named)[:-3]}:build_model."
        )
    if named.endswith(_MODEL_SUFFIXES) or os.path.isfile(named):
        try:
            return read_model(named, sample)
        except UncountedError as unknown:
            return _model_built_by_target(named, sample, asked, python, unknown)
    if ":" in named:
        return _traced_model(named, sample, asked, python)
    return preset(named, sample)


def _model_file(named: str) -> str:
    """Return the file that describes a model in a folder; the name itself if a folder without one has the name of a preset."""
    found = next(filter(os.path.exists, (os.path.join(named, one) for one in _MODEL_FILES)), None)
    if found is None and named.casefold() not in PRESETS:
        raise UsageError(f"The folder {named} has no {', '.join(_MODEL_FILES)}.")
    return found or named


def _model_built_by_target(named: str, sample: SampleSize, asked: Asked, python: str | None, unknown: UncountedError) -> Model:
    """Return what a model needs that no formula counts, as the target's transformers build it."""
    try:
        return _traced_model(named, sample, asked, python)
    except UsageError as error:
        raise UsageError(f"{unknown}. {error} Otherwise state params=N.") from None


def _traced_model(named: str, sample: SampleSize, asked: Asked, python: str | None) -> Model:
    system.require_linux("fit MODULE:FUNCTION")
    precision = asked.precision.removesuffix("-true")  # its activations are counted as under autocast
    step = TracedStep(batch=asked.batch or USUAL_BATCH, seq=sample.tokens, image=sample.image, precision=precision, infer=asked.infer)
    return traced_model(chosen_target(python, os.environ, sys.executable, sys.path).executable, named, step, folder=os.getcwd())


def _cards_asked_about(matrix: Matrix, names: list[str], report: str | None, compat: str | None) -> list[Card]:
    """Return the GPUs that are asked about; none if no GPU's free memory can be read."""
    if names:
        return [_card_by_name(matrix, name) for name in names]
    view = MachineView(_machine_snapshot(matrix, report, compat), matrix, _LOOK_POLICY)
    return [card for gpu in view.gpus if gpu.usable and (card := cards.observed_card(gpu))]


def _card_by_name(matrix: Matrix, name: str) -> Card:
    if wrong := matrix.slice_problem(name):
        raise UsageError(wrong)
    found = facts.find_rows(matrix, "gpu", name).rows[0]
    size = re.search(r"(\d{1,3}) ?gi?b\b", name.lower())
    card = cards.published_card(msgspec.structs.replace(found, memory_gib=found.memory_gib or (float(size[1]) if size else None)))
    if card is None:
        raise UsageError(f"The tables do not have one size of memory for {found.name}; state it, as in --gpu '{name} 8GB'.")
    return card


def _named_gpus(matrix: Matrix, names: list[str], gpus: int) -> tuple[list[str], int]:
    """Return the GPUs to ask about, each once, and how many take part: --gpus, else as many as one kind is named, as in 8xH100. Raises UsageError for several of several."""
    found = [_name_and_count(matrix, name) for name in names]
    kinds = list(dict.fromkeys(name for name, _ in found))
    together = sum(times for _, times in found)
    if together == len(kinds):
        return kinds, gpus
    if len(kinds) > 1:
        raise UsageError("All GPUs of a run have one name; ask about each in a command of its own, as in --gpu 8xH100.")
    return kinds, together if gpus == 1 else gpus


def _name_and_count(matrix: Matrix, name: str) -> tuple[str, int]:
    """Return the name of a GPU and how often it is meant. Raises UsageError for a list of names."""
    times = re.fullmatch(_GPU_COUNT, name.strip())
    if times and matrix.gpu(times["one"] or times["first"]):
        return times["one"] or times["first"], int(times["number"] or times["last"])
    names = [one.strip() for one in name.split(",")]
    if names[1:] and all(map(matrix.gpu, names)):
        written = " ".join(f"--gpu '{one}'" for one in names)
        raise UsageError(f"--gpu takes the name of one GPU; write {written}.")
    return name, 1


def _machine_snapshot(matrix: Matrix, report: str | None, compat: str | None) -> Snapshot:
    """Return what is known of the machine in a report, or of this one after a look."""
    if report is not None:
        return examine_files([report], matrix, _LOOK_POLICY).snapshot
    system.require_linux("fit")

    return examine_machine(CheckOptions(policy=_LOOK_POLICY, compat=compat)).snapshot


def _fitting_gpus(model: Model, asked: Asked, matrix: Matrix, share: float) -> tuple[str, ...]:
    """Return the GPUs of the tables on which the run fits, the smallest first."""
    return tuple(card.name for card in cards.supported_cards(matrix) if is_fitting(model, asked, cards.card_with_share(card, share)))


def _memory_share(model: Model) -> float:
    """Return the share of a GPU's memory that the framework of a traced model uses in this environment."""
    pool = tracing_framework(model.traced_by).pool
    return pool.share_in(os.environ) if pool else 1.0
