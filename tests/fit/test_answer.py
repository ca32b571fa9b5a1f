"""Whether a run fits, what to change, how fast it is, and what a GPU is enough for."""

from __future__ import annotations

import shlex
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.amounts import parameter_count_text, parse_count
from gpudoctor.derive.cards import card_suitability
from gpudoctor.errors import UsageError
from gpudoctor.fit.answer import fit_answer, is_fitting
from gpudoctor.fit.card import Card
from gpudoctor.fit.changes import changes_to_fit
from gpudoctor.fit.counted_models import SampleSize
from gpudoctor.fit.presets import model_of_name
from gpudoctor.fit.run_options import Asked
from gpudoctor.model_files.configuration import network_of_configuration
from gpudoctor.report.fit import gpu_document
from gpudoctor.run_spelling import run_of_words
from tests.fit.models import preset, presets

GIB = 1 << 30


def card(gib: float = 24, capability: tuple[int, int] | None = (8, 9), **rates: Any) -> Card:
    known: dict[str, Any] = {"flops": {"fp32": 8e13, "bf16": 16e13, "fp16": 16e13}, "bandwidth": 1e12, **rates}
    return Card(name="a GPU", available=round(gib * GIB), total=round(gib * GIB), observed=True, capability=capability, **known)


def set_by(options: str) -> dict[str, Any]:
    """The fields of Asked that the options of a change set."""
    words = shlex.split(options)
    fields: dict[str, Any] = {}
    for word, after in zip(words, [*words[1:], "--"], strict=True):
        if word.startswith("--"):
            value: Any = True if after.startswith("--") else int(after) if after.isdigit() else after
            fields[word[2:]] = value
    return fields


@settings(deadline=None, max_examples=50)
@given(presets(), st.integers(min_value=1, max_value=512), st.floats(min_value=1, max_value=100))
def test_a_change_that_is_enough_makes_the_run_fit(one: Any, batch: int, gib: float) -> None:
    asked, where = Asked(batch=batch), card(gib)
    if fit_answer(one, asked, where).fits:
        return
    for change in changes_to_fit(one, asked, where, batch):
        assert change.saved_bytes > 0
        assert fit_answer(one, msgspec.structs.replace(asked, **set_by(change.options)), where).fits is change.fits


@settings(deadline=None, max_examples=50)
@given(presets(), st.none() | st.integers(min_value=1, max_value=512), st.floats(min_value=0.5, max_value=100), st.booleans())
def test_whether_a_run_fits_is_what_the_answer_says(one: Any, batch: int | None, gib: float, old: bool) -> None:
    asked, where = Asked(batch=batch, precision="bf16"), card(gib, (7, 0) if old else (8, 9))
    assert is_fitting(one, asked, where) is fit_answer(one, asked, where).fits


def test_a_smaller_batch_is_combined_with_what_else_is_needed() -> None:
    asked = Asked(batch=4, precision="bf16", lora=8)
    first = changes_to_fit(preset("llama-8b"), asked, card(22.5), 4)[0]
    assert (first.fits, first.options) == (True, "--checkpointing --batch 1 --accumulate 4")


@pytest.mark.parametrize(("name", "options"), [("llama-8b", "--lora 16"), ("llama-33b", "--checkpointing --lora 16 --weights 4bit")])
def test_weights_in_4_bits_are_proposed_where_16_do_not_fit(name: str, options: str) -> None:
    changed = changes_to_fit(model_of_name(name, SampleSize(512)), Asked(batch=1, precision="bf16"), card(24), 1)
    assert next(change.options for change in changed if change.fits) == options


def test_weights_in_4_bits_are_proposed_for_inference_and_adapters() -> None:
    for asked in (Asked(infer=True, precision="bf16"), Asked(lora=8, precision="bf16", checkpointing=True)):
        (first, *_) = changes_to_fit(model_of_name("llama-8b", SampleSize(512)), asked, card(13), 1)
        assert (first.options, first.fits) == ("--weights 4bit", True)


def test_more_gpus_are_combined_with_what_else_is_needed() -> None:
    """Activations are not sharded: no number of GPUs is enough without recomputing them."""
    changed = changes_to_fit(preset("llama-70b"), Asked(batch=4, precision="bf16"), card(75), 4)
    assert changed[-1].options == "--checkpointing --shard fsdp --gpus 32"


def test_adapters_are_not_proposed_where_they_are_no_smaller() -> None:
    tiny = {"model_type": "llama", "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16, "num_hidden_layers": 2}
    one = network_of_configuration("config.json", tiny).model("config.json", SampleSize(100_000))
    assert not any("--lora" in change.options for change in changes_to_fit(one, Asked(batch=64), card(4), 64))


def test_gpus_that_are_there_are_sharded_over_before_there_are_more() -> None:
    changed = changes_to_fit(preset("llama-8b"), Asked(batch=1, precision="bf16", gpus=8), card(75), 1)
    assert [change.options for change in changed if "--shard" in change.options] == ["--shard fsdp"]


def test_generating_reads_weights_and_cache_once_for_a_token() -> None:
    found = fit_answer(preset("llama-8b"), Asked(batch=2, precision="bf16", infer=True), card())
    assert found.speed
    assert found.memory
    assert found.speed.token_seconds == (found.memory["weights"] + found.memory["cache"]) / 1e12
    assert found.memory["activations"] < 2 * 2 * 2048 * 128256  # the scores of all tokens


def test_a_batch_that_fits_on_two_gpus_is_not_sharded() -> None:
    """Data parallel training exchanges gradients alone; sharding also exchanges weights at each layer."""
    changed = changes_to_fit(preset("resnet50"), Asked(batch=256), card(15), 256)
    assert changed[-1].options == "--gpus 2 --batch 128"


def test_more_gpus_share_the_batch() -> None:
    """Eight samples on each of 512 GPUs fit too, but nobody asked for 4096."""
    changed = changes_to_fit(preset("llama-70b"), Asked(batch=8, precision="bf16"), card(75), 8)
    assert changed[-1].options == "--checkpointing --shard fsdp --gpus 32 --batch 1"


def test_batches_that_replace_one_are_equal_on_more_gpus_too() -> None:
    """Of at most 123 samples: 5 of 103 for 512, and 3 of 86 on each of two GPUs."""
    changed = changes_to_fit(preset("resnet50"), Asked(batch=512), card(11.64), 512)
    assert [changed[0].options, changed[-1].options] == ["--batch 103 --accumulate 5", "--gpus 2 --batch 86 --accumulate 3"]


def test_a_step_takes_longer_with_a_larger_batch_and_less_time_than_its_slowest() -> None:
    one = preset("resnet50")
    small, large = (fit_answer(one, Asked(batch=batch), card()).speed for batch in (8, 16))
    assert small
    assert large
    assert small.step_seconds[0] < large.step_seconds[0] < large.step_seconds[1]
    assert 0 < large.bandwidth_share < 1
    assert fit_answer(one, Asked(batch=8), card(flops={})).speed is None


def test_an_unknown_rate_of_tensor_cores_is_not_that_of_fp32() -> None:
    def found(capability: tuple[int, int]) -> object:
        return fit_answer(preset("resnet50"), Asked(batch=8, precision="fp16"), card(capability=capability, flops={"fp32": 1e13})).speed

    assert found((8, 0)) is None
    assert found((6, 1)) is not None


def test_a_gpu_without_a_precision_is_refused_whatever_its_memory() -> None:
    told = fit_answer(preset("784-128-10"), Asked(precision="bf16"), card(1000, (7, 0)))
    assert (told.fits, told.why) == (False, "it has no BF16, which came with compute capability 8.0")


@pytest.mark.parametrize(
    ("capability", "flops", "cores"),
    [
        ((6, 1), {}, ()),
        ((7, 0), {}, ("FP16",)),
        ((7, 5), {}, ()),
        ((7, 5), {"fp16": 1e13}, ("FP16",)),
        ((8, 0), {}, ("FP16", "BF16", "TF32")),
        ((9, 0), {}, ("FP16", "BF16", "TF32", "FP8")),
    ],
)
def test_tensor_cores_by_generation(capability: tuple[int, int], flops: dict[str, float], cores: tuple[str, ...]) -> None:
    assert card(capability=capability, flops=flops).tensor_core_precisions == cores


def test_the_rule_of_thumb_is_that_of_the_textbook() -> None:
    def by_rule(gib: float) -> int:
        asked, where = Asked(), card(gib)
        return gpu_document(where, asked, fit_answer(preset("lenet"), asked, where)).rule_of_thumb_parameters

    assert by_rule(6) == 752_877_568
    assert by_rule(0.1) == 0


def test_an_unknown_bandwidth_is_left_out_of_what_a_gpu_is_enough_for() -> None:
    assert "1,000 GB/s" in card_suitability(card())
    assert "GB/s" not in card_suitability(card(bandwidth=None))


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1K"),
        (999_700, "1,000K"),
        (10**6, "1M"),
        (25_557_032, "25.6M"),
        (999_499_999, "999M"),
        (999_700_000, "1,000M"),
        (10**9, "1B"),
        (6_738_415_616, "6.74B"),
        (1_234_000_000_000, "1,234B"),
    ],
)
def test_a_number_of_parameters_is_written_as_people_do(count: int, words: str) -> None:
    assert parameter_count_text(count) == words


@settings(deadline=None, max_examples=50)
@given(st.integers(min_value=0, max_value=10**16))
def test_a_number_of_parameters_is_short_and_has_no_exponent(count: int) -> None:
    assert len(parameter_count_text(count)) <= 12
    assert "e" not in parameter_count_text(count)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("50000", 50_000),
        ("50_000", 50_000),
        ("50,000", 50_000),
        ("1e6", 10**6),
        ("1.2M", 1_200_000),
        ("7B", 7 * 10**9),
        (" 6.74b", 6_740_000_000),
    ],
)
def test_a_whole_number_is_read_as_people_write_it(text: str, number: int) -> None:
    assert parse_count(text, "--samples") == number


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "1e-3", "nan", "inf", "1e99", "M", "1 000", "0x10", "9" * 50])
def test_any_other_number_is_one_sentence(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--samples: '.*' is (not a whole number|out of range)"):
        parse_count(text, "--samples")


def test_a_run_in_one_word() -> None:
    assert run_of_words("resnet50,image=64x32").model.sample == "image 3x64x32"
    with pytest.raises(UsageError, match="a requirement cannot name"):
        run_of_words("model/config.json,bf16")
    assert run_of_words("llama-7b,lora=8,nf4,bfloat16").asked == Asked(batch=1, precision="bf16", lora=8, weights="4bit")
    run = run_of_words("llama-7b,lora,bf16,batch=2,seq=512,fsdp,gpus=4,checkpointing")
    assert (run.model.name, run.model.sample) == ("llama-7b", "512 tokens")
    assert run.asked == Asked(batch=2, precision="bf16", lora=16, shard="fsdp", gpus=4, checkpointing=True)
    assert run_of_words("params=7e9,layers=32,fp16").model.parameters == 7_000_000_000


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=40))
def test_any_word_is_a_run_or_one_sentence(text: str) -> None:
    try:
        assert run_of_words(text).bytes > 0
    except UsageError as error:
        assert str(error)  # noqa: PT017 -- either outcome is right
