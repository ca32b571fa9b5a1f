"""GD308: wsl-linux-driver-installed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Site
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.rule import Explains, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.platform.wsl import _here
from gpudoctor.findings import Confidence, Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import Libcuda, Missing, Snapshot, Status, Wsl


@rule(
    "GD308",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "gpu-count-mismatch",
                "wsl-driver-stack-broken",
                "driver-library-mismatch",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def wsl_linux_driver_installed(wsl: Wsl | Missing, site: Site, snapshot: Snapshot) -> Iterator[Problem]:
    """An NVIDIA driver for Linux is installed inside WSL.

    ## Why it matters
    Inside WSL the libraries of Windows' driver are the only ones that reach the GPU. A package with a Linux libcuda.so.1 (a driver,
    or the distribution's nvidia-cuda-toolkit, which pulls one in) puts another in front of them, and CUDA finds no device.

    It is an error where CUDA does not work and a warning where it does: the next ldconfig may change which library wins.

    ## What to do
    Remove those packages; keep the CUDA toolkit from NVIDIA's source for WSL, or the wheels' own CUDA, which bring no driver.

    ## References
    - https://docs.nvidia.com/cuda/wsl-user-guide/
    """
    seen = _here(wsl, site)
    if site.container:
        not_applicable("the container's libraries are given to it")
    packages = seen.packages if isinstance(seen.packages, tuple) else ()
    if not packages and not seen.linux_driver:
        return
    loaded = snapshot.libcuda.library if isinstance(snapshot.libcuda, Libcuda) and isinstance(snapshot.libcuda.library, str) else ""
    wins = any(file.path.rpartition("/")[0] == loaded.rpartition("/")[0] for file in seen.linux_driver)
    works = isinstance(snapshot.libcuda, Libcuda) and isinstance(snapshot.libcuda.init, Status) and not snapshot.libcuda.init.code
    names = ", ".join((*packages, *(file.path for file in seen.linux_driver)))
    remove = Fix("Remove the packages", f"sudo apt purge {' '.join(packages)} && sudo ldconfig", (ROOT,))
    yield Problem(
        message=f"A Linux driver is installed inside WSL: {names}{'; its libcuda is the one that programs load' if wins else ''}.",
        severity=Severity.WARNING if works else None,
        confidence=Confidence.CERTAIN if wins or works else Confidence.LIKELY,
        evidence=(
            Evidence("packages", ", ".join(packages) or "none", "/var/lib/dpkg/status"),
            *(Evidence("libcuda.so.1 for Linux", _version(file.version), file.path) for file in seen.linux_driver),
            Evidence("libcuda that is loaded", loaded or "none", "the loader"),
        ),
        fixes=(remove if packages else _without(seen),),
    )


def _without(seen: Wsl) -> Fix:
    """Files that no package lists: an installer of NVIDIA's put them there, or nobody knows who."""
    files = " ".join(shell_path(file.path) for file in seen.linux_driver)
    return Fix("Remove these files, or the driver as a whole with nvidia-uninstall", f"sudo rm {files} && sudo ldconfig", (ROOT,))


def _version(version: str | Missing) -> str:
    return version if isinstance(version, str) else "of unknown release"
