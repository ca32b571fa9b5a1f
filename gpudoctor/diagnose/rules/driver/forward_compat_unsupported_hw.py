"""GD216: forward-compat-unsupported-hw."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.codes import CudaError
from gpudoctor.derive import MachineView
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.rule import Explains, rule
from gpudoctor.diagnose.rules.driver.loaded_libcuda import do_without_compat, kernel_driver, kernel_module, loaded_libcuda
from gpudoctor.diagnose.rules.effects import CUDA_FAILS
from gpudoctor.findings import Problem, Rung, Severity
from gpudoctor.findings.actions import Domain


@rule(
    "GD216",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    domain=Domain.ENVIRONMENT,
    since="0.1",
    predicts=False,
    explains=(Explains(CUDA_FAILS, "A cuda-compat libcuda does not start on a GPU without forward compatibility."),),
)
def forward_compat_unsupported_hw(machine: MachineView) -> Iterator[Problem]:
    """cuda-compat libcuda is loaded on a GPU that does not support it."""
    if machine.cuda_init.code != CudaError.COMPAT_NOT_SUPPORTED_ON_DEVICE:
        return
    path = library.path(machine.libcuda)
    yield Problem(
        message=f"{path or 'The loaded libcuda'} is newer than {kernel_driver(machine)}, and this GPU does not support forward compatibility "
        "(cuInit returns 804).",
        evidence=(*loaded_libcuda(machine), kernel_module(machine)),
        fixes=do_without_compat(path, machine),
    )
