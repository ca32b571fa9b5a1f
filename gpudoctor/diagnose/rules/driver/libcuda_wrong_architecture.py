"""GD220: libcuda-wrong-architecture."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, MachineView
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.driver.libcuda import _listed
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, CudaFiles, Libcuda, Missing, Python

_FOREIGN = ("wrong ELF class", "invalid ELF header", "file too short", "Exec format error")
"""How glibc's loader refuses a file that is no library for this process."""


@rule(
    "GD220",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    predicts=False,
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "container-no-gpu-access",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def libcuda_wrong_architecture(
    libcuda: Libcuda | Missing, files: CudaFiles | Missing, python: Python | Missing, machine: MachineView, hardware: Hardware
) -> Iterator[Problem]:
    """The only libcuda that the loader finds is for another architecture, or no library at all.

    ## Why it matters
    A 64-bit process cannot load a 32-bit library, nor one for another processor. The driver's 32-bit libraries are a package of
    their own, for games; alone they are of no use here. A 32-bit Python has no CUDA at all.

    ## What to do
    Install the driver's libraries for this architecture, or run a Python that fits them.

    ## References
    - https://man7.org/linux/man-pages/man8/ld.so.8.html
    """
    if machine.site.has_pci and not hardware:
        not_applicable("there is no GPU that it could drive")
    if not isinstance(libcuda, Missing):
        return
    refused = any(words in libcuda.reason for words in _FOREIGN)
    if not refused and libcuda.cause is not Cause.ABSENT:
        need(libcuda, Rung.LIBCUDA)
    seen = [] if isinstance(files, Missing) else library.drivers_own(files)
    foreign = [file for file in seen if library.fits(file, python) is False]
    if not refused and (not foreign or len(foreign) < len(seen)):
        not_applicable("the loader finds no libcuda, of this architecture or another")
    mine = f"{python.bits}-bit, {python.machine}" if isinstance(python, Python) and isinstance(python.bits, int) else "not known"
    small = isinstance(python, Python) and python.bits == 32
    other = Fix("Use a 64-bit Python; no framework has CUDA for 32 bits.", needs=(DOWNLOAD,))
    yield Problem(
        message=f"No libcuda fits this interpreter ({mine}): {libcuda.reason if refused else f'{foreign[0].path} is for another architecture'}.",
        evidence=(Evidence("the loader", libcuda.reason, "dlopen"), Evidence("interpreter", mine, "sys"), *_listed(foreign)),
        fixes=(other,) if small else (update_driver(machine, what="Install the driver's 64-bit libraries"),),
    )
