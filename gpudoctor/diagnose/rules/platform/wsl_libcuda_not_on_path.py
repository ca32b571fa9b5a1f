"""GD306: wsl-libcuda-not-on-path."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Site
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.platform.wsl import _LIBRARIES, _NEEDED, _here
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, Libcuda, Missing, Wsl


@rule(
    "GD306",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "gpu-count-mismatch",
                "libcuda-not-on-loader-path",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def wsl_libcuda_not_on_path(wsl: Wsl | Missing, site: Site, libcuda: Libcuda | Missing) -> Iterator[Problem]:
    """Windows' libcuda is in /usr/lib/wsl/lib, where the loader does not look.

    ## Why it matters
    WSL 2 shows the driver of Windows in /usr/lib/wsl/lib and tells the loader of it by /etc/ld.so.conf.d/ld.wsl.conf. Where that file
    is missing, was switched off in /etc/wsl.conf, or ldconfig did not run since, programs find no libcuda.so.1 and use the CPU.

    ## What to do
    Write the file and run ldconfig. Do not install a Linux driver or a libcuda from a package.

    ## References
    - https://docs.nvidia.com/cuda/wsl-user-guide/
    - https://learn.microsoft.com/windows/wsl/wsl-config
    """
    seen = _here(wsl, site)
    if isinstance(libcuda, Libcuda):
        return
    if libcuda.cause is not Cause.ABSENT:
        need(libcuda, Rung.LIBCUDA)
    if isinstance(seen.libraries, Missing) or _NEEDED[0] not in seen.libraries:
        not_applicable(f"{_LIBRARIES} holds no libcuda.so.1")
    conf = seen.loader_conf
    yield Problem(
        message=f"{_LIBRARIES}/libcuda.so.1 is there, and the loader does not find it.",
        evidence=(
            Evidence("libcuda.so.1", libcuda.reason, "the loader"),
            Evidence("the loader's configuration", conf if isinstance(conf, str) else conf.reason, "/etc/ld.so.conf.d"),
        ),
        fixes=(
            Fix(
                "Tell the loader of the folder",
                f"echo {_LIBRARIES} | sudo tee /etc/ld.so.conf.d/ld.wsl.conf && sudo ldconfig",
                (ROOT,),
            ),
            Fix(
                "For this shell alone",
                f'export LD_LIBRARY_PATH="{_LIBRARIES}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"',
                kind=FixKind.INSTEAD,
            ),
        ),
    )
