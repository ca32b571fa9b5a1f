"""A small language model in PyTorch: gpu_acceptance predicts the memory of its training on a GPU, and this script measures it.

    PYTHON scripts/acceptance/fit_torch.py fp32|bf16 LIMIT BATCH...

Prints JSON: the most memory allocated for each batch, by how much nvidia-smi's figure grew, and the largest batch that trains within LIMIT bytes.
"""

import json
import subprocess
import sys

import torch
from torch import nn

TOKENS, WORDS, WIDTH, LAYERS = 256, 8192, 512, 6
NEAR = 16
"""The largest batch is found to 1 in so many."""


class Language(nn.Module):  # type: ignore[misc]  # torch is not installed where this is checked
    """An encoder over tokens with an output layer."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.words, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS)
        self.body = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the scores of all words for each token."""
        return self.head(self.body(self.words(tokens)))


def build() -> tuple[nn.Module, torch.Tensor]:
    """Return the model and example inputs, for gpudoctor."""
    return Language(), torch.zeros(2, TOKENS, dtype=torch.long)


def peak(precision: str, batch: int) -> int:
    """Train two steps; return the most bytes that were allocated at once."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    model = build()[0].cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.zeros(batch, TOKENS, dtype=torch.long, device="cuda")
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16"):
            output = model(tokens)
        nn.functional.cross_entropy(output.flatten(0, 1).float(), tokens.flatten()).backward()
        optimizer.step()
    return int(torch.cuda.max_memory_allocated())


def largest(precision: str, limit: int) -> int:
    """Return the largest batch that trains within so many bytes, by trial."""
    torch.cuda.set_per_process_memory_fraction(min(1.0, limit / torch.cuda.get_device_properties(0).total_memory))
    fits, fails = 0, 0
    while not fails or fails - fits > max(1, fits // NEAR):
        batch = (fits + fails) // 2 if fails else max(1, 2 * fits)
        try:
            peak(precision, batch)
            fits = batch
        except torch.cuda.OutOfMemoryError:
            fails = batch
    return fits


def used() -> int:
    """Return the bytes in use on the first GPU, by NVML."""
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0"]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) << 20


def main(precision: str, limit: int, batches: list[int]) -> None:
    """Measure and print."""
    before = used()
    peaks = {batch: peak(precision, batch) for batch in batches}
    grown = used() - before
    print(json.dumps({"peaks": peaks, "grown": grown, "largest": largest(precision, limit)}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), [int(batch) for batch in sys.argv[3:]])
