"""Complete events of the smoke child."""

from __future__ import annotations

from typing import Any


def trained(device: str, network: str = "dense", **changes: Any) -> dict[str, Any]:
    places = {"variables": [device], "gradients": [device], "outputs": [device]}
    numbers = {"steps": 300, "seconds": 1.5, "samples_per_second": 6400.0}
    learnt = {"losses": [2.1, 0.1], "accuracy": 0.99, "expected_accuracy": 0.99, "placement": places}
    return {"event": "training", "device": device, "logical": device, "network": network, **numbers, **learnt, **changes}


def agreed(device: str, network: str = "dense", **changes: Any) -> dict[str, Any]:
    differences = {"loss_difference": 1e-6, "loss_tolerance": 1e-3, "weight_difference": 1e-6, "weight_tolerance": 1e-3}
    return {"event": "agreement", "device": device, "network": network, "steps": 10, **differences, **changes}
