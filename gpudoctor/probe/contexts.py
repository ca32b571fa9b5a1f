"""Runs our own kernel on one CUDA device, in a child of its own under the interpreter that could ask libcuda."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gpudoctor.probe import answers
from gpudoctor.probe.inventory import ISOLATED, SCRIPTS, Patience
from gpudoctor.process import ANSWER, End, Outcome, Spec, Supervisor
from gpudoctor.snapshot import CudaContext

COMPILED = {"CUDA_CACHE_DISABLE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
"""The compiled kernel would stay behind in the user's ~/.nv."""


def context(
    supervisor: Supervisor, interpreter: str, device: tuple[int, str], environ: Mapping[str, str], patience: Patience | None = None
) -> CudaContext:
    """What came of it. `device` is a CUDA ordinal, as CUDA counts in `environ` with the variables that mask devices, and its PCI address."""
    ordinal, address = device
    patience = patience or Patience()
    name = f"context {ordinal}"
    script = os.path.join(SCRIPTS, "cuda_context_probe.py")
    spec = Spec(
        name=name,
        argv=(interpreter, *ISOLATED, "-B", script, "--answer-fd", ANSWER, "--device", str(ordinal)),
        environment={**environ, **COMPILED},
        stall=patience.hardware_stall,
        deadline=patience.hardware,
    )
    supervisor.start(spec)
    outcome = supervisor.wait([name]).get(name) or Outcome(name=name, end=End.STOPPED)
    return answers.context(outcome, ordinal, address)
