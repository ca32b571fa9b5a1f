"""GD218: libcuda-not-on-loader-path."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, Site
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.driver.libcuda import _listed
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, CudaFiles, Libcuda, Missing, Python


@rule(
    "GD218",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
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
def libcuda_not_on_loader_path(
    libcuda: Libcuda | Missing, files: CudaFiles | Missing, python: Python | Missing, site: Site, hardware: Hardware
) -> Iterator[Problem]:
    """The driver's libcuda is on disk, and the loader does not find it.

    ## Why it matters
    Every CUDA program asks the loader for libcuda.so.1. It looks into LD_LIBRARY_PATH, its cache (ldconfig) and its default folders
    only. A driver that was mounted, unpacked or moved elsewhere is not there for programs, though nvidia-smi may work.

    ## What to do
    Tell the loader about the folder, or put the link libcuda.so.1 where it is lacking; ldconfig does both.

    ## References
    - https://man7.org/linux/man-pages/man8/ld.so.8.html
    """
    if site.on_wsl:
        not_applicable("under WSL libcuda belongs to Windows' driver")
    if site.has_pci and not hardware:
        not_applicable("there is no GPU that it could drive")
    if not isinstance(libcuda, Missing):
        return
    if libcuda.cause is not Cause.ABSENT:
        need(libcuda, Rung.LIBCUDA)
    there = [file for file in library.drivers_own(need(files)) if library.fits(file, python)]
    if not there:
        not_applicable("no libcuda that this interpreter could load is in the folders where drivers put it")
    path = there[0].path
    folder, _, name = path.rpartition("/")
    conf = f"echo {shell_path(folder)} | sudo tee /etc/ld.so.conf.d/nvidia-libcuda.conf && sudo ldconfig"
    add = f'export LD_LIBRARY_PATH={shell_path(folder)}"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"'
    here = Fix("For this shell alone", add, kind=FixKind.INSTEAD)
    lasting = Fix(f"Tell the loader about {folder}", conf, (ROOT,))
    link = Fix("Let ldconfig make the link libcuda.so.1", f"sudo ldconfig {shell_path(folder)}", (ROOT,))
    yield Problem(
        message=f"The loader finds no libcuda.so.1, and {path} is there"
        + (" without a link of that name." if name != "libcuda.so.1" else ": its folder is not on the loader's path."),
        evidence=(Evidence("the loader", libcuda.reason, "dlopen"), *_listed(there)),
        fixes=(lasting, here) if name == "libcuda.so.1" else (link,),
    )
