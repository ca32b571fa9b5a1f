"""A plain PyTorch training loop as a user would write it; gpu_acceptance compares the smoke training's figures with it.

    PYTHON scripts/acceptance/loop_torch.py gpu|cpu BATCH

Prints images per second of the small convolutional network, with its data on the device.
"""

import statistics
import sys
import time

import torch
from torch import nn

ROUNDS, SECONDS = 5, {"cpu": 0.05, "gpu": 0.4}
UNSEEN = {"cpu": 4, "gpu": 100}
"""Steps between two looks at the loss, each of which waits for the device."""


def main(device: str, batch: int) -> None:
    """Train, and print the median speed of the rounds."""
    there = torch.device("cuda" if device == "gpu" else "cpu")
    model = nn.Sequential(
        nn.Conv2d(1, 32, 5, stride=2),
        nn.Tanh(),
        nn.Conv2d(32, 64, 3, stride=2),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(1600, 10),
    ).to(there)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    images = torch.randn(batch, 1, 28, 28, device=there)
    labels = torch.randint(0, 10, (batch,), device=there)
    loss_of = nn.CrossEntropyLoss()

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_of(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    for _ in range(5):
        step().item()
    speeds = []
    for _ in range(ROUNDS):
        count, began = 0, time.perf_counter()
        while time.perf_counter() - began < SECONDS[device]:
            for _ in range(UNSEEN[device]):
                loss = step()
            loss.item()
            count += UNSEEN[device]
        speeds.append(count * batch / (time.perf_counter() - began))
    print(statistics.median(speeds))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
