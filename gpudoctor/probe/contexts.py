"""Runs our own kernel on one CUDA device, in a child under the interpreter that could query libcuda."""

from __future__ import annotations

from collections.abc import Mapping

from gpudoctor.children.channel import isolated, run, script
from gpudoctor.probe import answers
from gpudoctor.probe.inventory import ProbeTimeouts
from gpudoctor.process import Supervisor
from gpudoctor.snapshot import CudaContext

WITHOUT_KERNEL_CACHE = {"CUDA_CACHE_DISABLE": "1"}
"""Otherwise the compiled kernel would stay in the user's ~/.nv."""


def context_of_device(
    supervisor: Supervisor, interpreter: str, device: tuple[int, str], environ: Mapping[str, str], patience: ProbeTimeouts | None = None
) -> CudaContext:
    """The result for `device`: its CUDA ordinal, counted under the variables in `environ` that hide devices, and its PCI address."""
    ordinal, address = device
    patience = patience or ProbeTimeouts()
    limits = {"stall": patience.hardware_stall, "deadline": patience.hardware}
    path, device_option = "target/cuda_context_probe.py", ("--device", str(ordinal))
    spec = script(f"context {ordinal}", path, isolated(interpreter), {**environ, **WITHOUT_KERNEL_CACHE}, *device_option, **limits)
    return answers.context_answer(run(supervisor, spec), ordinal, address)
