"""GD8: what sums over all devices showed, as trainings over several GPUs need them; and what may keep GPUs from exchanging data over PCIe."""

from __future__ import annotations

from gpudoctor.findings import Fix

_WITHOUT = Fix("Keep NCCL off that way until it works", "export NCCL_P2P_DISABLE=1")
