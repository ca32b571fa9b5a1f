"""The part of gpu_acceptance that holds the memory that `gpudoctor fit` predicts against PyTorch's on the GPU."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from gpudoctor.fit.accounting import RESERVED_BYTES, largest_batch, peak_memory
from gpudoctor.fit.model import Model
from gpudoctor.fit.run_options import Asked
from gpudoctor.trace import TracedStep, traced_model
from scripts.acceptance.results import ROOT, Acceptance

BATCHES: Final = (8, 32)
LIMIT: Final = 4 << 30
"""Bytes for the largest batch: more would only take longer."""
PEAK_BAR: Final = 0.1
"""How far the predicted peak may be from PyTorch's own figure."""
LEAST_SHARE: Final = 0.8
"""The share of the largest batch found by trial that must be predicted; more than all of it would run out of memory."""

NEAR: Final = 16
"""fit_torch.py finds the largest batch to 1 in so many."""


def against_torch(acceptance: Acceptance, precision: str) -> None:
    """Compare a traced prediction with a training run."""
    folder = ROOT / "scripts" / "acceptance"
    model = traced_model(acceptance.python, "fit_torch:build", TracedStep(batch=BATCHES[0], precision=precision), folder=str(folder))
    done = acceptance.run(acceptance.python, folder / "fit_torch.py", precision, str(LIMIT), *map(str, BATCHES))
    if done.returncode:
        acceptance.judge(f"fit in {precision}: trains", holds=False, detail=(done.stderr.strip().splitlines() or ["no output"])[-1])
        return
    judged(acceptance, precision, model, json.loads(done.stdout.splitlines()[-1]))


def judged(acceptance: Acceptance, precision: str, model: Model, measured: Mapping[str, Any]) -> None:
    """Judge a prediction by what fit_torch.py printed."""
    asked = Asked(precision=precision)
    for batch, true in measured["peaks"].items():
        parts = peak_memory(model, asked, int(batch))
        predicted = parts.total - parts.reserve - parts.fragmentation
        told = f"{predicted / 2**30:.2f} and {true / 2**30:.2f} GiB, {predicted / true:.3f}"
        acceptance.judge(
            f"fit in {precision}, batch {batch}: within {PEAK_BAR:.0%} of max_memory_allocated", abs(predicted / true - 1) <= PEAK_BAR, told
        )
    total = max(peak_memory(model, asked, int(batch)).total for batch in measured["peaks"])
    told = f"{total / 2**30:.2f} and {measured['grown'] / 2**30:.2f} GiB"
    acceptance.judge(f"fit in {precision}: NVML shows no more than predicted", measured["grown"] <= total, told)
    predicted, true = largest_batch(model, asked, LIMIT + RESERVED_BYTES), measured["largest"]
    acceptance.judge(
        f"fit in {precision}: the largest batch is not too large, and {LEAST_SHARE:.0%} of it or more",
        LEAST_SHARE * true <= predicted <= true + true // NEAR + 1,
        f"{predicted} and {true}",
    )
