"""GPUs that only sentences name."""

from __future__ import annotations

import pytest

from gpudoctor.derive import MachineView
from gpudoctor.derive.summary import machine_summary
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Missing
from tests.read.seeing import found, gpus, read

ERROR = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"


def named(sentence: str, matrix: Matrix) -> str | None:
    (gpu,) = gpus(ERROR + sentence, matrix)
    return None if isinstance(gpu.name, Missing) else gpu.name


@pytest.mark.parametrize(
    ("sentence", "name", "capability"),
    [
        ("It happens on my RTX 5090.", "RTX 5090", "12.0"),
        ("I have a GTX 1080 Ti with the latest driver", "GTX 1080 Ti", "6.1"),
        ("We run this with 8xH100 nodes", "H100", "9.0"),
        ("I am using a Tesla K80 on Azure", "Tesla K80", "3.7"),
        ("my 5090 arrived yesterday", "5090", "12.0"),
        ("running in docker on an NVIDIA A100", "A100", "8.0"),
        ("I run it on a Jetson Orin Nano", "Jetson Orin Nano", "8.7"),
        ("\u670d\u52a1\u5668\u4e0a\u662f\u4e24\u5f20RTX 3090\u663e\u5361", "RTX 3090", "8.6"),
        ("\u0443 \u043c\u0435\u043d\u044f GTX 1650", "GTX 1650", "7.5"),
        ("tengo una RTX 4060", "RTX 4060", "8.9"),
        ("I upgraded our server with an RTX 2080 to Ubuntu 24.04", "RTX 2080", "7.5"),
        ("My notebook of Kaggle has NvidiaTeslaP100", "P100", "6.0"),
        ("  acceleratorType: nvidia-tesla-t4", "t4", "7.5"),
        ("cloud.google.com/gke-accelerator: nvidia-h100-80gb", "h100", "9.0"),
    ],
)
def test_a_gpu_named_in_a_sentence_fills_the_gap(sentence: str, name: str, capability: str, matrix: Matrix) -> None:
    (gpu,) = gpus(ERROR + sentence, matrix)
    assert (gpu.name, gpu.compute_capability) == (name, capability)


@pytest.mark.parametrize(
    "sentence",
    [
        "It works with my RTX 4090.",
        "I have an RTX 4090.\nI have an RTX 5090.",
        "Does torch support the RTX 5090?",
        "This needs at least an RTX 3090 with 24 GB",
        "set TORCH_CUDA_ARCH_LIST=8.0 for A100-like cards",
        "using model-H100-v2.bin with RTX 99999",
        "the images nvidia-tesla-t4.qcow2 and my-nvidia-tesla-p100",
    ],
)
def test_sentences_that_compare_or_name_others_gpus_state_none(sentence: str, matrix: Matrix) -> None:
    assert named(sentence, matrix) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Everything worked on my Tesla P40 before the update.", "Tesla P40"),
        ("I have a Quadro M2000M in this laptop.", "Quadro M2000M"),
        ("It works on my RTX 3090.", None),
    ],
)
def test_the_only_gpu_of_a_text_may_be_named_by_what_it_did_before(text: str, name: str | None, matrix: Matrix) -> None:
    assert named(text, matrix) == name


def test_a_sentence_contradicts_no_listing(matrix: Matrix) -> None:
    (gpu,) = gpus("GPU 0: Tesla T4 (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)\nOn my RTX 5090 it fails.\n", matrix)
    assert gpu.name == "Tesla T4"


def test_versions_and_a_gpu_in_prose_convict(matrix: Matrix) -> None:
    text = "On my RTX 5090 training fails.\nPyTorch version: 2.5.1+cu124\nCUDA used to build PyTorch: 12.4\n"
    assert found(text, matrix) == ["gpu-too-new-for-build"]
    assert found(text.replace("5090", "4090"), matrix) == []


def test_a_text_that_names_no_gpu_counts_none(matrix: Matrix) -> None:
    def counted(text: str) -> object:
        return machine_summary(MachineView(read(text, matrix), matrix, Policy(level=None))).gpus

    assert counted(ERROR) is None
    models = counted(ERROR + "I have an RTX 4090.")
    assert isinstance(models, tuple)
    assert [(model.model, model.count) for model in models] == [("RTX 4090", 1)]


def test_a_sentence_completes_a_name_that_was_cut(matrix: Matrix) -> None:
    row = "|   0  NVIDIA GeForce ...  Off  | 00000000:01:00.0  On |                  N/A |\n| 30%   51C    P0   113W / 370W |    644MiB / 24265MiB |      3%      Default |\n"
    (gpu,) = gpus(f"{row}This is my RTX 3090.\n", matrix)
    assert (gpu.name, gpu.compute_capability) == ("NVIDIA GeForce ...", "8.6")
    for sentence in ("This is our Tesla T4.", "I have an RTX 3090.\nI have an RTX 4090.", "nothing"):
        assert isinstance(gpus(row + sentence, matrix)[0].compute_capability, Missing)


def test_gpus_that_one_line_lists_are_several(matrix: Matrix) -> None:
    listed = gpus("GPU models and configuration: GPU 0: NVIDIA GeForce RTX 3060, GPU 1: NVIDIA GeForce GTX 1060, GPU 2: Tesla P4\n", matrix)
    assert [gpu.name for gpu in listed] == ["NVIDIA GeForce RTX 3060", "NVIDIA GeForce GTX 1060", "Tesla P4"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("It works on 4090 but fails on 5090", "5090"),
        ("RTX 3090 fine, RTX 5090 fails", "RTX 5090"),
        ("I upgraded from a GTX 1080 to an RTX 4090", "RTX 4090"),
        ("It worked on my RTX 3090. The RTX 5090 fails.", "RTX 5090"),
        ("My colleague's RTX 3080 trains, whereas the RTX 5080 crashes.", "RTX 5080"),
        ("I have an RTX 4090 and an RTX 5090.\nOnly the 5090 fails.", "5090"),
        ("The A100 is ok.\nOn the H100 we get errors.", "H100"),
        ("Works on my GTX 1080 Ti.\nI replaced it with an RTX 5070 Ti.", "RTX 5070 Ti"),
        ("Same on an A100 and on an H100", None),
        ("Both the RTX 3090 and the RTX 4090 fail", None),
    ],
)
def test_of_gpus_that_are_compared_the_one_that_fails_or_is_in_use_counts(text: str, name: str | None, matrix: Matrix) -> None:
    assert named(text, matrix) == name
