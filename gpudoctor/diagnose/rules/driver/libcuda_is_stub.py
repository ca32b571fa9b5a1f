"""GD219: libcuda-is-stub."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, MachineView
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.driver.libcuda import _listed, _said, _take_away
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Problem, Rung, Severity
from gpudoctor.snapshot import CudaFiles, Libcuda, Missing, Snapshot


@rule(
    "GD219",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    predicts=False,
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def libcuda_is_stub(
    libcuda: Libcuda | Missing, files: CudaFiles | Missing, snapshot: Snapshot, machine: MachineView, hardware: Hardware
) -> Iterator[Problem]:
    """The libcuda that the loader takes is a toolkit's stub, not the driver's library.

    ## Why it matters
    Toolkits carry a libcuda without content, in a folder named stubs, so that programs can be linked on machines without a GPU. It
    must never be loaded: cuInit answers 34 (CUDA_ERROR_STUB_LIBRARY), older stubs less clearly.

    ## What to do
    Take the stubs folder out of LD_LIBRARY_PATH and the loader's configuration. Where a build needs it, name it to the linker only
    (-L, LIBRARY_PATH). An image that made libcuda.so.1 there must not keep it.

    ## References
    - https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
    """
    if machine.site.has_pci and not hardware:
        not_applicable("there is no GPU that it could drive")
    loaded = need(libcuda, Rung.LIBCUDA)
    path = library.path(loaded)
    code = library.code(loaded)
    refuses = code or isinstance(loaded.init, Missing)
    if code != library.STUB_LIBRARY and not (library.is_stub(path) and refuses):
        return
    own = [] if isinstance(files, Missing) else library.drivers_own(files)
    instead = f"; the driver's own is {own[0].path}" if own else "; no libcuda of a driver was seen on the disk"
    yield Problem(
        message=f"The loader takes {path or 'a stub'} for libcuda, which is there to link against only{instead}.",
        evidence=(*_said(loaded, snapshot), *_listed(own)),
        fixes=(*_take_away(path, snapshot, machine.site), *(() if own else (update_driver(machine),))),
    )
