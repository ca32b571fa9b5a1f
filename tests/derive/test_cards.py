"""GPUs as fit needs them."""

from __future__ import annotations

import json

import pytest

from gpudoctor.derive import MachineView, cards
from gpudoctor.findings import Policy
from gpudoctor.fit.suitability import suitability
from gpudoctor.matrix.tables import GPUS
from gpudoctor.matrix_files import open_matrix
from tests.cli.command import document, run
from tests.diagnose.rules.asking import with_gpus
from tests.machines.store import RECORDED, recorded

MATRIX = open_matrix()


def test_every_gpu_of_the_table_with_known_memory_has_a_card_and_a_line() -> None:
    rows = MATRIX.rows(GPUS)
    for row in rows:
        card = cards.published(row)
        assert (card is None) == (row.memory_gib is None)
        if card is not None:
            assert 0 < card.available < card.total
            assert not card.observed
            assert len(suitability(card)) < 200
    listed = cards.every(MATRIX)
    assert [card.total for card in listed] == sorted(card.total for card in listed)
    assert len(listed) > 100
    assert all(card.bandwidth for card in listed)
    assert not {card.name for card in listed} & {row.name for row in rows if row.kind == "jetson"}


def test_an_observed_gpu_has_its_free_memory_and_measured_rates() -> None:
    (gpu,) = MachineView(recorded("gpu-at-its-speed"), MATRIX, Policy()).gpus
    card = cards.observed(gpu)
    assert card is not None
    assert (card.observed, card.measured, card.host_basis) == (True, True, "PCIe 4.0 x16")
    assert (card.bandwidth, card.flops["fp32"]) == (1.75e12, 18.5e12)


def test_a_gpu_that_was_only_looked_at_has_published_rates_and_those_of_its_slot() -> None:
    names = [
        name
        for name in RECORDED.names
        if b'"link_generation_max":4' in RECORDED.snapshot(name) and b'"memory_free":' in RECORDED.snapshot(name)
    ]
    found = [card for gpu in MachineView(recorded(names[0]), MATRIX, Policy()).gpus if (card := cards.observed(gpu))]
    assert found
    assert all(not card.measured and card.host_basis.startswith("PCIe 4.0 x") and (card.host_rate or 0) > 1e9 for card in found)


def test_the_table_shows_what_a_gpu_is_enough_for() -> None:
    said = document("matrix", run("matrix", "gpu", "4090", "--format", "json").stdout)
    assert said["support"]["suitability"].startswith("FP16, BF16, TF32 and FP8 tensor cores, 1,008 GB/s")
    assert json.dumps(said["support"]["suitability"])[1:-1] in " ".join(run("matrix", "gpu", "4090").stdout.decode().split())


@pytest.mark.parametrize(("generation", "gigabytes"), [(1, 4.0), (2, 8.0), (3, 15.75), (4, 31.5), (5, 63.0)])
def test_a_slot_of_16_lanes_copies_at_the_rate_of_its_generation(generation: int, gigabytes: float) -> None:
    """https://hpc-notes.pages.dev/reference/pcie has the rates."""
    nvml = {"memory_free": 1 << 34, "memory_total": 1 << 34, "link_generation_max": generation, "link_width": 16}
    (gpu,) = MachineView(with_gpus(nvml), MATRIX, Policy()).gpus
    card = cards.observed(gpu)
    assert card is not None
    assert card.host_rate == pytest.approx(gigabytes * 1e9, rel=0.002)
    assert card.host_basis == f"PCIe {generation}.0 x16"
