"""What two processes hold of a sharded run in PyTorch, over gloo on the CPU, is what the accounting divides."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.fit.accounting import memory_moments
from gpudoctor.fit.counted_models import PresetNetwork
from gpudoctor.fit.run_options import Asked

BLOCK = ("block", (("linear", 1024), ("function", "relu"), ("linear", 512)))
MODEL = PresetNetwork((("linear", 512), *(BLOCK,) * 4, ("linear", 10), ("loss",)), (256,)).model("net")
PROGRAM = """
import json, os, sys
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.multiprocessing import start_processes
from torch.nn.parallel import DistributedDataParallel

def held(tensors):
    local = [one.to_local() if hasattr(one, "to_local") else one for one in tensors if one.dim()]
    return sum({one.untyped_storage().data_ptr(): one.untyped_storage().nbytes() for one in local}.values())

def main(rank, place):
    dist.init_process_group("gloo", init_method="file://" + place, rank=rank, world_size=2)
    torch.set_num_threads(1)
    results = {}
    for shard in ("zero1", "zero2", "fsdp"):
        blocks = [nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512)) for _ in range(4)]
        model = nn.Sequential(nn.Linear(256, 512), *blocks, nn.Linear(512, 10))
        if shard != "zero1":
            for part in (*blocks, model):
                mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (2,))
                fully_shard(part, mesh=mesh, reshard_after_forward=shard == "fsdp")
            optimizer = inner = torch.optim.AdamW(model.parameters())
        else:
            model = DistributedDataParallel(model)
            optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW)
            inner = optimizer.optim
        nn.functional.cross_entropy(model(torch.zeros(2, 256)), torch.zeros(2, dtype=torch.long)).backward()
        optimizer.step()
        weights = list(model.parameters())
        state = [one for part in inner.state.values() for one in part.values() if hasattr(one, "dim")]
        results[shard] = {"weights": held(weights)} if shard != "zero2" else {}  # these are whole in forward and backward only
        results[shard] |= {"gradients": held([one.grad for one in weights]), "optimizer": held(state)}
    everyone = [None] * 2
    dist.all_gather_object(everyone, results)
    if not rank:
        print(json.dumps(everyone), flush=True)
    dist.destroy_process_group()

if __name__ == "__main__":
    start_processes(main, (sys.argv[1],), 2, start_method="fork")  # one import for both
"""


def test_what_is_outside_of_blocks_is_gathered_all_along() -> None:
    """`fully_shard` does not reshard its root module after forward: torch/distributed/fsdp/_fully_shard/_fully_shard.py."""
    within, outside = 2 * 512 * 1024 + 512 + 1024, 256 * 512 + 512 + 512 * 10 + 10
    assert (MODEL.largest_block, MODEL.outside) == (within, outside)
    step = next(memory_moments(MODEL, Asked(shard="fsdp", gpus=16), 1))
    assert step.parts["weights"] == -(-4 * MODEL.parameters // 16) + 4 * (outside + 2 * within)


@pytest.mark.index
def test_each_process_holds_the_share_that_is_counted(tmp_path: Path, framework_python: Callable[[str], Path]) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [framework_python("torch"), tmp_path / "program.py", tmp_path / "meeting"], capture_output=True, text=True, timeout=200, check=True
    )
    for process in json.loads(done.stdout):
        for shard, held in process.items():
            asked = Asked(shard=shard, gpus=2)
            step = list(memory_moments(MODEL, asked, 1))[-1]  # in the optimizer step nothing is gathered
            # ZeroRedundancyOptimizer gives each process whole parameters, the largest first
            assert held == pytest.approx({part: step.parts[part] for part in held}, rel=0.03 if shard == "zero1" else 0.002)
