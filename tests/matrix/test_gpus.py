from __future__ import annotations

from itertools import chain

import pytest

from gpudoctor.matrix import Matrix, gpu_names
from gpudoctor.matrix.machine_rows import GpuProduct
from gpudoctor.matrix.tables import CHIPS, GPUS
from tests.shipped import shared_matrix

from .samples import version

ARCHITECTURES = {
    "Fermi": ("2.0",),
    "Kepler": ("3.0", "3.2", "3.5", "3.7"),
    "Maxwell": ("5.0", "5.2", "5.3"),
    "Pascal": ("6.0", "6.1", "6.2"),
    "Volta": ("7.0", "7.2"),
    "Turing": ("7.5",),
    "Ampere": ("8.0", "8.6", "8.7"),
    "Ada Lovelace": ("8.9",),
    "Hopper": ("9.0",),
    "Blackwell": ("10.0", "10.3", "11.0", "12.0", "12.1"),
}


@pytest.fixture(scope="module")
def shipped() -> Matrix:
    return shared_matrix()


@pytest.fixture(scope="module")
def products(shipped: Matrix) -> tuple[GpuProduct, ...]:
    return shipped.rows(GPUS)


@pytest.mark.parametrize(
    ("typed", "name", "capability"),
    [
        ("Tesla K80", "Tesla K80", "3.7"),
        ("k20x", "Tesla K20Xm", "3.5"),
        ("gtx 680", "NVIDIA GeForce GTX 680", "3.0"),
        ("titan black", "NVIDIA GeForce GTX TITAN Black", "3.5"),
        ("GTX 750 Ti", "NVIDIA GeForce GTX 750 Ti", "5.0"),
        ("940mx", "NVIDIA GeForce 940MX", "5.0"),
        ("m60", "Tesla M60", "5.2"),
        ("P100", "Tesla P100-PCIE-16GB", "6.0"),
        ("GeForce GTX 1080", "NVIDIA GeForce GTX 1080", "6.1"),
        ("1060 6gb", "NVIDIA GeForce GTX 1060 6GB", "6.1"),
        ("p4000", "Quadro P4000", "6.1"),
        ("Quadro P4000", "Quadro P4000", "6.1"),
        ("titan xp", "NVIDIA TITAN Xp", "6.1"),
        ("TITAN X Pascal", "NVIDIA TITAN X (Pascal)", "6.1"),
        ("titan v", "NVIDIA TITAN V", "7.0"),
        ("Tesla V100-SXM2-16GB", "Tesla V100-SXM2-16GB", "7.0"),
        ("v100 32gb", "Tesla V100-SXM2-32GB", "7.0"),
        ("Quadro RTX 6000", "Quadro RTX 6000", "7.5"),
        ("RTX 8000", "Quadro RTX 8000", "7.5"),
        ("2080 super", "NVIDIA GeForce RTX 2080 SUPER", "7.5"),
        ("2080 super max-q", "NVIDIA GeForce RTX 2080 Super with Max-Q Design", "7.5"),
        ("gtx 1650", "NVIDIA GeForce GTX 1650", "7.5"),
        ("rtx 3060 laptop", "NVIDIA GeForce RTX 3060 Laptop GPU", "8.6"),
        ("3060 mobile", "NVIDIA GeForce RTX 3060 Laptop GPU", "8.6"),
        ("rtx 3060 12gb", "NVIDIA GeForce RTX 3060", "8.6"),
        ("rtx 3060 12g", "NVIDIA GeForce RTX 3060", "8.6"),
        ("3080 12 GB", "NVIDIA GeForce RTX 3080", "8.6"),
        ("RTX 3050 A Laptop GPU", "NVIDIA GeForce RTX 3050 A Laptop GPU", "8.9"),
        ("Quadro RTX A6000", "NVIDIA RTX A6000", "8.6"),
        ("a2000 12gb", "NVIDIA RTX A2000 12GB", "8.6"),
        ("a10g", "NVIDIA A10G", "8.6"),
        ("4060 ti 16gb", "NVIDIA GeForce RTX 4060 Ti", "8.9"),
        ("4070 ti super", "NVIDIA GeForce RTX 4070 Ti SUPER", "8.9"),
        ("RTX 6000 Ada", "NVIDIA RTX 6000 Ada Generation", "8.9"),
        ("RTX 4000 Ada laptop", "NVIDIA RTX 4000 Ada Generation Laptop GPU", "8.9"),
        ("h100 nvl", "NVIDIA H100 NVL", "9.0"),
        ("gh200", "NVIDIA GH200 480GB", "9.0"),
        ("b200", "NVIDIA B200", "10.0"),
        ("b300", "NVIDIA B300 SXM6 AC", "10.3"),
        ("5070 ti laptop", "NVIDIA GeForce RTX 5070 Ti Laptop GPU", "12.0"),
        ("rtx pro 6000", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "12.0"),
        ("rtx pro 6000 max-q", "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "12.0"),
        ("dgx spark", "NVIDIA GB10", "12.1"),
        ("jetson orin nano", "Jetson Orin Nano", "8.7"),
        ("Jetson TX2", "Jetson TX2", "6.2"),
        ("jetson thor", "Jetson AGX Thor", "11.0"),
    ],
)
def test_what_people_type(shipped: Matrix, typed: str, name: str, capability: str) -> None:
    product = shipped.gpu(typed)
    assert product is not None
    assert (product.name, str(product.compute_capability)) == (name, capability)


@pytest.mark.parametrize(
    "typed",
    [
        "RTX 6000",
        "rtx 4000",
        "6000",
        "titan x",
        "titan",
        "jetson",
        "laptop",
        "rtx",
        "super",
        "gt 730",
        "gtx 860m",
        "2070 laptop",
    ],
)
def test_ambiguous_or_unknown_names(shipped: Matrix, typed: str) -> None:
    assert shipped.gpu(typed) is None


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("RTX 6000", "Quadro RTX 6000"),
        ("RTX 6000", "NVIDIA RTX 6000 Ada Generation"),
        ("titan x", "NVIDIA TITAN X (Pascal)"),
        ("2070 laptop", "NVIDIA GeForce RTX 2070"),
        ("rtx 5091", "NVIDIA GeForce RTX 5090"),
    ],
)
def test_near_names(shipped: Matrix, typed: str, near: str) -> None:
    assert near in shipped.similar_gpu_names(typed)


def test_no_two_products_share_a_name(products: tuple[GpuProduct, ...]) -> None:
    keys = list(chain.from_iterable(gpu_names.product_keys(product) for product in products))
    assert len(keys) == len(set(keys))


def test_variants_are_separate_products(shipped: Matrix) -> None:
    variants = ["3070", "3070 ti", "3070 laptop", "3070 ti laptop", "2070", "2070 super", "2070 max-q", "4080", "4080 super", "4080 laptop"]
    assert len({product.name for product in map(shipped.gpu, variants) if product}) == len(variants)


def test_common_gpus_are_in_the_table(products: tuple[GpuProduct, ...]) -> None:
    kinds = [product.kind for product in products]
    for kind, least in {"data-center": 60, "workstation": 60, "geforce": 80, "laptop": 120, "jetson": 10}.items():
        assert kinds.count(kind) >= least, kind
    assert sum(product.bf16_tflops is not None or product.fp16_tflops is not None for product in products) >= 90


def test_a_capability_matches_its_architecture(products: tuple[GpuProduct, ...]) -> None:
    for product in products:
        assert str(product.compute_capability) in ARCHITECTURES[product.architecture], product.name


def test_peaks_are_plausible(products: tuple[GpuProduct, ...]) -> None:
    for product in products:
        plain, tf32, bf16, fp16 = product.fp32_tflops, product.tf32_tflops, product.bf16_tflops, product.fp16_tflops
        assert (tf32 is None) == (bf16 is None), product.name
        assert bf16 is None or product.compute_capability >= version("8.0"), product.name
        if bf16 is not None:
            assert plain is not None, product.name
            assert tf32 is not None, product.name
            assert 0.99 * plain <= tf32 < bf16, product.name
            assert fp16 == bf16, product.name
            assert bf16 / tf32 == pytest.approx(2, rel=0.02), product.name
        if fp16 is not None:
            most = 40 if product.compute_capability.major == 10 else 17
            assert plain is not None, product.name
            assert plain < fp16 < most * plain, product.name
        assert product.bandwidth_gbs is None or 10 <= product.bandwidth_gbs <= 8000, product.name
        assert product.memory_gib is None or 0.5 <= product.memory_gib <= 288, product.name


def test_laptops_have_no_peaks(products: tuple[GpuProduct, ...]) -> None:
    for product in products:
        if product.kind == "laptop":
            assert (product.bandwidth_gbs, product.fp32_tflops, product.fp16_tflops) == (None, None, None), product.name


@pytest.mark.parametrize(
    ("name", "bandwidth", "peaks"),
    [
        ("NVIDIA A100-SXM4-80GB", 2039, (19.5, 156, 312, 312)),
        ("NVIDIA H100 80GB HBM3", 3350, (67, 494.5, 989.5, 989.5)),
        ("NVIDIA B200", 8000, (75, 1125, 2250, 2250)),
        ("NVIDIA B300 SXM6 AC", 8000, (75, 1125, 2250, 2250)),
        ("NVIDIA RTX 2000 Ada Generation", 224, (12, 24, 48, 48)),
        ("Tesla K80", 241, (4.37, None, None, None)),
        ("Tesla V100-SXM2-16GB", 900, (15.7, None, None, 125)),
        ("Tesla P100-SXM2-16GB", 720, (10.6, None, None, 21.2)),
        ("NVIDIA GeForce RTX 4090", 1008, (82.6, 82.6, 165.2, 165.2)),
        ("NVIDIA GeForce RTX 5090", 1792, (104.8, 104.8, 209.5, 209.5)),
        ("NVIDIA RTX A6000", 768, (38.7, 77.4, 154.8, 154.8)),
        ("NVIDIA GeForce RTX 2080 Ti", 616, (13.4, None, None, 53.8)),
    ],
)
def test_peaks_of_the_datasheets(shipped: Matrix, name: str, bandwidth: float, peaks: tuple[float | None, ...]) -> None:
    product = shipped.gpu(name)
    assert product is not None
    assert product.bandwidth_gbs == bandwidth
    assert (product.fp32_tflops, product.tf32_tflops, product.bf16_tflops, product.fp16_tflops) == peaks


@pytest.mark.parametrize(
    ("name", "allowed"),
    [("a100", True), ("l4", True), ("jetson orin nano", True), ("4090", False), ("3060 laptop", False), ("rtx a6000", None)],
)
def test_gpus_with_forward_compatibility(shipped: Matrix, name: str, allowed: bool | None) -> None:
    product = shipped.gpu(name)
    assert product is not None
    assert product.forward_compatible is allowed


def test_every_products_capability_is_a_chips(shipped: Matrix, products: tuple[GpuProduct, ...]) -> None:
    of_chips = {row.compute_capability for row in shipped.rows(CHIPS)}
    assert {product.compute_capability for product in products if product.kind != "jetson"} <= of_chips


@pytest.mark.parametrize(
    ("device", "architecture", "capability"),
    [
        ("102d", "Kepler", "3.7"),
        ("1287", "Kepler", "3.5"),
        ("13c0", "Maxwell", "5.2"),
        ("1d01", "Pascal", "6.1"),
        ("1df6", "Volta", "7.0"),
        ("2822", "Ada Lovelace", "8.9"),
        ("25a2", "Ampere", "8.6"),
        ("2901", "Blackwell", "10.0"),
        ("3182", "Blackwell", "10.3"),
        ("2b00", "Blackwell", "11.0"),
        ("2e12", "Blackwell", "12.1"),
    ],
)
def test_chips(shipped: Matrix, device: str, architecture: str, capability: str) -> None:
    chip = shipped.chip(device)
    assert chip is not None
    assert (chip.architecture, str(chip.compute_capability)) == (architecture, capability)


def test_an_older_chip_between_two_fermi_ranges_is_not_fermi(shipped: Matrix) -> None:
    assert shipped.chip("0ca0") is None


@pytest.mark.parametrize(
    ("typed", "capability"),
    [
        ("A800", "8.0"),
        ("RTX 4050", "8.9"),
        ("RTX 3050 Ti", "8.6"),
        ("T2000", "7.5"),
        ("T1200", "7.5"),
        ("DGX A100", "8.0"),
        ("HGX H200", "9.0"),
        ("GTX 1650 Mobile", "7.5"),
        ("RTX 2070 laptop", "7.5"),
        ("Quadro P2000 Mobile", "6.1"),
        ("Quadro M1200 Mobile", "5.0"),
        ("RTX 3080 LHR", "8.6"),
        ("GeForce RTX 3060 Ti Lite Hash Rate", "8.6"),
        ("RTX 4090 48GB", "8.9"),
        ("A800 40GB PCIe", "8.0"),
        ("Quadro RTX 3000 Mobile Refresh", "7.5"),
        ("GeForce RTX 2080 Rev. A", "7.5"),
    ],
)
def test_the_first_words_of_names_do_if_all_such_gpus_have_one_compute_capability(shipped: Matrix, typed: str, capability: str) -> None:
    assert shipped.gpu(typed) is None
    assert {str(product.compute_capability) for product in shipped.gpu_family(typed)} == {capability}


@pytest.mark.parametrize(
    "typed",
    [
        "RTX 5000",
        "RTX 6000",
        "RTX 4000",
        "TITAN",
        "RTX",
        "Tesla",
        "RTX 4090 Mobile Ti",
        "RTX 405",
        "DGX",
        "RTX 3090 Mobile",
        "RTX 6000 48GB",
        "24GB",
        "A100 Laptop",
        "",
    ],
)
def test_words_that_begin_different_gpus_name_none(shipped: Matrix, typed: str) -> None:
    assert shipped.gpu_family(typed) == ()
