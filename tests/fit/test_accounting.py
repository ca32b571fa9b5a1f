"""The memory of a run: parts, the largest batch, what sharding does."""

from __future__ import annotations

from itertools import product

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.errors import UsageError
from gpudoctor.fit.accounting import largest_batch, memory_moments, peak_memory, trained_parameters
from gpudoctor.fit.counted_models import SampleSize
from gpudoctor.fit.model import Model
from gpudoctor.fit.presets import PRESETS, model_of_name, network_of_transformer
from gpudoctor.fit.run_options import OPTIMIZERS, PRECISIONS, SHARDINGS, Asked
from gpudoctor.model_files.configuration import network_of_configuration
from gpudoctor.run_spelling import NAMES_BY_SPELLING, canonical_name
from tests.fit.models import preset, presets
from tests.seams.every import every


def without_dropout(name: str, sample: SampleSize) -> Model:
    """A preset as it was measured: bert-base and gpt2 have dropout as published."""
    fields = {**PRESETS[name], "hidden_dropout_prob": 0}
    return (
        model_of_name(name, sample)
        if "rows" in fields
        else network_of_transformer(name, fields["model_type"], fields, "").model(name, sample)
    )


MIXTRAL = {"model_type": "mixtral", "num_local_experts": 8}
WITH_MATRICES = ("bert-base", "gpt2", "llama-1b", "llama-8b", "vit-b")


@st.composite
def runs(draw: st.DrawFn) -> Asked:
    if draw(st.booleans()):
        return Asked(infer=True, precision=draw(st.sampled_from(list(PRECISIONS))))
    gpus = draw(st.integers(min_value=1, max_value=64))
    return Asked(
        precision=draw(st.sampled_from(list(PRECISIONS))),
        optimizer=draw(st.sampled_from(list(OPTIMIZERS))),
        checkpointing=draw(st.booleans()),
        offload=draw(st.booleans()),
        gpus=gpus,
        shard=draw(st.sampled_from(list(SHARDINGS))) if gpus > 1 else "",
    )


@settings(deadline=None, max_examples=50)
@given(presets(), runs(), st.integers(min_value=1, max_value=4096))
def test_memory_never_shrinks_with_the_batch_and_the_parts_add_up(one: Model, asked: Asked, batch: int) -> None:
    small, large = peak_memory(one, asked, batch), peak_memory(one, asked, batch + 1)
    assert small.total == sum(small.parts.values()) <= large.total
    assert all(part >= 0 for part in small.parts.values())


@pytest.mark.parametrize(
    ("name", "optimizer", "batch", "tracked", "moment"),
    [
        ("vgg16", "sgd", 1, 1.089, "during backward"),
        ("vgg16", "sgd", 16, 2.100, "during backward"),
        ("resnet50", "sgd", 16, 1.406, "during backward"),
        ("resnet50", "adamw", 1, 0.477, "in the optimizer step"),
        ("resnet50", "adamw", 16, 1.596, "during backward"),
        ("gpt2", "sgd", 1, 2.221, "at the start of backward"),
        ("gpt2", "adamw", 8, 15.453, "at the start of backward"),
        ("vit-b", "sgd", 1, 0.646, "at the end of backward"),
        ("vit-b", "adamw", 1, 1.614, "in the optimizer step"),
        ("vit-b", "sgd", 16, 2.122, "during backward"),
    ],
)
def test_the_peak_is_that_of_pytorchs_memory_tracker(name: str, optimizer: str, batch: int, tracked: float, moment: str) -> None:
    """GiB that MemTracker of PyTorch 2.15 reports for the second step on fake tensors, with foreach optimizers and the output held until backward ends."""
    found = peak_memory(without_dropout(name, SampleSize()), Asked(optimizer=optimizer), batch)
    assert (found.total - found.reserve - found.fragmentation) / (1 << 30) == pytest.approx(tracked, rel=0.01)
    assert found.moment == moment


@pytest.mark.parametrize(("name", "traced"), [("vit-b", 73_686_736), ("gpt2", 1_041_854_464)])
def test_autocast_copies_what_each_matmul_reads(name: str, traced: int) -> None:
    """Bytes per sample that PyTorch 2.15 saves for backward under BF16 autocast of GPUs: queries, keys and values each copy their input."""
    held = without_dropout(name, SampleSize()).half
    assert held
    assert held.kept.per_sample == traced


@pytest.mark.parametrize(
    ("name", "sample", "saved"),
    [
        ("resnet50", SampleSize(image=(64, 64)), 20_414_276),
        ("bert-base", SampleSize(128), 44_115_012),
        ("gpt2", SampleSize(128), 249_918_468),
        ("vgg16", SampleSize(image=(64, 64)), 5_487_940),
        ("unet", SampleSize(image=(64, 64)), 75_890_688),
    ],
)
def test_checkpointing_keeps_what_pytorch_keeps_outside_of_blocks(name: str, sample: SampleSize, saved: int) -> None:
    """Bytes that PyTorch 2.15 saves for backward of 8 samples in FP32 while it recomputes the same blocks."""
    held = without_dropout(name, sample).full
    assert held
    assert held.checkpointed.at(8) == pytest.approx(saved, rel=0.001)


@pytest.mark.parametrize(("precision", "saved"), [("fp32", 9_689_604), ("bf16", 6_289_924)])
def test_adapters_keep_only_what_backward_needs_through_frozen_weights(precision: str, saved: int) -> None:
    """Bytes that PyTorch 2.15 saves for backward of one sample, with adapters of rank 8 on the linear layers of all blocks."""
    shape = {
        "num_hidden_layers": 8,
        "hidden_size": 256,
        "num_attention_heads": 4,
        "intermediate_size": 688,
        "num_key_value_heads": 2,
        "vocab_size": 1000,
    }
    one = network_of_transformer("llama", "llama", shape, "").model("llama", SampleSize(64))
    start, *_ = memory_moments(one, Asked(precision=precision, lora=8), 1)
    assert start.activations == pytest.approx(saved, rel=0.011)


@settings(deadline=None, max_examples=50)
@given(presets(), runs(), st.integers(min_value=1 << 30, max_value=1 << 40))
def test_the_largest_batch_fits_and_one_more_sample_does_not(one: Model, asked: Asked, available: int) -> None:
    batch = largest_batch(one, asked, available)
    assert batch == 0 or peak_memory(one, asked, batch).total <= available
    assert peak_memory(one, asked, batch + 1).total > available


@settings(deadline=None, max_examples=50)
@given(presets(), runs(), st.integers(min_value=1, max_value=64))
def test_sharding_offloading_and_checkpointing_never_need_more(one: Model, asked: Asked, batch: int) -> None:
    if asked.infer:
        return
    at_most = peak_memory(one, asked, batch)
    if asked.gpus > 1:
        plain = msgspec.structs.replace(asked, shard="")
        steps = [peak_memory(one, msgspec.structs.replace(asked, shard=shard), batch).total for shard in ("zero1", "zero2", "zero3")]
        assert steps == sorted(steps, reverse=True)
        assert steps[0] <= peak_memory(one, plain, batch).total
    assert peak_memory(one, msgspec.structs.replace(asked, offload=True), batch).total <= at_most.total
    if one.full and one.full.recomputed.per_sample <= one.full.kept.per_sample - one.full.checkpointed.per_sample:
        assert peak_memory(one, msgspec.structs.replace(asked, checkpointing=True), batch).total <= at_most.total


@settings(deadline=None, max_examples=50)
@given(presets(WITH_MATRICES), st.integers(min_value=1, max_value=64))
def test_adapters_of_a_higher_rank_need_more_and_still_less_than_training_everything(one: Model, rank: int) -> None:
    runs = (Asked(lora=rank, precision="bf16"), Asked(lora=rank + 1, precision="bf16"), Asked(precision="bf16"))
    low, high, everything = (list(memory_moments(one, asked, 1))[-1] for asked in runs)
    assert low.optimizer < high.optimizer < everything.optimizer
    assert low.gradients < high.gradients < everything.gradients


@pytest.mark.parametrize(
    ("precision", "optimizer", "each"),
    [("fp32", "adamw", 16), ("bf16", "adamw", 18), ("bf16", "fused-adamw", 18), ("fp32", "sgd", 8), ("bf16", "8bit-adam", 12 + 1 / 32)],
)
def test_bytes_for_each_parameter_are_the_published_ones(precision: str, optimizer: str, each: int) -> None:
    one = preset("784-128-10")
    found = [moment.parts for moment in memory_moments(one, Asked(precision=precision, optimizer=optimizer), 1)]
    whole = (max(moment[part] for moment in found) for part in ("weights", "gradients", "optimizer", "master_copies"))
    assert sum(whole) == round(each * one.parameters)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"precision": "bf61"}, "did you mean bf16"),
        ({"optimizer": "adan"}, "did you mean adam"),
        ({"shard": "zero2"}, "at least two GPUs"),
        ({"batch": 0}, "out of range"),
        ({"gpus": 0}, "out of range"),
        ({"infer": True, "lora": 8}, "leave out --lora"),
        ({"weights": "4bit"}, "cannot be trained"),
    ],
)
def test_a_run_that_contradicts_itself_is_one_sentence(options: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Asked(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("spelling", NAMES_BY_SPELLING)
def test_every_other_spelling_is_that_of_a_choice(spelling: str) -> None:
    assert canonical_name(spelling.upper()) in {*PRECISIONS, *OPTIMIZERS, *SHARDINGS, "4bit"}


def test_weights_in_4_bits_are_those_of_linear_layers_in_blocks() -> None:
    """Llama 2 7B: 202,383,360 parameters in each of 32 blocks are in linear layers, as bitsandbytes stores them with a scale for 64."""
    one = model_of_name("llama-7b", SampleSize(512))
    asked = Asked(lora=8, precision="bf16", weights="4bit")
    packed = 32 * 202_375_168
    (start, *_) = memory_moments(one, asked, 1)
    adapters = trained_parameters(one, asked)
    rest, embedding = one.parameters - packed, 32000 * 4096
    assert start.weights == packed // 2 + packed // 64 * 4 + 4 * rest + 2 * (rest - embedding + adapters)
    assert start.master_copies == 4 * adapters
    (offloaded, *_) = memory_moments(one, msgspec.structs.replace(asked, offload=True), 1)
    assert offloaded.weights == start.weights
    assert start.activations == next(memory_moments(one, msgspec.structs.replace(asked, weights=""), 1)).activations
    with pytest.raises(UsageError, match="no linear layers"):
        peak_memory(preset("784-128-10"), Asked(infer=True, weights="4bit"), 1)


def test_all_is_in_bf16_without_copies_in_fp32() -> None:
    """Weights, gradients, and two moments of AdamW, whose roots of all second moments its step adds."""
    one, asked = model_of_name("llama-1b", SampleSize(64)), Asked(precision="bf16-true")
    *_, end, step = memory_moments(one, asked, 1)
    assert (step.weights, step.gradients, step.optimizer, step.master_copies) == tuple(n * one.parameters for n in (2, 2, 4, 0))
    assert step.workspace == 2 * one.parameters
    assert end.weights == 2 * one.parameters
    adapters = next(memory_moments(one, Asked(precision="bf16-true", lora=8, weights="4bit"), 1))
    assert adapters.master_copies == 0
    (quantised, plain) = (peak_memory(one, Asked(precision=name, optimizer="8bit-adam"), 1).optimizer for name in ("bf16-true", "bf16"))
    assert quantised == plain


def test_autocast_copies_no_weights_that_are_only_looked_up() -> None:
    """Of a tied embedding it does: the output layer multiplies by it."""
    apart, tied = (
        network_of_configuration("config.json", {"model_type": "llama", "tie_word_embeddings": tied}).model("config.json", SampleSize(64))
        for tied in (False, True)
    )
    assert (apart.looked_up, tied.looked_up) == (32000 * 4096, 0)
    start, *_ = memory_moments(apart, Asked(precision="bf16"), 1)
    assert start.weights == 2 * (apart.parameters - apart.looked_up)
    assert peak_memory(apart, Asked(precision="bf16", infer=True), 1).weights == 2 * apart.parameters


@settings(deadline=None, max_examples=50)
@given(presets(), runs(), st.integers(min_value=1, max_value=64))
def test_accumulated_gradients_are_there_in_all_of_backward(one: Model, asked: Asked, batch: int) -> None:
    if asked.infer:
        return
    start, *_ = memory_moments(one, msgspec.structs.replace(asked, accumulate=2), batch)
    whole = list(memory_moments(one, asked, batch))
    assert start.gradients == whole[-1].gradients == max(moment.gradients for moment in whole)
    assert start.activations == max(moment.activations for moment in whole)


@every("run", list(product(OPTIMIZERS, PRECISIONS, (False, True))))
def test_every_optimizer_and_precision_is_counted(run: tuple[str, str, bool]) -> None:
    optimizer, precision, infer = run
    assert peak_memory(preset("784-128-10"), Asked(optimizer=optimizer, precision=precision, infer=infer), 1).total > 0


def test_linear_layers_of_blocks_keep_inputs_and_both_weights_in_fp8() -> None:
    """Llama 2 7B: queries, keys, values, gate and up read 4096 numbers a token, the output as well, which attention keeps in BF16 too, and down 11008."""
    one, asked = model_of_name("llama-7b", SampleSize(512)), Asked(precision="fp8", batch=1)
    assert one.half
    assert one.fp8
    each = 1 + 1 / 32
    saved = 32 * 512 * (5 * 4096 * (2 - each) - 4096 * each + 11008 * (2 - each))
    assert one.half.kept.per_sample - one.fp8.kept.per_sample == saved
    start, *_ = memory_moments(one, asked, 1)
    linear = 32 * 202_375_168
    assert start.weights == linear * 2 * each + 2 * (one.parameters - linear - 32000 * 4096)
    assert start.master_copies == 4 * one.parameters
    assert peak_memory(one, Asked(precision="fp8", infer=True), 1).weights == linear * each + 2 * (one.parameters - linear)


def test_adapters_of_fp8_read_their_inputs_in_bf16_and_frozen_weights_stay() -> None:
    one = model_of_name("llama-7b", SampleSize(512))
    fp8, bf16 = (next(memory_moments(one, Asked(precision=precision, lora=8), 1)) for precision in ("fp8", "bf16"))
    assert fp8.activations == bf16.activations
    assert fp8.weights - bf16.weights == 32 * 202_375_168 * 2 * (1 + 1 / 32)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"batch": 10**12}, "--batch 1,000,000,000,000 is out of range; it takes 1 to 1,000,000,000"),
        ({"gpus": 10**9}, "--gpus 1,000,000,000 is out of range"),
        ({"weights": "4bit", "precision": "fp8", "infer": True}, "not in FP8"),
        ({"weights": "3bit", "infer": True}, "did you mean 4bit"),
    ],
)
def test_what_no_run_has_is_one_sentence(options: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Asked(**options)  # type: ignore[arg-type]


def test_adapters_that_are_as_large_as_what_they_adapt_are_refused() -> None:
    with pytest.raises(UsageError, match="--lora 5,000: such adapters have no fewer parameters than what they adapt"):
        trained_parameters(preset("llama-7b"), Asked(lora=5000))


def test_experts_keep_as_much_in_bf16_as_in_fp32_where_autocast_runs_them() -> None:
    """A token keeps 4096 numbers that each of 2 experts reads and makes, and 14336 of gate, its function, up and their product."""
    one = network_of_configuration("config.json", MIXTRAL).model("config.json", SampleSize(512))
    asked = Asked(precision="bf16")
    experts = 32 * 512 * 2 * (2 * 4096 + 4 * 14336)
    kept = next(memory_moments(one, asked, 1)).activations
    assert one.half
    assert one.half.uncast == 2 * experts
    sharded = msgspec.structs.replace(asked, gpus=2, shard="fsdp")
    assert kept - next(memory_moments(one, sharded, 1)).activations == one.half.uncast
    adapted = [next(memory_moments(one, Asked(precision="bf16", lora=rank), 1)).activations for rank in (1, 2)]
    assert adapted[0] < kept - one.half.uncast < kept


def test_a_dropout_keeps_a_byte_for_each_of_its_numbers() -> None:
    """gpt2 has one after its embedding and two in each of 12 blocks."""
    with_it, without = (one.full for one in (preset("gpt2"), without_dropout("gpt2", SampleSize())))
    assert with_it
    assert without
    assert with_it.kept.per_sample - without.kept.per_sample == 25 * 1024 * 768


def test_a_fused_optimizer_has_no_temporaries() -> None:
    """16 bytes a parameter: FP32 weights, gradients and two moments. ZeRO's 16 have gradients and a copy of the weights in FP16: https://arxiv.org/abs/1910.02054"""
    one = model_of_name("llama-7b", SampleSize(512))
    *_, plain = memory_moments(one, Asked(precision="bf16"), 1)
    *_, fused = memory_moments(one, Asked(precision="bf16", optimizer="fused-adamw"), 1)
    assert fused.total - fused.reserve == 16 * one.parameters
    assert plain.workspace == 4 * one.parameters


def test_fsdp_keeps_no_copies_in_16_bits_beside_its_shards() -> None:
    """FSDP casts a shard as it gathers it; DeepSpeed's ZeRO-3 keeps partitions in both."""
    one = model_of_name("llama-7b", SampleSize(512))
    zero3, fsdp = (list(memory_moments(one, Asked(precision="bf16", gpus=8, shard=shard), 1))[-1] for shard in ("zero3", "fsdp"))
    assert (zero3.weights, fsdp.weights) == (2 * one.parameters // 8, 0)
