"""The presets have the numbers of parameters that are published for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gpudoctor.errors import UsageError
from gpudoctor.fit.counted_models import SampleSize
from gpudoctor.fit.presets import PRESET_TABLE, PRESETS, model_of_name
from tests.fit.models import preset

PUBLISHED = {
    "784-128-10": 101_770,
    "lenet": 61_706,
    "alexnet": 61_100_840,
    "vgg16": 138_357_544,
    "resnet50": 25_557_032,
    "unet": 31_037_698,
    "vit-b": 86_567_656,
    "bert-base": 109_482_240,
    "bert-large": 335_141_888,
    "gpt2": 124_439_808,
    "gpt2-medium": 354_823_168,
    "gpt2-large": 774_030_080,
    "gpt2-xl": 1_557_611_200,
    "llama-1b": 1_235_814_400,
    "llama-3b": 3_212_749_824,
    "llama-7b": 6_738_415_616,
    "llama-8b": 8_030_261_248,
    "llama-13b": 13_015_864_320,
    "llama-33b": 32_528_943_616,
    "llama-70b": 70_553_706_496,
    "mistral-7b": 7_241_732_096,
    "qwen2.5-7b": 7_615_616_512,
    "whisper-tiny": 37_760_640,
    "whisper-base": 72_593_920,
    "whisper-small": 241_734_912,
    "whisper-medium": 763_857_920,
    "whisper-large-v3": 1_543_490_560,
    "whisper-large-v3-turbo": 808_878_080,
    "stable-diffusion": 859_520_964,
    "sdxl": 2_567_463_684,
}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_has_its_published_number_of_parameters(name: str) -> None:
    assert preset(name).parameters == PUBLISHED[name]


@pytest.mark.parametrize("name", PRESETS)
def test_a_step_costs_at_most_three_and_a_half_forward_passes_and_checkpointing_never_keeps_more(name: str) -> None:
    found = preset(name)
    assert found.forward_flops
    assert found.step_flops
    assert 2 * found.forward_flops <= found.step_flops <= 3.5 * found.forward_flops
    assert found.block_flops <= found.forward_flops
    for activations in (found.full, found.half):
        assert activations
        assert 0 < activations.checkpointed.per_sample <= activations.kept.per_sample


def sizes_in(described: Any) -> Iterator[str]:
    """Yield the names of sizes in rows: "$width"."""
    if isinstance(described, str) and described.startswith("$"):
        yield described[1:]
    for one in described.values() if isinstance(described, dict) else described if isinstance(described, list) else ():
        yield from sizes_in(one)


@pytest.mark.parametrize("part", PRESET_TABLE.parts)
def test_a_part_names_sizes_of_its_own_or_fields_of_a_configuration(part: str) -> None:
    """A size that a family does not have is 0, so a misspelt one would be too."""
    names, *rows = PRESET_TABLE.parts[part]
    assert {*sizes_in(rows)} <= {*names, *(field for family in PRESET_TABLE.families.values() for field in family.usual)}


@pytest.mark.parametrize("kind", PRESET_TABLE.families)
def test_a_family_names_fields_that_its_class_reads(kind: str) -> None:
    family = PRESET_TABLE.families[kind]
    assert {*sizes_in(family.rows), *sizes_in(list(family.sample))} <= {*family.usual} | (
        {"mlp_bias"} if family.counts == "ForCausalLM" else set()
    )


def test_the_text_that_a_diffusion_model_attends_to_has_no_gradient() -> None:
    """PyTorch's FlopCounterMode counts as many FLOPs of a step on fake tensors."""
    assert preset("stable-diffusion").step_flops == 2_469_799_198_720


@pytest.mark.parametrize(("name", "forward"), [("sdxl", 6_761_236_398_080), ("whisper-tiny", 71_082_196_992)])
def test_two_inputs_have_the_flops_of_the_published_classes(name: str, forward: int) -> None:
    """FlopCounterMode of PyTorch 2.13, with diffusers 0.42 and transformers 5.24."""
    assert model_of_name(name).forward_flops == forward


@pytest.mark.parametrize(("named", "name"), [("meta-llama/Llama-3.1-8B", "llama-8b"), ("openai-community/gpt2", "gpt2")])
def test_a_preset_is_found_by_its_name_on_the_hub(named: str, name: str) -> None:
    assert model_of_name(named, SampleSize()).name == name


@pytest.mark.parametrize(
    ("name", "sample", "says"),
    [
        ("meta-llama/Llama-9", SampleSize(), "download its config.json"),
        ("resnet5", SampleSize(), "did you mean resnet50?"),
        ("gpt2", SampleSize(tokens=1025), "at most 1024 tokens"),
        ("gpt2", SampleSize(image=(224, 224)), "takes tokens, not images"),
        ("vgg16", SampleSize(tokens=7), "takes images, not tokens"),
        ("vgg16", SampleSize(image=(16, 16)), "too small"),
        ("vit-b", SampleSize(image=(384, 384)), "224x224 only"),
        ("stable-diffusion", SampleSize(image=(512, 512)), "latents of 64x64 only"),
        ("lenet", SampleSize(image=(32, 32)), "images of 28x28 only"),
        ("llama-7b", SampleSize(tokens=1 << 60), "it takes 1 to 100,000,000"),
    ],
)
def test_a_size_that_does_not_fit_is_one_sentence(name: str, sample: SampleSize, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        model_of_name(name, sample)
