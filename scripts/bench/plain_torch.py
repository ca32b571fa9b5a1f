"""The work of the smoke training as a plain PyTorch script, on the CPU, with which scripts/bench/overhead compares the child's CPU time."""

from typing import Any

import numpy as np
import torch
from torch import nn

from scripts.bench import plain

TRAINING, TEST = plain.images(4096, 0), plain.images(2000, 1)


def model(network: str) -> nn.Sequential:
    """Return a network with its initial weights."""
    if network == "dense":
        made = nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.Tanh(), nn.Linear(128, 10))
    else:
        filters = nn.Conv2d(1, 32, 5, stride=2), nn.Tanh(), nn.Conv2d(32, 64, 3, stride=2), nn.Tanh()
        made = nn.Sequential(nn.Unflatten(1, (1, 28)), *filters, nn.Flatten(), nn.Linear(1600, 10))
    with torch.no_grad():
        for parameter, weight in zip(made.parameters(), plain.weights(network), strict=True):
            kernel = weight.reshape(5, 5, 64, 10).transpose(2, 0, 1, 3).reshape(1600, 10) if len(weight) == 1600 else weight
            parameter.copy_(torch.from_numpy(kernel.transpose(3, 2, 0, 1) if kernel.ndim == 4 else kernel.T))
    return made


def train(network: str, steps: int, size: int) -> tuple[list[float], list[Any], float]:
    """See plain.run."""
    trained = model(network)
    optimizer = torch.optim.Adam(trained.parameters(), lr=1e-3, betas=(0.9, 0.9), eps=1e-3)
    loss_of = nn.CrossEntropyLoss()

    def step(images: Any, labels: Any) -> torch.Tensor:
        optimizer.zero_grad()
        loss: torch.Tensor = loss_of(trained(torch.from_numpy(images)), torch.from_numpy(labels).long())
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses = plain.blocks((step(*batch) for batch in plain.batches(*TRAINING, steps)), size)
    accuracy = 0.0
    if size == 10:
        with torch.no_grad():
            accuracy = float((trained(torch.from_numpy(TEST[0])).numpy().argmax(axis=1) == TEST[1]).mean())
    return losses, [parameter.detach().numpy() for parameter in trained.parameters()], accuracy


def multiply(left: Any, right: Any) -> Any:
    """Return the matmul."""
    return np.asarray(torch.matmul(torch.from_numpy(left), torch.from_numpy(right)))


if __name__ == "__main__":
    plain.run(torch.__version__, multiply, train)
