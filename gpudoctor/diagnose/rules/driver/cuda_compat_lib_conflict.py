"""GD217: cuda-compat-lib-conflict."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.rule import Explains, need, rule
from gpudoctor.diagnose.rules.driver.libcuda import _MISMATCH, _module, _newer, _said, _take_away
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Problem, Rung, Severity
from gpudoctor.snapshot import KernelDriver, Libcuda, Missing, Snapshot


@rule(
    "GD217",
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
def cuda_compat_lib_conflict(
    libcuda: Libcuda | Missing, kernel_driver: KernelDriver | Missing, snapshot: Snapshot, machine: MachineView
) -> Iterator[Problem]:
    """A cuda-compat library comes before the driver's own and does not fit it.

    ## Why it matters
    The libcuda of a cuda-compat package runs over the kernel drivers of certain older branches, not over newer ones than itself nor
    over any other. Where an image or LD_LIBRARY_PATH puts it first all the same, cuInit answers 803.

    ## What to do
    Take the compat folder off the loader's path; a driver at least as new as the CUDA in use needs no such library. In an image,
    remove the package or unset what names its folder.

    ## References
    - https://docs.nvidia.com/deploy/cuda-compatibility/
    """
    loaded = need(libcuda, Rung.LIBCUDA)
    init = need(loaded.init, Rung.LIBCUDA)
    path = library.path(loaded)
    if init.code != _MISMATCH:
        return
    if not path:
        need(loaded.library, Rung.LIBCUDA)
    if not library.is_compat(path):
        return
    release = library.release(path)
    yield Problem(
        message=f"cuInit answers 803: the loader takes {path}{f' (release {release})' if release else ''} from a cuda-compat package, "
        f"which does not run over the kernel driver {_module(kernel_driver)}.",
        evidence=(*_said(loaded, snapshot), Evidence("kernel driver", _module(kernel_driver), "/proc/driver/nvidia/version")),
        fixes=(*_take_away(path, snapshot, machine.site), _newer(path, machine)),
    )
