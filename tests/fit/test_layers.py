"""What layers keep for backward, against PyTorch itself."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.fit.layers import KEPT_BY_FUNCTION, KeptTensors

BENCH = Path(__file__).resolve().parents[2] / "scripts" / "bench"
SAVED = """
import json, sys
sys.path.insert(0, sys.argv[1])
import torch
from nets_torch import FUNCTIONS

def kept(function):
    saved = set()
    read = torch.rand(1000, requires_grad=True) * 1.0
    with torch.autograd.graph.saved_tensors_hooks(lambda one: saved.add(one.untyped_storage().data_ptr()) or one, lambda one: one):
        made = function(read)
    known = [one.untyped_storage().data_ptr() for one in (read, made)]
    return [place in saved for place in known] + [len(saved - set(known))]

print(json.dumps({name: kept(function) for name, function in FUNCTIONS.items()}))
"""


@pytest.mark.index
def test_a_function_keeps_what_pytorch_saves(framework_python: Callable[[str], Path]) -> None:
    ran = subprocess.run([framework_python("torch"), "-c", SAVED, BENCH], capture_output=True, check=True)
    assert {name: KeptTensors(*saved) for name, saved in json.loads(ran.stdout).items()} == {
        name: kept._replace(wide=0) for name, kept in KEPT_BY_FUNCTION.items() if name != "softmax"
    }
