"""GPUs as fit needs them."""

from __future__ import annotations

import json

import msgspec
import pytest

from gpudoctor.derive import MachineView, cards
from gpudoctor.findings import Policy
from gpudoctor.matrix.tables import GPUS
from gpudoctor.snapshot import Cause, Copy, MemoryRate, Missing, Product, Smoke, Speed
from tests.builders import address
from tests.cli.command import document, run
from tests.diagnose.rules.asking import with_gpus
from tests.machines.store import RECORDED, recorded
from tests.shipped import shared_matrix

MATRIX = shared_matrix()
UNKNOWN = Missing(Cause.UNSUPPORTED, "no answer")
MEMORY = {"memory_free": 1 << 34, "memory_total": 1 << 34}


def test_every_gpu_of_the_table_with_known_memory_has_a_card_and_a_line() -> None:
    rows = MATRIX.rows(GPUS)
    for row in rows:
        card = cards.published_card(row)
        assert (card is None) == (row.memory_gib is None)
        if card is not None:
            assert 0 < card.available < card.total
            assert not card.observed
            assert len(cards.card_suitability(card)) < 200
    listed = cards.supported_cards(MATRIX)
    assert [card.total for card in listed] == sorted(card.total for card in listed)
    assert len(listed) > 80
    assert all(card.bandwidth and card.capability and card.capability >= (7, 5) for card in listed)  # driver 590 dropped what is older
    assert not {card.name for card in listed} & {row.name for row in rows if row.kind == "jetson"}


def test_a_part_of_a_gpu_has_its_own_memory_and_no_speed() -> None:
    part = MATRIX.gpu("NVIDIA A100-SXM4-40GB MIG 1g.5gb")
    card = part and cards.published_card(part)
    assert card
    assert (card.total, card.flops, card.note.startswith("MIG instance")) == (5 << 30, {}, True)


def test_memory_that_is_shared_with_the_cpu_is_noted() -> None:
    for row in MATRIX.rows(GPUS):
        card = cards.published_card(msgspec.structs.replace(row, memory_gib=8.0))
        assert card
        if row.kind == "jetson" or row.name == "NVIDIA GB10":
            assert "memory is shared with the CPU" in card.note


def test_an_observed_gpu_has_its_free_memory_and_measured_rates() -> None:
    (gpu,) = MachineView(recorded("gpu-at-its-speed"), MATRIX, Policy()).gpus
    card = cards.observed_card(gpu)
    assert card is not None
    assert (card.observed, card.measured, card.host_basis) == (True, True, "PCIe 4.0 x16")
    assert (card.bandwidth, card.flops["fp32"]) == (1.75e12, 18.5e12)


def test_a_gpu_that_was_only_looked_at_has_published_rates_and_those_of_its_slot() -> None:
    names = [
        name
        for name in RECORDED.names
        if b'"link_generation_max":4' in RECORDED.snapshot(name) and b'"memory_free":' in RECORDED.snapshot(name)
    ]
    found = [card for gpu in MachineView(recorded(names[0]), MATRIX, Policy()).gpus if (card := cards.observed_card(gpu))]
    assert found
    assert all(not card.measured and card.host_basis.startswith("PCIe 4.0 x") and (card.host_rate or 0) > 1e9 for card in found)


def test_the_table_shows_what_a_gpu_is_enough_for() -> None:
    said = document("matrix", run("matrix", "gpu", "4090", "--format", "json").stdout)
    assert said["support"]["suitability"].startswith("FP16, BF16, TF32 and FP8 tensor cores, 1,008 GB/s")
    assert json.dumps(said["support"]["suitability"])[1:-1] in " ".join(run("matrix", "gpu", "4090").stdout.decode().split())


@pytest.mark.parametrize("gpus", [1, 2, 3])
def test_one_gpu_of_several_is_named_with_its_number(gpus: int) -> None:
    found = [cards.observed_card(gpu) for gpu in MachineView(with_gpus(*(MEMORY for _ in range(gpus))), MATRIX, Policy()).gpus]
    names = [card.name for card in found if card]
    assert len(set(names)) == gpus
    assert [f", GPU {number} (" in name for number, name in enumerate(names)] == [gpus > 1] * gpus


@pytest.mark.parametrize(("generation", "gigabytes"), [(1, 4.0), (2, 8.0), (3, 15.75), (4, 31.5), (5, 63.0)])
def test_a_slot_of_16_lanes_copies_at_the_rate_of_its_generation(generation: int, gigabytes: float) -> None:
    """https://hpc-notes.pages.dev/reference/pcie has the rates."""
    nvml = {"memory_free": 1 << 34, "memory_total": 1 << 34, "link_generation_max": generation, "link_width": 16}
    (gpu,) = MachineView(with_gpus(nvml), MATRIX, Policy()).gpus
    card = cards.observed_card(gpu)
    assert card is not None
    assert card.host_rate == pytest.approx(gigabytes * 1e9, rel=0.002)
    assert card.host_basis == f"PCIe {generation}.0 x16"


def measured(number: int, rate: float) -> Smoke:
    """Return what a check at level full measured on one GPU; every figure follows from the rate."""
    device, here = f"GPU:{number}", address(number)
    return Smoke(
        framework="torch",
        speeds=(Speed(device, "dense", 64, rate, 10.0, here), Speed(device, "dense", 1024, rate, 0.0, here)),
        copies=(
            Copy(device, "to", False, 1, rate, here),
            Copy(device, "to", True, 1, 2 * rate, here),
            Copy(device, "from", True, 1, 9 * rate, here),
        ),
        memory=(MemoryRate(device, 1, 3 * rate, here), MemoryRate(device, 2, rate, here), MemoryRate(device, 3, "nan", here)),
        products=(
            Product(device, "fp16", 4096, 5 * rate, 0.0, 1.0, here),
            Product(device, "fp32", 4096, 4 * rate, 0.0, 1.0, here),
            Product(device, "bf16", 4095, 8 * rate, 0.0, 1.0, here),
            Product(device, "tf32", 8192, "nan", 0.0, 1.0, here),
        ),
    )


@pytest.mark.parametrize("backwards", [False, True])
def test_each_gpu_has_the_rates_that_were_measured_on_it(backwards: bool) -> None:
    """The fastest copy to the device counts, and matmul of matrices that keep a GPU busy."""
    smokes = (measured(0, 1e9), measured(1, 2e9))
    gpus = MachineView(with_gpus(MEMORY, MEMORY, smoke=smokes[::-1] if backwards else smokes), MATRIX, Policy()).gpus
    for gpu, rate in zip(gpus, (1e9, 2e9), strict=True):
        card = cards.observed_card(gpu)
        assert card is not None
        assert (card.flops, card.bandwidth, card.measured) == ({"fp16": 5 * rate, "fp32": 4 * rate}, 3 * rate, True)
        assert (card.host_rate, card.host_basis) == (2 * rate, "measured")
        assert card.against_cpu == {("dense", 64): rate / 10}


def test_a_gpu_on_which_too_little_was_measured_has_its_published_rates() -> None:
    whole = measured(0, 1e9)
    for part in ("memory", "products"):
        (gpu,) = MachineView(with_gpus(MEMORY, smoke=(msgspec.structs.replace(whole, **{part: ()}),)), MATRIX, Policy()).gpus
        card, product = cards.observed_card(gpu), MATRIX.gpu(gpu.model)
        assert card is not None
        assert product is not None
        assert not card.measured
        assert card.bandwidth == (product.bandwidth_gbs or 0) * 1e9


@pytest.mark.parametrize("unknown", ["memory_free", "memory_total"])
def test_a_gpu_whose_memory_is_unknown_is_no_card(unknown: str) -> None:
    gpus = MachineView(with_gpus(MEMORY, {**MEMORY, unknown: UNKNOWN}), MATRIX, Policy()).gpus
    assert [card is None for card in map(cards.observed_card, gpus)] == [False, True]


@pytest.mark.parametrize("nvml", [{"link_generation_max": 9}, {"link_width": 0}, {"link_width": UNKNOWN}, {"link_generation_max": UNKNOWN}])
def test_a_slot_of_unknown_speed_has_no_rate(nvml: dict[str, object]) -> None:
    (gpu,) = MachineView(with_gpus({**MEMORY, **nvml}), MATRIX, Policy()).gpus
    card = cards.observed_card(gpu)
    assert card is not None
    assert (card.host_rate, card.host_basis) == (None, "")
