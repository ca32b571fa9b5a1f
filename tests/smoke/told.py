"""Complete events of the smoke child."""

from __future__ import annotations

from typing import Any


def trained(device: str, network: str = "dense", **changes: Any) -> dict[str, Any]:
    places = {"variables": [device], "gradients": [device], "outputs": [device]}
    numbers = {"steps": 300, "samples": 9600, "seconds": 1.5, "first_step_seconds": 0.2, "samples_per_second": 6400.0}
    learnt = {"losses": [2.1, 0.1], "accuracy": 0.99, "expected_accuracy": 0.99, "peak_memory_bytes": None, "placement": places}
    return {"event": "training", "device": device, "logical": device, "network": network, "short": False, **numbers, **learnt, **changes}


def agreed(device: str, network: str = "dense", **changes: Any) -> dict[str, Any]:
    differences = {"max_loss_difference": 1e-6, "loss_tolerance": 1e-3, "max_weight_difference": 1e-6, "weight_tolerance": 1e-3}
    return {"event": "agreement", "device": device, "network": network, "reference": "CPU", "steps": 10, **differences, **changes}
