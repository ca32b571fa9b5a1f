from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.codes import CudaError
from gpudoctor.derive import MachineView
from gpudoctor.derive import libcuda as library
from gpudoctor.derive.unknown import known
from gpudoctor.diagnose.advice.driver_libraries import LIBCUDA, install_library
from gpudoctor.diagnose.rule import Explains, rule
from gpudoctor.diagnose.rules.driver.loaded_libcuda import files_on_disk, loaded_libcuda, take_off_path
from gpudoctor.diagnose.rules.effects import CUDA_FAILS
from gpudoctor.findings import Problem, Rung, Severity
from gpudoctor.findings.actions import Domain
from gpudoctor.snapshot import Missing


@rule(
    "GD219",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    domain=Domain.ENVIRONMENT,
    predicts=False,
    explains=(Explains(CUDA_FAILS, "The stub's cuInit always fails."),),
)
def libcuda_is_stub(machine: MachineView) -> Iterator[Problem]:
    """CUDA toolkit's stub is loaded instead of the driver's libcuda."""
    libcuda = known(machine.libcuda_for_gpus, Rung.LIBCUDA)
    path, code = library.path(libcuda), library.code(libcuda)
    fails = code or isinstance(libcuda.init, Missing)
    if code != CudaError.STUB_LIBRARY and not (library.is_stub(path) and fails):
        return
    files = machine.observed.cuda_files
    own = [] if isinstance(files, Missing) else library.drivers_own(files)
    consequence = f"the loader finds it before the driver's {own[0].path}" if own else "the driver's libcuda is not installed"
    yield Problem(
        message=f"{path or 'The loaded libcuda'} is a stub without code, and {consequence}.",
        evidence=(*loaded_libcuda(machine), *files_on_disk(own)),
        fixes=(take_off_path(path, machine), *(() if own else install_library(machine, LIBCUDA))),
    )
