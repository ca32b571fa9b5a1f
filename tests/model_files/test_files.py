"""Models read from files that others wrote."""

from __future__ import annotations

import json
import math
import re
import zipfile
from contextlib import suppress
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.errors import UsageError
from gpudoctor.fit.counted_models import SampleSize
from gpudoctor.fit.presets import model_of_name
from gpudoctor.model_files import read_model
from gpudoctor.model_files.configuration import network_of_configuration
from gpudoctor.model_files.keras import model_of_keras

LLAMA = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 11008, "vocab_size": 32000}
QWEN = {"num_key_value_heads": 2, "hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14, "intermediate_size": 4864}
QWEN_MOE = {"hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16, "vocab_size": 151936, "num_experts": 60}
QWEN_MOE |= {"moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632}
BERT = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522}
VIT = {field: size for field, size in BERT.items() if field != "vocab_size"}
CONFIGS = [
    ({"model_type": "llama", **LLAMA}, 6_738_415_616),
    ({"model_type": "qwen2", "vocab_size": 151936, "tie_word_embeddings": True, **QWEN}, 494_032_768),
    ({"model_type": "mixtral", "num_local_experts": 8, **LLAMA, "num_key_value_heads": 8, "intermediate_size": 14336}, 46_702_792_704),
    ({"model_type": "qwen2_moe", "num_experts_per_tok": 4, **QWEN_MOE}, 14_315_784_192),
    ({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257}, 124_439_808),
    ({"model_type": "bert", "max_position_embeddings": 512, **BERT}, 109_482_240),
    ({"model_type": "vit", "id2label": dict.fromkeys(map(str, range(1000)), ""), **VIT}, 86_567_656),
]
SAVED = {"branched": 554, "words": 11882, "sequential": 101_770}
"""Trainable parameters by Keras 3.15.1, whose `Model.to_json` wrote the files."""
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3)
)


@pytest.mark.parametrize(("config", "parameters"), CONFIGS, ids=[str(config["model_type"]) for config, _ in CONFIGS])
def test_a_configuration_has_the_published_number_model(config: dict[str, Any], parameters: int) -> None:
    assert network_of_configuration("config.json", config).model("config.json", SampleSize()).parameters == parameters


@pytest.mark.parametrize("other", [None, "relu"])
def test_a_field_has_its_own_name_before_another_and_null_is_not_stated(other: str | None) -> None:
    fields = {"model_type": "gemma", "hidden_act": "gelu", **LLAMA}
    for stated in ({**fields, "hidden_activation": other}, {"hidden_activation": other, **fields}):
        assert network_of_configuration("config.json", stated).rows == network_of_configuration("config.json", fields).rows


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.sampled_from([*LLAMA, *QWEN, "n_embd", "head_dim", "hidden_act", "patch_size", "image_size"]), VALUES))
def test_a_garbled_configuration_is_counted_or_one_sentence(fields: dict[str, Any]) -> None:
    for config, _ in CONFIGS:
        with suppress(UsageError):
            assert network_of_configuration("config.json", {**config, **fields}).model("config.json", SampleSize()).parameters >= 0


def safetensors(file: Path, tensors: dict[str, list[int]]) -> Path:
    ends = list(accumulate((4 * math.prod(shape) for shape in tensors.values()), initial=0))
    described = {
        name: {"dtype": "F32", "shape": shape, "data_offsets": place}
        for (name, shape), place in zip(tensors.items(), pairwise(ends), strict=True)
    }
    return written(file, described)


def written(file: Path, header: dict[str, Any], data: bytes = b"") -> Path:
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return file


TENSOR = {"dtype": "BF16", "shape": [4, 3], "data_offsets": [0, 24]}


@pytest.mark.parametrize(
    ("other", "data", "said"),
    [
        (
            {"dtype": "BF16", "shape": [4], "data_offsets": [24, 32]},
            b"x" * 20,
            "is cut off: it has 20 of 32 bytes of weights; download it again.",
        ),
        ({"dtype": "BF16", "shape": [4], "data_offsets": [20, 28]}, b"x" * 32, "is damaged: the data of 'w' and 'v' overlap."),
        ({"dtype": "F32", "shape": [4], "data_offsets": [24, 32]}, b"x" * 32, "is damaged: 'v' has 8 bytes; its shape and type need 16."),
        ({"dtype": "F32", "shape": [4], "data_offsets": [24]}, b"x" * 32, "is damaged: the header of 'v' is wrong: "),
        ({"dtype": "F32", "shape": [4]}, b"x" * 32, "is damaged: the header of 'v' is wrong: "),
    ],
)
def test_data_that_is_not_where_the_header_says_is_one_sentence(tmp_path: Path, other: dict[str, Any], data: bytes, said: str) -> None:
    file = written(tmp_path / "model.safetensors", {"w": TENSOR, "v": other}, data)
    with pytest.raises(UsageError, match=re.escape(f"model.safetensors {said}")):
        read_model(str(file), SampleSize())


@pytest.mark.parametrize("data", [b"", b"x" * 27])
def test_a_header_is_counted_with_and_without_its_data(tmp_path: Path, data: bytes) -> None:
    packed = {"dtype": "F4", "shape": [5], "data_offsets": [24, 27]}
    file = written(tmp_path / "model.safetensors", {"__metadata__": {"format": "pt"}, "w": TENSOR, "v": packed}, data)
    assert read_model(str(file), SampleSize()).parameters == 12 + 5


def test_the_header_of_a_safetensors_file_has_parameters_and_no_activations(tmp_path: Path) -> None:
    file = safetensors(tmp_path / "model.safetensors", {"layers.0.weight": [128, 784], "layers.0.bias": [128], "bn.running_mean": [128]})
    found = read_model(str(file), SampleSize())
    assert (found.parameters, found.buffers, found.full) == (128 * 784 + 128, 4 * 128, None)
    (tmp_path / "config.json").write_text(json.dumps(CONFIGS[0][0]))
    assert read_model(str(file), SampleSize()).full is not None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", b"[]"),
        ("config.json", b"[" * 100_000),
        ("config.json", b'{"model_type": "mamba"}'),
        ("config.json", b'{"model_type": "llama", "hidden_size": 1e400}'),
        ("config.json", json.dumps({"model_type": "llama", **LLAMA, "num_hidden_layers": 10**7}).encode()),
        ("config.json", json.dumps({"model_type": "llama", **LLAMA, "num_attention_heads": 10**4}).encode()),
        ("config.json", json.dumps({"model_type": "llama", **LLAMA, "hidden_act": "zelu"}).encode()),
        ("config.json", json.dumps({"model_type": "llama", **LLAMA, "vocab_size": None}).encode()),
        ("model.safetensors", b"\xff" * 8),
        ("model.safetensors", b"\xff" + bytes(7) + b"{}"),
        ("model.safetensors", b"\x02" + bytes(7) + b"{}"),
        ("model-00001-of-00004.safetensors", b""),
        ("model.keras", b"not a zip"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=name.split(".", maxsplit=1)[0]):
        read_model(str(tmp_path / name), SampleSize())


def test_a_keras_archive_that_expands_without_end_is_cut(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.keras", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", b" " * (101 << 20))
    with pytest.raises(UsageError, match=r"model\.keras"):
        read_model(str(tmp_path / "model.keras"), SampleSize())


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"num_local_experts": 8}, "has experts (num_local_experts), which no formula counts for llama"),
        ({"model_type": "qwen3_moe", "num_experts": 8, "mlp_only_layers": [3]}, "in some of its layers only"),
        ({"model_type": "qwen2_moe", "num_experts": 8, "decoder_sparse_step": 2}, "in some of its layers only"),
        ({"model_type": "gemma3", "text_config": LLAMA}, "is of kind 'gemma3', which no formula counts"),
        ({"model_type": None}, "states no model_type"),
        ({"num_key_value_heads": 7}, "32 heads, 7 of keys, in a width of 4096"),
        ({"num_attention_heads": 33}, "33 heads"),
        ({"model_type": "whisper", "decoder_attention_heads": 7}, "7 heads, 7 of keys, in a width of 4096"),
        ({"model_type": "whisper", "decoder_attention_heads": 0}, "Expected `int` >= 1 for `decoder_attention_heads`"),
        ({"model_type": "mixtral", "num_local_experts": 0}, "Expected `int` >= 1 for `num_local_experts`"),
    ],
)
def test_what_a_configuration_has_that_is_not_counted_is_refused(fields: dict[str, Any], said: str) -> None:
    stated = {name: value for name, value in {"model_type": "llama", **LLAMA, **fields}.items() if value is not None}
    with pytest.raises(UsageError, match=re.escape(said)):
        network_of_configuration("config.json", stated)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"architectures": ["LlamaForCausalLM"]}, ()),
        ({"architectures": ["LlamaForSequenceClassification"]}, ("LlamaForSequenceClassification",)),
        ({"quantization_config": {"quant_method": "gptq", "bits": 4}}, ("quantised (gptq)",)),
    ],
)
def test_what_a_configuration_states_beside_what_is_counted_is_said(fields: dict[str, Any], said: tuple[str, ...]) -> None:
    found = network_of_configuration("config.json", {"model_type": "llama", **LLAMA, **fields}).model("config.json", SampleSize())
    assert len(found.assumptions) == len(said)
    assert all(part in sentence for part, sentence in zip(said, found.assumptions, strict=True))


def test_the_files_of_a_model_are_counted_together(tmp_path: Path) -> None:
    parts = {f"model-0000{part}-of-00002.safetensors": {f"layers.{part}.weight": [4, 8]} for part in (1, 2)}
    for part, tensors in parts.items():
        safetensors(tmp_path / part, tensors)
    index = tmp_path / "model.safetensors.index.json"
    with pytest.raises(UsageError, match=r"whose model\.safetensors\.index\.json is not there; name its config\.json"):
        read_model(str(tmp_path / min(parts)), SampleSize())
    index.write_text(json.dumps({"weight_map": {tensor: part for part, tensors in parts.items() for tensor in tensors}}))
    for named in (index, tmp_path / min(parts)):
        assert read_model(str(named), SampleSize()).parameters == 64
    (tmp_path / max(parts)).unlink()
    with pytest.raises(UsageError, match=f"whose {max(parts)} is not there"):
        read_model(str(index), SampleSize())
    for content in ("[]", "{}", '{"weight_map": 3}', '{"weight_map": {"a": 3}}'):
        index.write_text(content)
        with pytest.raises(UsageError, match="model"):
            read_model(str(index), SampleSize())


@pytest.mark.parametrize(("kind", "parameters"), [("F8_E4M3", 4096), ("BF16", 4096), ("U8", None), ("I32", None)])
def test_packed_weights_have_no_number_model(tmp_path: Path, kind: str, parameters: int | None) -> None:
    size = 4096 * int(re.sub(r"\D*(\d+).*", r"\1", kind)) // 8
    header = {
        "layers.0.weight": {"dtype": kind, "shape": [64, 64], "data_offsets": [0, size]},
        "layers.0.positions": {"dtype": "I64", "shape": [64], "data_offsets": [size, size + 512]},
    }
    file = written(tmp_path / "model.safetensors", header)
    if parameters:
        assert read_model(str(file), SampleSize()).parameters == parameters
        return
    with pytest.raises(UsageError, match=f"quantised weights .{kind}"):
        read_model(str(file), SampleSize())
    (tmp_path / "config.json").write_text(json.dumps(CONFIGS[0][0]))
    assert read_model(str(file), SampleSize()).parameters == CONFIGS[0][1]


def test_weights_beside_a_configuration_of_an_unknown_kind_are_counted_alone(tmp_path: Path) -> None:
    file = safetensors(tmp_path / "model.safetensors", {"layers.0.weight": [128, 784]})
    (tmp_path / "config.json").write_text('{"model_type": "mamba"}')
    found = read_model(str(file), SampleSize())
    assert (found.parameters, found.full) == (128 * 784, None)
    assert "is of kind 'mamba'" in found.assumptions[0]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_keras_archive_that_is_damaged_anywhere_is_read_or_refused(tmp_path: Path, method: int) -> None:
    file = tmp_path / "model.keras"
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.write(Path(__file__).parent / "keras/sequential.json", "config.json")
    whole, refused = file.read_bytes(), 0
    for place in range(0, len(whole), max(1, len(whole) // 60)):
        for damaged in (whole[:place] + b"\xff" + whole[place + 1 :], whole[:place] + whole[place + 1 :], whole[:place]):
            file.write_bytes(damaged)
            try:
                read_model(str(file), SampleSize())
            except UsageError as error:
                refused += str(error).startswith("model.keras")
    assert refused > 60


@pytest.mark.parametrize(("name", "trainable"), SAVED.items())
def test_a_keras_file_has_the_parameters_that_keras_counts(tmp_path: Path, name: str, trainable: int) -> None:
    with zipfile.ZipFile(tmp_path / "model.keras", "w") as archive:
        archive.write(Path(__file__).parent / "keras" / f"{name}.json", "config.json")
    found = read_model(str(tmp_path / "model.keras"), SampleSize())
    assert found.parameters == trainable
    assert found.full
    assert found.full.kept.per_sample > 0


def test_a_layer_that_is_not_counted_is_named() -> None:
    layers = [{"class_name": "InputLayer", "config": {"batch_shape": [None, 4, 4]}}, {"class_name": "LSTM", "config": {}}]
    with pytest.raises(UsageError, match="LSTM"):
        model_of_keras("model.keras", {"config": {"layers": layers}}, SampleSize())


@pytest.mark.parametrize(
    "text",
    [
        "params=0",
        "params=x",
        "params=7e99",
        "params=nan",
        "params=7e9,depth=3",
        "params=7e9,layers=1e9",
        "params=",
        "params=7e9,params=8e9",
        "params=1e6,layers=32,width=4096",
    ],
)
def test_sizes_that_no_model_has_are_one_sentence(text: str) -> None:
    with pytest.raises(UsageError):
        model_of_name(text, SampleSize())


@settings(deadline=None, max_examples=50)
@given(st.integers(min_value=10**6, max_value=10**13))
def test_any_number_of_parameters_is_taken_exactly(count: int) -> None:
    found = model_of_name(f"params={count}", SampleSize())
    assert (found.parameters, found.trainable) == (count, count)


def test_a_configuration_that_states_no_length_takes_any() -> None:
    shape = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 99}
    assert network_of_configuration("config.json", shape).model("config.json", SampleSize(tokens=5000)).sample == "5000 tokens"
    with pytest.raises(UsageError, match="at most 4096 tokens"):
        network_of_configuration("config.json", {**shape, "max_position_embeddings": 4096}).model("config.json", SampleSize(tokens=5000))


def test_weights_that_are_no_weights_are_refused(tmp_path: Path) -> None:
    for header in ({}, {"a": 3}, {"a": {"shape": [-1], "dtype": "F32"}}, {"a": {"shape": "x", "dtype": "F32"}}):
        with pytest.raises(UsageError):
            read_model(str(written(tmp_path / "model.safetensors", header)), SampleSize())
