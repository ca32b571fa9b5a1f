"""Parts of a GPU, kits of a Jetson, and GPUs that are not NVIDIA's."""

from __future__ import annotations

import pytest

from gpudoctor.matrix import Matrix, gpu_names
from gpudoctor.matrix.tables import CUDA, GPUS, OTHER_RELEASES
from gpudoctor.matrix_files import open_matrix

from .samples import version


@pytest.fixture(scope="module")
def shipped() -> Matrix:
    return open_matrix()


@pytest.mark.parametrize(
    ("name", "capability", "gib"),
    [
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "8.0", 5),
        ("NVIDIA A100-SXM4-80GB MIG 1c.3g.40gb", "8.0", 40),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", "9.0", 10),
        ("h100 1g.20gb", "9.0", 20),
        ("GRID T4-16C", "7.5", 16),
        ("NVIDIA A40-8Q", "8.6", 8),
        ("NVIDIA A100D-80C", "8.0", 80),
        ("NVIDIA A100-4-20C", "8.0", 20),
        ("GRID V100DX-32C", "7.0", 32),
        ("GRID RTX6000P-6Q", "7.5", 6),
        ("NVIDIA RTX6000-Ada-48Q", "8.9", 48),
        ("NVIDIA H100XM-80C", "9.0", 80),
    ],
)
def test_a_part_of_a_gpu_has_its_capability_and_the_memory_of_its_name_but_no_rates(
    shipped: Matrix, name: str, capability: str, gib: float
) -> None:
    part = shipped.gpu(name)
    assert part is not None
    assert (part.name, str(part.compute_capability), part.memory_gib) == (name, capability, gib)
    numbers = (part.bandwidth_gbs, part.fp32_tflops, part.tf32_tflops, part.bf16_tflops, part.fp16_tflops)
    assert numbers == (None,) * 5
    assert "a share of the physical GPU's" in part.note


def test_every_data_center_gpu_is_found_as_its_mig_instance(shipped: Matrix) -> None:
    for product in shipped.rows(GPUS):
        if product.kind == "data-center":
            part = shipped.gpu(f"{product.name} MIG 1g.5gb")
            assert part is not None
            assert (part.compute_capability, part.memory_gib) == (product.compute_capability, 5)


@pytest.mark.parametrize("name", ["NVIDIA Foo-8Q", "GRID -8Q", "Foo MIG 1g.5gb", "NVIDIA A100-SXM4-40GB MIG", "GRID RTX-8Q", "NVIDIA 4-8Q"])
def test_a_part_of_an_unknown_gpu_is_unknown(shipped: Matrix, name: str) -> None:
    assert shipped.gpu(name) is None


@pytest.mark.parametrize(
    ("typed", "name", "capability"),
    [
        ("Orin", "Orin", "8.7"),
        ("Orin (nvgpu)", "Orin", "8.7"),
        ("jetson orin", "Orin", "8.7"),
        ("NVIDIA Thor", "NVIDIA Thor", "11.0"),
        ("Xavier", "Xavier", "7.2"),
        ("NVIDIA Tegra X1", "Jetson TX1", "5.3"),
        ("Jetson Nano", "Jetson Nano", "5.3"),
        ("Jetson AGX Orin 64GB", "Jetson AGX Orin", "8.7"),
        ("NVIDIA Jetson AGX Orin Developer Kit", "Jetson AGX Orin", "8.7"),
        ("NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super", "Jetson Orin Nano", "8.7"),
        ("Jetson TX2 NX", "Jetson TX2", "6.2"),
    ],
)
def test_a_jetson_is_found_by_module_kit_and_cuda_name(shipped: Matrix, typed: str, name: str, capability: str) -> None:
    product = shipped.gpu(typed)
    assert product is not None
    assert (product.name, str(product.compute_capability), product.kind) == (name, capability, "jetson")


@pytest.mark.parametrize(
    ("name", "vendor"),
    [
        ("MI300X", "AMD"),
        ("AMD Instinct MI250", "AMD"),
        ("Radeon RX 6800", "AMD"),
        ("RX 7900 XTX", "AMD"),
        ("gfx1100", "AMD"),
        ("Arc A770", "Intel"),
        ("Gaudi2", "Intel"),
        ("Apple M4", "Apple"),
        ("M2 Max", "Apple"),
        ("TPU v4", "Google"),
        ("H100", ""),
        ("RTX 4099", ""),
    ],
)
def test_other_vendors_gpus_are_recognised_and_similar_to_none(shipped: Matrix, name: str, vendor: str) -> None:
    assert gpu_names.other_vendor(name) == vendor
    if vendor:
        assert shipped.similar_gpu_names(name) == ()


def test_no_nvidia_gpu_is_attributed_to_another_vendor(shipped: Matrix) -> None:
    for product in shipped.rows(GPUS):
        assert not any(map(gpu_names.other_vendor, (product.name, *product.aliases)))


def test_a_multi_gpu_boards_rates_are_per_gpu(shipped: Matrix) -> None:
    for product in shipped.rows(GPUS):
        if product.bandwidth_gbs and product.memory_gib and "GPUs on a board" in product.note:
            assert product.bandwidth_gbs < 400
            assert product.memory_gib <= 16


def test_every_onnxruntime_release_has_cuda_and_code(shipped: Matrix) -> None:
    for row in shipped.rows(OTHER_RELEASES, "onnxruntime-gpu"):
        assert row.built_with_cuda is not None
        assert row.sass
    last, first = version("1.26.0"), version("1.27.0")
    held = {row.release: row.sass or () for row in shipped.releases("onnxruntime-gpu", "linux_x86_64")}
    assert "sm_60" in held[last]
    assert "sm_60" not in held[first]


def test_every_keras_for_tensorflow_requires_its_tensorflow(shipped: Matrix) -> None:
    required = {str(row.release): row.requires for row in shipped.releases("tf-keras")}
    assert required["2.16.0"] == ("tensorflow<2.17,>=2.16",)
    assert "ml-dtypes" in next(row.requires for row in shipped.releases("keras") if str(row.release) == "3.5.0")


def test_an_update_without_a_driver_has_a_note(shipped: Matrix) -> None:
    for row in shipped.rows(CUDA):
        assert row.driver_linux is not None or row.note


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("A100 1g.12gb", "A100 has no MIG profile 1g.12gb; it has 1g.5gb, 1g.10gb, "),
        ("A100-SXM4-40GB MIG 7g.80gb", "NVIDIA A100-SXM4-40GB has no MIG profile 7g.80gb; "),
        ("A30 MIG 3g.12gb", "A30 has no MIG profile 3g.12gb; it has 1g.6gb, 2g.12gb, 4g.24gb."),
        ("RTX 4090 1g.5gb", "NVIDIA GeForce RTX 4090 cannot be divided into MIG instances."),
        ("Tesla V100-SXM2-16GB MIG 1g.5gb", "Tesla V100-SXM2-16GB cannot be divided into MIG instances."),
    ],
)
def test_an_instance_that_no_gpu_has_is_told(shipped: Matrix, name: str, told: str) -> None:
    assert shipped.slice_problem(name).startswith(told)


@pytest.mark.parametrize(
    "name",
    [
        "A100 7g.80gb",
        "NVIDIA A100-SXM4-80GB MIG 1c.3g.40gb",
        "A30 1g.6gb+me",
        "H100 NVL 1g.12gb",
        "H200 1g.18gb",
        "H200 2g.35gb",
        "B200 1g.23gb",
        "GH200 480GB 3g.48gb",
        "NVIDIA A800-SXM4-40GB MIG 1g.5gb",
        "NVIDIA A40-8Q",
        "A100",
        "no such GPU 1g.5gb",
    ],
)
def test_an_instance_that_a_gpu_has_or_may_have_is_taken(shipped: Matrix, name: str) -> None:
    assert not shipped.slice_problem(name)
