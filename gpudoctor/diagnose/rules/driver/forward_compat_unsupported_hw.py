from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.codes import CudaError
from gpudoctor.derive import Driver, MachineView
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.rule import CUDA_FAILS, Explains, rule
from gpudoctor.diagnose.rules.driver.loaded_libcuda import do_without_compat, kernel_driver, kernel_module, loaded_libcuda
from gpudoctor.findings import Domain, Evidence, Problem, Rung, Severity
from gpudoctor.matrix.cite import cited
from gpudoctor.snapshot import SUPPOSED
from gpudoctor.versions import Version


@rule(
    "GD216",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    domain=Domain.ENVIRONMENT,
    predicts=False,
    explains=(Explains(CUDA_FAILS, "A cuda-compat libcuda does not start on a GPU without forward compatibility."),),
)
def forward_compat_unsupported_hw(machine: MachineView) -> Iterator[Problem]:
    """cuda-compat libcuda is loaded on a GPU that does not support it."""
    driver = machine.driver_or_missing
    if machine.observed.origin == SUPPOSED and isinstance(driver, Driver) and driver.forward:
        yield from _assumed(machine, driver)
        return
    if machine.cuda_init.code != CudaError.COMPAT_NOT_SUPPORTED_ON_DEVICE:
        return
    path = library.path(machine.libcuda)
    yield Problem(
        message=f"{path or 'The loaded libcuda'} is newer than {kernel_driver(machine)}, and this GPU does not support forward compatibility "
        "(cuInit returns 804).",
        evidence=(*loaded_libcuda(machine), kernel_module(machine)),
        fixes=do_without_compat(path, machine),
    )


def _assumed(machine: MachineView, driver: Driver) -> Iterator[Problem]:
    """Report a described GPU on which NVIDIA does not support cuda-compat."""
    served = driver.cuda_served if isinstance(driver.cuda_served, Version) else None
    needed = machine.matrix.driver_floor(served) if served is not None else None
    for gpu in machine.gpus:
        name = gpu.observed.name
        product = machine.matrix.gpu(name) if isinstance(name, str) else None
        if product is not None and product.forward_compatible is False:
            yield Problem(
                message=f"{product.name} does not support forward compatibility, so cuda-compat does not start on it.",
                evidence=(
                    Evidence("cuda-compat", str(driver.cuda_served), driver.cuda_where),
                    Evidence("kind of GPU", product.kind, cited(product.source)),
                ),
                fixes=(update_driver(machine, needed.minor_version_floor if needed is not None else None),),
            )
