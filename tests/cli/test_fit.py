"""`gpudoctor fit`: the answer for GPUs of the tables, of a report and of this machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.command import document, environment, run, sentence
from tests.machines.store import RECORDED
from tests.seams import Cuda, Nvml, environ_with

MEASURED = "gpu-at-its-speed"


@pytest.fixture
def report(tmp_path: Path) -> str:
    file = tmp_path / "report.json"
    file.write_bytes(RECORDED.snapshot(MEASURED))
    return str(file)


def test_a_model_that_fits_is_answered_with_its_largest_batch_and_speed() -> None:
    ended = run("fit", "vgg16", "--gpu", "RTX 4090", "--format", "json")
    said = document("fit", ended.stdout)
    (gpu,) = said["gpus"]
    assert (ended.returncode, said["exit_code"], gpu["fits"], gpu["changes"]) == (0, 0, True, [])
    assert said["model"]["parameters"] == 138_357_544
    assert sum(gpu["memory"].values()) == gpu["needed_bytes"] <= gpu["available_bytes"]
    assert gpu["peak"] == "during backward"
    assert gpu["batch"] == gpu["largest_batch"] > 100
    assert 0 < gpu["speed"]["step_seconds"][0] < gpu["speed"]["step_seconds"][1]


def test_a_model_that_does_not_fit_is_answered_with_what_is_enough_and_where_it_fits() -> None:
    ended = run("fit", "llama-8b", "--precision", "bf16", "--gpu", "4090", "--format", "json")
    said = document("fit", ended.stdout)
    (gpu,) = said["gpus"]
    assert (ended.returncode, gpu["largest_batch"], gpu["fits"]) == (1, 0, False)
    first = gpu["changes"][0]
    assert first["fits"]
    again = document(
        "fit", run("fit", "llama-8b", "--precision", "bf16", *first["options"].split(), "--gpu", "4090", "--format", "json").stdout
    )
    assert again["gpus"][0]["fits"]
    assert "NVIDIA B200" in said["fits_on"]
    assert "NVIDIA GeForce RTX 4090" not in said["fits_on"]


def test_without_a_gpu_the_memory_is_told_by_part() -> None:
    ended = run("fit", "vgg16", "--batch", "4", "--format", "json")
    said = document("fit", ended.stdout)
    assert (ended.returncode, said["gpus"], said["needs"]["batch"]) == (3, [], 4)
    assert sum(said["needs"]["memory"].values()) == said["needs"]["needed_bytes"] > 1 << 30
    assert "Memory at batch 4" in run("fit", "vgg16", "--batch", "4").stdout.decode()


def test_a_folder_or_file_with_the_name_of_a_preset_is_not_in_its_way(tmp_path: Path) -> None:
    (tmp_path / "unet").mkdir()
    (tmp_path / "lenet").write_bytes(b"weights")
    for name in ("unet", "lenet"):
        assert document("fit", run("fit", name, "--gpu", "T4", "--format", "json", cwd=tmp_path).stdout)["model"]["name"] == name
    (tmp_path / "unet" / "config.json").write_text('{"model_type": "gpt2"}')
    assert document("fit", run("fit", "unet", "--gpu", "T4", "--format", "json", cwd=tmp_path).stdout)["model"]["name"] == "config.json"


def test_a_card_that_is_sold_with_several_sizes_takes_the_one_in_its_name() -> None:
    said = document("fit", run("fit", "resnet50", "--gpu", "RTX 3060 12GB", "--format", "json").stdout)
    assert said["gpus"][0]["total_bytes"] == 12 << 30
    assert "state it, as in --gpu 'RTX 3060 8GB'" in sentence(run("fit", "resnet50", "--gpu", "RTX 3060").stderr)


def test_the_rule_of_thumb_is_shown_beside_what_is_counted() -> None:
    text = run("fit", "784-128-10", "--gpu", "GTX 1060 6GB", "--rule-of-thumb").stdout.decode()
    assert "Rule of thumb: 752,877,568 parameters" in text
    assert "Counted, before activations: 259,860,268" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_text_fits_eighty_columns_for_several_gpus() -> None:
    ended = run("fit", "params=7e9", "--precision", "bf16", "--gpu", "H100", "--gpu", "GTX 1060 6GB", "--gpu", "V100")
    assert ended.returncode == 1
    assert all(len(line) <= 80 for line in ended.stdout.decode().splitlines())
    assert "Tesla V100-SXM2-16GB: it has no BF16" in " ".join(ended.stdout.decode().split())


def test_measured_rates_and_free_memory_come_from_a_report(report: str) -> None:
    said = document("fit", run("fit", "resnet50", "--report", report, "--samples", "1e6", "--price", "2", "--format", "json").stdout)
    (gpu,) = said["gpus"]
    assert gpu["observed"]
    assert gpu["speed"]["measured"]
    assert gpu["speed"]["transfer_seconds"] > 0
    assert gpu["speed"]["transfer_basis"] == "PCIe 4.0 x16"
    assert gpu["speed"]["cost"] == pytest.approx([2 * hours for hours in gpu["speed"]["hours"]])


def test_this_machine_is_asked_by_default(tmp_path: Path) -> None:
    seen = environ_with(Nvml(gpus=1), Cuda(gpus=1), directory=tmp_path, base=environment())
    said = document("fit", run("fit", "resnet50", "--format", "json", env=seen).stdout)
    assert said["gpus"][0]["observed"]


def test_a_machine_without_a_gpu_is_unknown_and_told_where_the_run_fits() -> None:
    ended = run("fit", "resnet50", "--batch", "64", "--format", "json")
    said = document("fit", ended.stdout)
    assert (ended.returncode, said["exit_code"], said["gpus"]) == (3, 3, [])
    assert "NVIDIA GeForce RTX 4090" in said["fits_on"]
    assert "Name one, as in --gpu 'RTX 4090'." in " ".join(run("fit", "resnet50").stdout.decode().split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("resnet50",), "so it is counted in BF16"),
        (("llama-1b",), "save their inputs, weights and transposed weights in FP8"),
        (("llama-1b", "--lora", "8"), "FP8 saves no memory here"),
        (("llama-1b", "--infer"), "with keys and values, is in BF16"),
    ],
)
def test_how_fp8_is_counted_is_said(words: tuple[str, ...], said: str) -> None:
    text = " ".join(run("fit", *words, "--precision", "fp8", "--gpu", "H100").stdout.decode().split())
    assert said in text
    assert "exact" not in text


def test_adapters_in_fp8_are_told_of_4_bits_in_another_precision() -> None:
    ended = run("fit", "llama-8b", "--lora", "16", "--precision", "fp8", "--gpu", "RTX 4090")
    assert "enough saves 32.01 GiB --checkpointing --precision bf16 --weights 4bit" in " ".join(ended.stdout.decode().split())


def test_a_run_that_no_option_makes_fit_is_told_so() -> None:
    ended = run("fit", "llama-1b", "--seq", "90000000", "--batch", "1", "--gpu", "H100")
    assert ended.returncode == 1
    assert "No option is enough. Shorten the sequences (--seq), or take a smaller model." in " ".join(ended.stdout.decode().split())


def test_a_gpu_without_fp8_is_refused_and_the_memory_of_the_other_is_shown() -> None:
    text = " ".join(run("fit", "llama-1b", "--precision", "fp8", "--batch", "1", "--gpu", "A100", "--gpu", "H100").stdout.decode().split())
    assert "it has no FP8 tensor cores, which came with compute capability 8.9" in text
    assert "Memory at batch 1 on NVIDIA H100" in text


def test_weights_without_a_configuration_are_unknown(tmp_path: Path) -> None:
    header = json.dumps({"layers.0.weight": {"dtype": "F32", "shape": [4096, 4096], "data_offsets": [0, 4 << 24]}}).encode()
    file = tmp_path / "model.safetensors"
    file.write_bytes(len(header).to_bytes(8, "little") + header)
    assert run("fit", str(file), "--gpu", "4090").returncode == 3


BUILDER = """
import jax.numpy as jnp

def loss(params, batch):
    return jnp.square(jnp.tanh(batch @ params)).mean()

def build():
    return loss, jnp.zeros((1000, 2000)), jnp.zeros((4, 1000))
"""


@pytest.mark.index
def test_a_model_of_jax_is_counted_with_the_checkpoints_in_its_code(tmp_path: Path, framework_python: Callable[[str], Path]) -> None:
    (tmp_path / "train.py").write_text(BUILDER)
    ended = run("fit", "train:build", "--python", str(framework_python("jax")), "--gpu", "4090", "--checkpointing", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    text = " ".join(ended.stdout.decode().split())
    assert "--checkpointing adds none" in text
    assert "of what autodiff saves" in text


@pytest.mark.index
def test_jax_has_the_share_of_memory_that_its_variables_leave(tmp_path: Path, framework_python: Callable[[str], Path]) -> None:
    """Its pool is 75 % of the memory, and 1 GB of CUDA's own is beside it: https://docs.jax.dev/en/latest/gpu_memory_allocation.html."""
    (tmp_path / "train.py").write_text(BUILDER)
    words = ("fit", "train:build", "--python", str(framework_python("jax")), "--gpu", "4090", "--format", "json")
    usable = {}
    for share in ("", "0.95"):
        ended = run(*words, cwd=tmp_path, env={**environment(), "XLA_CLIENT_MEM_FRACTION": share})
        said = document("fit", ended.stdout)
        usable[share] = said["gpus"][0]["available_bytes"] / (24 << 30)
        assert any("takes at most 75% of a GPU's memory" in note for note in said["notes"]) is not bool(share)
    assert usable[""] == pytest.approx(0.97 * 0.75 + 1e9 / (24 << 30), abs=0.001)
    assert usable["0.95"] == pytest.approx(0.97 * 0.95 + 1e9 / (24 << 30), abs=0.001)


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "resnet50", "--gpu", "RTX 9999"),
        ("fit", "resnet50", "--gpu", "RTX 4090 x2", "--gpu", "H100"),
        ("fit", "checkpoint.pt", "--gpu", "4090"),
        ("fit", "llama-7b.Q4_K_M.gguf", "--gpu", "4090"),
        ("fit", "our-model-3b", "--gpu", "4090"),
        ("fit", "resnet50", "--gpu", "4090,3090"),
        ("fit", "resnet50", "--batch", "many", "--gpu", "4090"),
        ("fit", "resnet50", "--samples", "1e-3", "--gpu", "4090"),
        ("fit", "resnet50", "--image", "224", "--gpu", "4090"),
        ("fit", "/gone/config.json", "--gpu", "4090"),
        ("fit", ".", "--gpu", "4090"),
        ("fit", "llama-8b", "--seq", "0", "--gpu", "4090"),
        ("fit", "resnet50", "--price", "2", "--gpu", "4090"),
        ("fit", "resnet50", "--price", "nan", "--samples", "9", "--gpu", "4090"),
        ("fit", "train.py", "--gpu", "4090"),
        ("fit", "llama-8b", "--weights", "4bit", "--gpu", "4090"),
        ("fit", "llama-8b", "--weights", "3bit", "--lora", "8", "--gpu", "4090"),
        ("fit", "llama-8b", "--weights", "ddp", "--lora", "8", "--gpu", "4090"),
        ("fit", "llama-8b", "--accumulate", "0", "--gpu", "4090"),
        ("check", "--no-smoke", "--require", "fit=llama-7b,depth=3"),
    ],
)
def test_bad_input_is_one_sentence(words: tuple[str, ...]) -> None:
    ended = run(*words)
    assert ended.returncode == 2
    sentence(ended.stderr.splitlines(keepends=True)[-1])


@pytest.mark.parametrize(
    "words",
    [
        ("--gpu", "2x RTX 4090"),
        ("--gpu", "RTX 4090 x2"),
        ("--gpu", "RTX 4090", "--gpu", "RTX 4090"),
        ("--gpu", "8xRTX 4090", "--gpus", "2"),
    ],
)
def test_a_gpu_that_is_named_twice_is_two_gpus_in_one_run(words: tuple[str, ...]) -> None:
    """--gpus overrides the number: a proposed change can be added to the command."""
    found = document("fit", run("fit", "resnet50", *words, "--format", "json").stdout)
    assert (len(found["gpus"]), found["run"]["gpus"]) == (1, 2)


@pytest.mark.parametrize(("wanted", "met"), [("fit=resnet50,bf16,batch=64", True), ("fit=llama-8b,fp32", False)])
def test_a_check_can_require_that_a_run_fits(report: str, wanted: str, met: bool) -> None:
    read = {"schema": "gpudoctor.report/1", "policy": {"require": [wanted]}, "snapshot": json.loads(RECORDED.snapshot(MEASURED))}
    Path(report).write_text(json.dumps(read))
    again = document("report", run("diagnose", report, "--format", "json").stdout)
    unmet = [one for one in again["findings"] if one["code"] == "GD602"]
    assert bool(unmet) is not met
    if unmet:
        assert "GiB needed" in unmet[0]["message"]


@pytest.mark.parametrize(
    ("stated", "precision", "is_said"),
    [
        ({"torch_dtype": "bfloat16"}, "bf16", True),
        ({"dtype": "bfloat16", "torch_dtype": "float32"}, "fp32", True),
        ({"dtype": "bfloat16"}, "bf16-true", False),
        ({"dtype": "float32"}, "bf16", False),
        ({"dtype": 16}, "bf16", False),
        ({}, "bf16", False),
    ],
)
def test_weights_that_are_loaded_in_bf16_are_told_of(tmp_path: Path, stated: dict[str, object], precision: str, *, is_said: bool) -> None:
    """In from_pretrained of transformers 5 dtype is "auto"."""
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", **stated}))
    ended = run("fit", "config.json", "--precision", precision, "--gpu", "4090", cwd=tmp_path)
    assert ("config.json states bfloat16" in " ".join(ended.stdout.decode().split())) is is_said
