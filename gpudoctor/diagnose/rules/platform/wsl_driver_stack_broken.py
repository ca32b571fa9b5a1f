"""GD307: wsl-driver-stack-broken."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Site
from gpudoctor.diagnose.advice.needs import DOWNLOAD, REBOOT
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.platform.wsl import _LIBRARIES, _NEEDED, _here
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, Libcuda, Missing, Nvml, Snapshot, Status, Wsl


@rule(
    "GD307",
    severity=Severity.ERROR,
    breaks=Rung.KERNEL_DRIVER,
    since="0.1",
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "gpu-count-mismatch",
                "wsl-libcuda-not-on-path",
                "libcuda-not-on-loader-path",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def wsl_driver_stack_broken(wsl: Wsl | Missing, site: Site, snapshot: Snapshot) -> Iterator[Problem]:
    """The driver of Windows does not reach into WSL.

    ## Why it matters
    WSL 2 reaches the GPU through /dev/dxg and the libraries that the Windows driver shows in /usr/lib/wsl/lib. If one is missing, or
    both libraries refuse, then Windows' driver has no WSL support, was upgraded under a running WSL, or WSL's kernel is old. Nothing
    that is installed inside WSL repairs that.

    ## What to do
    Shut WSL down and start it again; renew the NVIDIA driver in Windows and WSL itself.

    ## References
    - https://docs.nvidia.com/cuda/wsl-user-guide/
    - https://learn.microsoft.com/windows/wsl/tutorials/gpu-compute
    """
    seen = _here(wsl, site)
    if site.container:
        not_applicable("a container is given what WSL has, or not")
    present = () if isinstance(seen.libraries, Missing) and seen.libraries.cause is Cause.ABSENT else need(seen.libraries)
    lacking = [*(() if seen.device else ("/dev/dxg",)), *(f"{_LIBRARIES}/{name}" for name in _NEEDED if name not in present)]
    refusing = _refusals(snapshot)
    if not lacking and len(refusing) < len(_NEEDED):
        return
    said = f"{', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} missing" if lacking else "both its libraries refuse to start"
    yield Problem(
        message=f"The driver of Windows does not reach into WSL: {said}.",
        confidence=Confidence.CERTAIN if lacking else Confidence.LIKELY,
        evidence=(
            Evidence("/dev/dxg", "there" if seen.device else "missing", "/dev"),
            Evidence("libraries of Windows' driver", ", ".join(name for name in _NEEDED if name in present) or "none", _LIBRARIES),
            *refusing,
        ),
        fixes=(
            Fix("Shut WSL down and start it again", "wsl.exe --shutdown"),
            Fix("Update WSL", "wsl.exe --update", (DOWNLOAD,), kind=FixKind.ELSE),
            Fix(
                "Install the current NVIDIA driver in Windows, never in WSL: https://www.nvidia.com/drivers",
                needs=(DOWNLOAD, REBOOT),
                kind=FixKind.ELSE,
            ),
        ),
    )


def _refusals(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """What NVML and libcuda (without a mask, where there is one) answered instead of starting."""
    asked = snapshot.libcuda_unmasked if isinstance(snapshot.libcuda_unmasked, Libcuda) else snapshot.libcuda
    sections = (("nvmlInit", snapshot.nvml), ("cuInit", asked))
    inits = ((call, section.init) for call, section in sections if isinstance(section, Nvml | Libcuda))
    return tuple(Evidence(call, f"{init.code} {init.name}", "the driver") for call, init in inits if isinstance(init, Status) and init.code)
